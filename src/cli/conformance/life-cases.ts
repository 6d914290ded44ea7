// The cases about the life of one server, from its first check to its delete. Each continues from the one before.
import type { Answer } from '../../model/call-result.ts';
import type { Properties } from '../../model/objects.ts';
import { type ConformanceCase, Deviation, expectObserved, Skipped, type Trial } from './trial.ts';

const SERVER = '1';
const ABSENT = 'absent-1';

/** Facts that later cases depend on. */
const created = new WeakMap<Trial, Answer>();
const updated = new WeakMap<Trial, Answer>();

/** The cases in their order. */
export const LIFE_CASES: readonly ConformanceCase[] = [
  {
    title: 'check of a server that is not there answers absent',
    run: async (trial) => void (await trial.expect(['absent'], 'check', trial.nameOf(SERVER))),
  },
  {
    title: 'check makes nothing: a second one answers absent, too',
    run: async (trial) => void (await trial.expect(['absent'], 'check', trial.nameOf(SERVER))),
  },
  {
    title: 'delete of a server that is not there answers absent or done',
    run: async (trial) => void (await trial.expect(['absent', 'done'], 'delete', trial.nameOf(ABSENT))),
  },
  {
    title: 'update of a server that is not there makes none',
    async run(trial) {
      await trial.expect(['absent', 'failed', 'retryable', 'replace'], 'update', trial.nameOf(ABSENT));
      await trial.expect(['absent'], 'check', trial.nameOf(ABSENT));
    },
  },
  {
    title: 'create answers done',
    async run(trial) {
      created.set(trial, await trial.expect(['done'], 'create', trial.nameOf(SERVER), { action: firstAction(trial) }));
    },
  },
  {
    title: 'check finds the server, and observes what was asked for',
    async run(trial) {
      needServer(trial);
      const answer = await trial.expect(['done'], 'check', trial.nameOf(SERVER));
      expectObserved(answer, propertiesOf(trial));
    },
  },
  {
    title: 'check observes at least one property, so that drift can be found',
    async run(trial) {
      needServer(trial);
      const { observed } = await trial.expect(['done'], 'check', trial.nameOf(SERVER));
      if (Object.keys(observed).length === 0) throw new Deviation('the answer has no "observed"');
    },
  },
  {
    title: 'create again, with the same action, answers done',
    async run(trial) {
      needServer(trial);
      await trial.expect(['done'], 'create', trial.nameOf(SERVER), { action: firstAction(trial) });
    },
  },
  {
    title: 'create again, with another action, answers done',
    async run(trial) {
      needServer(trial);
      await trial.expect(['done'], 'create', trial.nameOf(SERVER));
    },
  },
  {
    title: 'update answers done, or replace',
    async run(trial) {
      needServer(trial);
      updated.set(trial, await trial.expect(['done', 'replace'], 'update', trial.nameOf(SERVER), changed(trial)));
    },
  },
  {
    title: 'check observes what the update asked for, or, after replace, what was there',
    async run(trial) {
      const { outcome } = needUpdate(trial);
      const answer = await trial.expect(['done'], 'check', trial.nameOf(SERVER), changed(trial));
      expectObserved(answer, outcome === 'done' ? changed(trial).properties : propertiesOf(trial));
    },
  },
  {
    title: 'the same update again answers the same',
    async run(trial) {
      const { outcome } = needUpdate(trial);
      await trial.expect([outcome], 'update', trial.nameOf(SERVER), changed(trial));
    },
  },
  {
    title: 'delete answers done or absent',
    async run(trial) {
      needServer(trial);
      await trial.expect(['done', 'absent'], 'delete', trial.nameOf(SERVER));
    },
  },
  {
    title: 'one delete is enough after several creates: check answers absent',
    async run(trial) {
      needServer(trial);
      await trial.expect(['absent'], 'check', trial.nameOf(SERVER));
    },
  },
  {
    title: 'delete again answers absent or done',
    async run(trial) {
      needServer(trial);
      await trial.expect(['absent', 'done'], 'delete', trial.nameOf(SERVER));
    },
  },
];

function propertiesOf(trial: Trial): Properties {
  return { ...trial.options.properties, name: trial.nameOf(SERVER) };
}

function changed(trial: Trial): { readonly properties: Properties } {
  return { properties: { ...propertiesOf(trial), ...trial.options.change } };
}

function firstAction(trial: Trial): string {
  return `${trial.nameOf(SERVER)}.1.create`;
}

function needServer(trial: Trial): Answer {
  const answer = created.get(trial);
  if (answer === undefined) throw new Skipped('there is no server, since its create failed');
  return answer;
}

function needUpdate(trial: Trial): Answer {
  const answer = updated.get(trial);
  if (answer === undefined) throw new Skipped('the update failed');
  return answer;
}
