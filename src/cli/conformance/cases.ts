// The cases of the conformance test, in their order: the life of one server, inputs that are refused, hostile values,
// calls that are ended, and calls at the same time. docs/providers.md has the contract.
import { existsSync } from 'node:fs';
import type { Answer } from '../../model/call-result.ts';
import type { Properties } from '../../model/objects.ts';
import { encodeCall } from '../../providers/call-json.ts';
import type { Call } from '../../providers/provider.ts';
import { Deviation, expectObserved, type Send, Skipped, type Trial, toldOutcome } from './trial.ts';

/** One case of the conformance test. */
export interface ConformanceCase {
  readonly title: string;
  /** Throws Deviation if the provider does not keep the contract, Skipped if that cannot be tried. */
  readonly run: (trial: Trial) => Promise<void>;
}

const SERVER = '1';
const ABSENT = 'absent-1';
const PARALLEL = 4;
/** After this time a call is ended: most programs are at work by then. */
const SHORT_MS = 150;
/** More than the time between SIGTERM and SIGKILL. */
const ENDED_MS_MAX = 10_000;
const LARGE_TEXTS = 16;
const LARGE_TEXT = 'x'.repeat(32 * 1024);

/** Facts that later cases depend on. */
const created = new WeakSet<Trial>();
const updated = new WeakMap<Trial, Answer>();

const LIFE: readonly ConformanceCase[] = [
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
      await trial.expect(['done'], 'create', trial.nameOf(SERVER), { action: firstAction(trial) });
      created.add(trial);
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

const LARGE_RECORD = Object.fromEntries(
  Array.from({ length: LARGE_TEXTS }, (_, index) => [`key${index}`, LARGE_TEXT] as const),
);

/** Of the rules in docs/providers.md. */
const NOT_WHOLE = ', since an input that is not whole is no call (rule 7)';

const INPUTS: readonly ConformanceCase[] = [
  refused('an unknown version is refused', (trial) => ({ ...jsonOf(trial), version: 999 })),
  refused('an unknown operation is refused', (trial) => ({ ...jsonOf(trial), operation: 'explode' })),
  refused('an input that is no JSON is refused', () => '{"version": 1, "operation": ', NOT_WHOLE),
  refused('an empty input is refused', () => '', NOT_WHOLE),
  {
    title: 'a create whose input is cut short is refused, and makes nothing',
    async run(trial) {
      const server = trial.nameOf('cut');
      trial.made.add(server);
      const input = encodeCall(trial.callOf('create', server));
      for (const length of [input.lastIndexOf('}'), Math.floor(input.length / 2)]) {
        expectRefused(await trial.send(input.slice(0, length)), NOT_WHOLE);
      }
      await trial.expect(['absent'], 'check', server);
    },
  },
  {
    title: 'a field that is not known yet is ignored',
    async run(trial) {
      const answer = await trial.send(`${JSON.stringify({ ...jsonOf(trial), fromALaterVersion: { a: [1] } })}\n`);
      if (answer.outcome !== 'absent') throw new Deviation(`check ${toldOutcome(answer, ['absent'])}`);
    },
  },
  {
    title: 'a large record is read to its end',
    async run(trial) {
      await trial.expect(['absent'], 'check', trial.nameOf(ABSENT), { record: LARGE_RECORD });
    },
  },
  {
    // Outputs join the record: what repeats it would come back larger with every call, up to the limit of outputs.
    title: 'what it reports of a server does not grow with the record',
    run: (trial) => liveAndDie(trial, trial.nameOf('large'), { record: LARGE_RECORD }),
  },
];

const VALUES: readonly ConformanceCase[] = [
  {
    title: 'a name with all characters that names may have is one server',
    run: (trial) => liveAndDie(trial, trial.nameOf('A.b_c-1')),
  },
  hostile('quotes and line feeds in a value are data', () => `it's "quoted" \\ and\nhas two lines`),
  hostile(
    'what a shell would run is data',
    ({ options: { trap } }) => `$(touch ${trap}); \`touch ${trap}\` | touch ${trap}`,
  ),
  hostile('a value that looks like an option is data', () => '--help'),
  hostile('letters of all scripts, and an empty value, are data', () => 'Grüße 東京 🚀 ../../x'),
];

const TIMES: readonly ConformanceCase[] = [
  {
    title: 'a create that is ended in the middle is gone soon, and can be repeated',
    async run(trial) {
      const server = trial.nameOf('ended');
      trial.made.add(server);
      const begun = performance.now();
      const call = trial.callOf('create', server);
      await trial.options
        .send(encodeCall(call), AbortSignal.any([AbortSignal.timeout(SHORT_MS), trial.options.interrupted]))
        .catch(() => trial.options.interrupted.throwIfAborted());
      const ms = performance.now() - begun;
      if (ms > ENDED_MS_MAX) throw new Deviation(`it ran for ${Math.round(ms / 1000)} s after it was told to end`);
      await trial.expect(['done', 'absent'], 'check', server);
      await trial.expect(['done'], 'create', server, { action: call.action });
      await trial.expect(['done', 'absent'], 'delete', server);
      await trial.expect(['absent'], 'check', server);
    },
  },
  {
    title: `${PARALLEL} servers live and die at the same time`,
    async run(trial) {
      const servers = Array.from({ length: PARALLEL }, (_, index) => trial.nameOf(`p${index + 1}`));
      const ended = await Promise.allSettled(servers.map((server) => liveAndDie(trial, server)));
      const failed = ended.find((each) => each.status === 'rejected');
      if (failed !== undefined) throw failed.reason;
    },
  },
];

/** Returns all cases of a run, in their order. */
export function conformanceCases({ options: { forgeries } }: Trial): readonly ConformanceCase[] {
  return [...LIFE, ...INPUTS, ...Object.entries(forgeries).map(forged), ...VALUES, ...TIMES];
}

function forged([words, send]: readonly [string, Send]): ConformanceCase {
  return {
    title: `a request with ${words} is refused`,
    async run(trial) {
      const answer = await trial.send(`${JSON.stringify(jsonOf(trial))}\n`, send);
      if (answer.outcome !== 'failed') throw new Deviation(`it ${toldOutcome(answer, ['failed'])}, such as status 401`);
    },
  };
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

function needServer(trial: Trial): void {
  if (!created.has(trial)) throw new Skipped('there is no server, since its create failed');
}

function needUpdate(trial: Trial): Answer {
  const answer = updated.get(trial);
  if (answer === undefined) throw new Skipped('the update failed');
  return answer;
}

function jsonOf(trial: Trial): Record<string, unknown> {
  return JSON.parse(encodeCall(trial.callOf('check', trial.nameOf(ABSENT))));
}

function refused(title: string, input: (trial: Trial) => object | string, because = ''): ConformanceCase {
  return {
    title,
    async run(trial) {
      const value = input(trial);
      expectRefused(await trial.send(typeof value === 'string' ? value : `${JSON.stringify(value)}\n`), because);
    },
  };
}

function expectRefused(answer: Answer, because: string): void {
  if (answer.outcome === 'failed' || answer.outcome === 'retryable') return;
  throw new Deviation(`it ${toldOutcome(answer, ['failed'])}, or a non-zero exit${because}`);
}

function hostile(title: string, value: (trial: Trial) => string): ConformanceCase {
  return {
    title,
    async run(trial) {
      const properties = { note: value(trial), empty: '' };
      await liveAndDie(trial, trial.nameOf('value'), { properties });
      if (existsSync(trial.options.trap)) throw new Deviation('the value was run by a shell');
    },
  };
}

interface Extraordinary {
  /** Beside those of the trial. */
  readonly properties?: Properties;
  readonly record?: Call['record'];
}

/** A provider may refuse what is extraordinary, but then it makes nothing. */
async function liveAndDie(trial: Trial, server: string, more: Extraordinary = {}): Promise<void> {
  const properties = { ...trial.options.properties, ...more.properties, name: server };
  const fields = more.record === undefined ? { properties } : { properties, record: more.record };
  const outcomes = Object.keys(more).length === 0 ? (['done'] as const) : (['done', 'failed'] as const);
  const { outcome } = await trial.expect(outcomes, 'create', server, fields);
  const answer = await trial.expect([outcome === 'done' ? 'done' : 'absent'], 'check', server, fields);
  expectObserved(answer, properties);
  await trial.expect(['done', 'absent'], 'delete', server, fields);
  await trial.expect(['absent'], 'check', server, fields);
}
