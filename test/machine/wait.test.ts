import { expect, it } from 'vitest';
import { type Wait, waitReason, waitView } from '../../src/machine/wait.ts';
import { NOW } from '../reconcile/build.ts';

it.each<[wait: Wait, reason: string]>([
  [{ kind: 'dependency', server: 'db' }, 'waits until db is done, on which it depends'],
  [{ kind: 'holder', server: 'web-1' }, 'waits until web-1 does not need it any more'],
  [
    { kind: 'slot', group: 'shop/web', until: undefined },
    'waits for a slot of the group shop/web: a member is failed, or as many are away as may be',
  ],
  [{ kind: 'slot', group: 'shop/web', until: NOW }, 'waits until 2026-11-20T10:20:00.000Z: the group shop/web rests'],
  [{ kind: 'capacity', provider: 'lab', instance: 'shop' }, 'waits until the provider entry "lab" has capacity'],
  [
    { kind: 'failures', commit: 'c1' },
    'waits, for too many updates of the commit c1 have failed; approve it, or push another commit',
  ],
  [
    { kind: 'instance', instance: 'shop', until: Number.POSITIVE_INFINITY },
    'waits until shop is not suspended or held',
  ],
  [
    { kind: 'instance', instance: 'shop', until: NOW },
    'waits until shop is not suspended or held, at the latest 2026-11-20T10:20:00.000Z',
  ],
  [{ kind: 'budget', until: NOW }, 'waits until 2026-11-20T10:20:00.000Z: its replacement is beyond the delete budget'],
  [
    { kind: 'site', until: NOW },
    'waits until another server of its site is found, for the whole site may be gone, at the latest 2026-11-20T10:20:00.000Z',
  ],
  [{ kind: 'time', until: NOW }, 'waits until 2026-11-20T10:20:00.000Z'],
])('waitReason words the wait %o', (wait, reason) => {
  expect(waitReason(wait)).toBe(reason);
});

const requestWords = (tags: readonly string[]): string => `last request of ${tags.join()}`;

it('waitReason says when a proxy asked last', () => {
  const wait: Wait = { kind: 'capacity', provider: 'proxied', instance: 'shop', tags: ['lab'] };
  expect(waitView(wait, requestWords)?.reason).toBe('waits for a proxy with the tag "lab"; last request of lab');
});
