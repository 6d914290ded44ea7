// Scripts of seeds that once broke a promise, as small as they could be made. They stay as they are when what seeds draw
// changes. `npm run simulate -- --seed N --script` prints one.
import type { Script } from './script.ts';

export interface Kept {
  /** What went wrong then. */
  readonly title: string;
  readonly seed: number;
  readonly script: Script;
}

export const KEPT: readonly Kept[] = [
  {
    title: 'a check after a lost action has the deadline of that action, which may have passed',
    seed: 2,
    script: {
      theme: 'budget',
      ignoresCase: false,
      outlives: false,
      approvesAtEnd: true,
      actions: [
        {
          kind: 'commit',
          edits: [
            {
              instance: 'a',
              set: {
                prefix: 'a',
                web: 2,
                db: false,
                links: false,
                size: '1',
                site: 'north',
                lab: true,
                small: true,
                webNeeds: '',
                dbNeeds: '',
                lists: false,
                unavailable: '1',
                pause: '0',
                protected: false,
                retain: false,
                adopt: false,
                template: 'stack',
              },
            },
            {
              instance: 'b',
              set: {
                prefix: 'b',
                web: 2,
                db: false,
                links: false,
                size: '1',
                site: 'north',
                lab: true,
                small: true,
                webNeeds: '',
                dbNeeds: '',
                lists: false,
                unavailable: '1',
                pause: '0',
                protected: false,
                retain: false,
                adopt: false,
                template: 'stack',
              },
            },
            {
              instance: 'c',
              set: {
                prefix: 'c',
                web: 2,
                db: false,
                links: false,
                size: '1',
                site: 'north',
                lab: true,
                small: true,
                webNeeds: '',
                dbNeeds: '',
                lists: false,
                unavailable: '1',
                pause: '0',
                protected: false,
                retain: false,
                adopt: false,
                template: 'stack',
              },
            },
            {
              instance: 'd',
              set: {
                prefix: 'd',
                web: 2,
                db: false,
                links: false,
                size: '1',
                site: 'north',
                lab: true,
                small: true,
                webNeeds: '',
                dbNeeds: '',
                lists: false,
                unavailable: '1',
                pause: '0',
                protected: false,
                retain: false,
                adopt: false,
                template: 'stack',
              },
            },
          ],
          after: 0,
        },
        {
          kind: 'site',
          site: 'north',
          mood: 'failing',
          after: 23000,
        },
        {
          kind: 'start',
          after: 120000,
        },
        {
          kind: 'approve',
          pick: 0,
          after: 1400800,
        },
      ],
    },
  },
  {
    title: 'a lost outcome is looked up by nobody once the settings choose another entry',
    seed: 255,
    script: {
      theme: 'budget',
      ignoresCase: false,
      outlives: true,
      approvesAtEnd: true,
      actions: [
        {
          kind: 'commit',
          edits: [
            {
              instance: 'a',
              set: {
                prefix: 'a',
                web: 2,
                db: false,
                links: false,
                size: '1',
                site: 'north',
                lab: true,
                small: true,
                webNeeds: '',
                dbNeeds: '',
                lists: false,
                unavailable: '1',
                pause: '0',
                protected: false,
                retain: false,
                adopt: false,
                template: 'stack',
              },
            },
            {
              instance: 'b',
              set: {
                prefix: 'b',
                web: 2,
                db: false,
                links: false,
                size: '1',
                site: 'north',
                lab: true,
                small: true,
                webNeeds: '',
                dbNeeds: '',
                lists: false,
                unavailable: '1',
                pause: '0',
                protected: false,
                retain: false,
                adopt: false,
                template: 'stack',
              },
            },
            {
              instance: 'c',
              set: {
                prefix: 'c',
                web: 2,
                db: false,
                links: false,
                size: '1',
                site: 'north',
                lab: true,
                small: true,
                webNeeds: '',
                dbNeeds: '',
                lists: false,
                unavailable: '1',
                pause: '0',
                protected: false,
                retain: false,
                adopt: false,
                template: 'stack',
              },
            },
            {
              instance: 'd',
              set: {
                prefix: 'd',
                web: 2,
                db: false,
                links: false,
                size: '1',
                site: 'north',
                lab: true,
                small: true,
                webNeeds: '',
                dbNeeds: '',
                lists: false,
                unavailable: '1',
                pause: '0',
                protected: false,
                retain: false,
                adopt: false,
                template: 'stack',
              },
            },
          ],
          after: 0,
        },
        {
          kind: 'start',
          after: 0,
        },
        {
          kind: 'look',
          after: 60000,
        },
        {
          kind: 'commit',
          edits: [
            {
              path: 'stacks/templates/stack.yaml',
              value: '4',
            },
          ],
          after: 400,
        },
        {
          kind: 'stop',
          loses: 'nothing',
          downMs: 0,
          after: 1000,
        },
        {
          kind: 'commit',
          edits: [
            {
              instance: 'c',
              set: {
                site: 'south',
              },
            },
            {
              instance: 'a',
              set: {
                template: 'stak',
              },
            },
          ],
          after: 800,
        },
      ],
    },
  },
  {
    title: 'a check that tells nothing new writes the row as it was',
    seed: 2029,
    script: {
      theme: 'everything',
      ignoresCase: false,
      outlives: false,
      approvesAtEnd: true,
      actions: [
        {
          kind: 'commit',
          edits: [
            {
              instance: 'a',
              set: {
                prefix: 'a',
                web: 3,
                db: false,
                links: false,
                size: '1',
                site: 'north',
                lab: true,
                small: true,
                webNeeds: '',
                dbNeeds: '',
                lists: false,
                unavailable: '1',
                pause: '0',
                protected: false,
                retain: false,
                adopt: false,
                template: 'stack',
              },
            },
            {
              instance: 'b',
              set: {
                prefix: 'b',
                web: 3,
                db: false,
                links: false,
                size: '1',
                site: 'north',
                lab: true,
                small: true,
                webNeeds: '',
                dbNeeds: '',
                lists: false,
                unavailable: '1',
                pause: '0',
                protected: false,
                retain: false,
                adopt: false,
                template: 'stack',
              },
            },
            {
              instance: 'c',
              set: {
                prefix: 'c',
                web: 1,
                db: false,
                links: false,
                size: '1',
                site: 'north',
                lab: true,
                small: true,
                webNeeds: '',
                dbNeeds: '',
                lists: false,
                unavailable: '1',
                pause: '0',
                protected: false,
                retain: false,
                adopt: false,
                template: 'stak',
              },
            },
          ],
          after: 0,
        },
        {
          kind: 'start',
          after: 0,
        },
        {
          kind: 'look',
          after: 100,
        },
        {
          kind: 'site',
          site: 'north',
          mood: 'losing',
          after: 400,
        },
        {
          kind: 'stop',
          loses: 'nothing',
          downMs: 1000,
          after: 40000,
        },
        {
          kind: 'commit',
          edits: [
            {
              path: 'stacks/instances/c.yaml',
              is: 'removed',
            },
          ],
          after: 400,
        },
        {
          kind: 'commit',
          edits: [
            {
              instance: 'd',
              set: {
                webNeeds: 'd-web-1',
              },
            },
          ],
          after: 20000,
        },
        {
          kind: 'put',
          instance: 'b',
          set: {
            links: false,
          },
          after: 146400,
        },
        {
          kind: 'delete',
          instance: 'd',
          after: 0,
        },
        {
          kind: 'commit',
          edits: [
            {
              path: 'stacks/instances/b.yaml',
              spoil: 'upper',
            },
          ],
          after: 20,
        },
        {
          kind: 'commit',
          edits: [
            {
              instance: 'a',
              set: {
                lists: true,
                db: true,
              },
            },
            {
              instance: 'a',
              set: {
                template: 'stack',
              },
            },
          ],
          after: 3000,
        },
        {
          kind: 'commit',
          edits: [
            {
              instance: 'd',
              set: {
                size: '3',
              },
            },
          ],
          after: 420,
        },
      ],
    },
  },
];
