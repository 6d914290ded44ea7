// The cases about the life of one server, from its first check to its delete. Each goes on from the one before.
import { quoteSome } from '../../base/wording.ts';
import type { Answer } from '../../model/call-result.ts';
import { fieldOf, isSame, type JsonMap } from '../../model/json.ts';
import type { Properties } from '../../model/objects.ts';
import { type ConformanceCase, Deviation, expectObserved, Skipped, type Trial } from './trial.ts';

const SERVER = '1';
const ABSENT = 'absent-1';
/** One tells nothing of changes, and between two a value may have come or changed for good. */
const OUTPUT_CHECKS = 3;

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
    title: 'check reports all outputs or none, and no value that changes each time',
    run: expectSteadyOutputs,
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

/** Each check gets what was reported last, as a controller sends it. */
async function expectSteadyOutputs(trial: Trial): Promise<void> {
  const reports = [needServer(trial).outputs];
  for (let check = 0; check < OUTPUT_CHECKS; check++) {
    const last = reports.at(-1) ?? {};
    const { outputs } = await trial.expect(['done'], 'check', trial.nameOf(SERVER), { outputs: last });
    if (Object.keys(outputs).length === 0) continue;
    const lost = Object.keys(last).filter((name) => !Object.hasOwn(outputs, name));
    if (lost.length > 0)
      throw new Deviation(
        `"outputs" lacks ${quoteSome(lost)}, and those of a check take the place of all earlier ones`,
      );
    reports.push(outputs);
  }
  const [, ...checks] = reports;
  const changing = Object.keys(checks[OUTPUT_CHECKS - 1] ?? {}).filter((name) => changesEachTime(name, checks));
  if (changing.length === 0) return;
  throw new Deviation(
    `each check reports another value of ${quoteSome(changing)}, which would update others again and again`,
  );
}

function changesEachTime(name: string, checks: readonly JsonMap[]): boolean {
  return checks.every(
    (outputs, at) => at === 0 || !isSame(fieldOf(outputs, name), fieldOf(checks[at - 1] ?? {}, name)),
  );
}

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
