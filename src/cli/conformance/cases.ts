// The cases of the conformance test, and how to run them. In order: the life of one server, invalid inputs, hostile
// values, and interrupted calls. docs/providers.md has the contract.
import { existsSync } from 'node:fs';
import type { Answer, AnswerOutcome } from '../../model/call-result.ts';
import type { Properties } from '../../model/objects.ts';
import type { Operation } from '../../model/state.ts';
import { encodeCall } from '../../providers/provider.ts';
import { type ConformanceCase, Deviation, expectObserved, outcomeWords, runLifeCycle, type Trial } from './trial.ts';

const SERVER = '1';
const ABSENT = 'absent-1';

/** One call: its title, operation, server, expected outcomes, and further inputs or expectations. */
type Step = readonly [
  title: string,
  operation: Operation,
  server: typeof SERVER | typeof ABSENT,
  outcomes: readonly AnswerOutcome[],
  more?: {
    /** Repeats the action of the first create. */
    readonly isFirstAction?: true;
    /** Sends the changed properties. */
    readonly isChanged?: true;
    /** Throws Deviation for an answer that differs in more than its outcome. */
    readonly judge?: (answer: Answer, trial: Trial) => void;
  },
];

const STEPS: readonly Step[] = [
  ['check of a server that is not there answers absent', 'check', SERVER, ['absent']],
  ['check makes nothing: a second one answers absent, too', 'check', SERVER, ['absent']],
  ['delete of a server that is not there answers absent or done', 'delete', ABSENT, ['absent', 'done']],
  ['update of a server that is not there is not done', 'update', ABSENT, ['absent', 'failed', 'retryable', 'replace']],
  ['such an update makes none: check answers absent', 'check', ABSENT, ['absent']],
  ['create answers done', 'create', SERVER, ['done'], { isFirstAction: true }],
  ['check finds the server, and observes what was asked for', 'check', SERVER, ['done'], { judge: judgeCreated }],
  ['create again, with the same action, answers done', 'create', SERVER, ['done'], { isFirstAction: true }],
  ['create again, with another action, answers done', 'create', SERVER, ['done']],
  ['update answers done, or replace', 'update', SERVER, ['done', 'replace'], { isChanged: true, judge: keepUpdate }],
  [
    'check observes what the update asked for, or, after replace, what was there',
    'check',
    SERVER,
    ['done'],
    { isChanged: true, judge: judgeUpdated },
  ],
  [
    'the same update again answers the same',
    'update',
    SERVER,
    ['done', 'replace'],
    { isChanged: true, judge: judgeRepeated },
  ],
  ['delete answers done or absent', 'delete', SERVER, ['done', 'absent']],
  ['one delete is enough after several creates: check answers absent', 'check', SERVER, ['absent']],
  ['delete again answers absent or done', 'delete', SERVER, ['absent', 'done']],
];

/** The cases in their order. */
export const LIFE_CASES: readonly ConformanceCase[] = STEPS.map(([title, operation, server, outcomes, more = {}]) => ({
  title,
  async run(trial) {
    const { isFirstAction, isChanged, judge } = more;
    const name = trial.nameOf(server);
    const fields = {
      ...(isFirstAction && { action: `${name}.1.create` }),
      ...(isChanged && { properties: { ...propertiesOf(trial), ...trial.options.change, name } }),
    };
    const answer = await trial.expect(outcomes, operation, name, fields);
    judge?.(answer, trial);
  },
}));

function propertiesOf(trial: Trial): Properties {
  return { ...trial.options.properties, name: trial.nameOf(SERVER) };
}

/** Drift is found only in observed properties. */
function judgeCreated(answer: Answer, trial: Trial): void {
  expectObserved(answer, propertiesOf(trial));
  if (Object.keys(answer.observed).length === 0) throw new Deviation('the answer has no "observed"');
}

function keepUpdate({ outcome }: Answer, trial: Trial): void {
  trial.updated = outcome;
}

function judgeUpdated(answer: Answer, trial: Trial): void {
  const change = trial.updated === 'done' ? trial.options.change : {};
  expectObserved(answer, { ...propertiesOf(trial), ...change });
}

function judgeRepeated(answer: Answer, trial: Trial): void {
  const { updated } = trial;
  if (updated === undefined || answer.outcome === updated) return;
  throw new Deviation(`update ${outcomeWords(answer, [updated])}`);
}

/** When a call is interrupted: most programs are working by then. */
const SHORT_MS = 150;
/** More than the time between SIGTERM and SIGKILL. */
const ENDED_MS_MAX = 10_000;

const TIME_CASE: ConformanceCase = {
  title: 'a create that is ended in the middle is gone soon, and can be repeated',
  async run(trial) {
    const server = trial.nameOf('ended');
    trial.made.add(server);
    const begun = performance.now();
    const call = trial.makeCall('create', server);
    await trial.options
      .send(encodeCall(call), AbortSignal.any([AbortSignal.timeout(SHORT_MS), trial.options.interrupted]))
      .catch(() => trial.options.interrupted.throwIfAborted());
    const ms = performance.now() - begun;
    if (ms > ENDED_MS_MAX) throw new Deviation(`it ran for ${Math.round(ms / 1000)} s after the signal to end`);
    await trial.expect(['done', 'absent'], 'check', server);
    await trial.expect(['done'], 'create', server, { action: call.action });
    await trial.expect(['done', 'absent'], 'delete', server);
    await trial.expect(['absent'], 'check', server);
  },
};

/** The cases in order. */
const VALUE_CASES: readonly ConformanceCase[] = [
  {
    title: 'a name with all characters that names may have is one server',
    run: (trial) => runLifeCycle(trial, trial.nameOf('A.b_c-1')),
  },
  {
    title: 'quotes, line feeds, and what a shell would run, are data in a value',
    async run(trial) {
      const { trap } = trial.options;
      const note = `it's "quoted" \\ and\nhas two lines; $(touch ${trap}); \`touch ${trap}\` | touch ${trap}`;
      await runLifeCycle(trial, trial.nameOf('value'), { properties: { note, empty: '' } });
      if (existsSync(trap)) throw new Deviation('the value was run by a shell');
    },
  },
];

const LARGE_TEXTS = 16;
const LARGE_TEXT = 'x'.repeat(32 * 1024);
const LARGE_RECORD = Object.fromEntries(
  Array.from({ length: LARGE_TEXTS }, (_, index) => [`key${index}`, LARGE_TEXT] as const),
);

/** Refers to the rules in docs/providers.md. */
const NOT_WHOLE = ', since an input that is not whole is not a call (rule 7)';

/** The cases in their order. */
const INPUT_CASES: readonly ConformanceCase[] = [
  refused('an unknown version is refused', (trial) => ({ ...jsonOf(trial), version: 999 })),
  refused('an unknown operation is refused', (trial) => ({ ...jsonOf(trial), operation: 'explode' })),
  refused('an input that is no JSON is refused', () => '{"version": 1, "operation": ', NOT_WHOLE),
  refused('an empty input is refused', () => '', NOT_WHOLE),
  {
    title: 'a create whose input is cut short is refused, and makes nothing',
    async run(trial) {
      const server = trial.nameOf('cut');
      trial.made.add(server);
      const input = encodeCall(trial.makeCall('create', server));
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
      if (answer.outcome !== 'absent') throw new Deviation(`check ${outcomeWords(answer, ['absent'])}`);
    },
  },
  {
    // Outputs become part of the record: a provider that repeats the record would make it grow with every call.
    title: 'what it reports of a server does not grow with the record',
    run: (trial) => runLifeCycle(trial, trial.nameOf('large'), { record: LARGE_RECORD }),
  },
];

const FORGERY_CASE: ConformanceCase = {
  title: 'a request with a signature of another secret is refused',
  async run(trial) {
    const answer = await trial.send(`${JSON.stringify(jsonOf(trial))}\n`, trial.options.forged);
    if (answer.outcome !== 'failed') throw new Deviation(`it ${outcomeWords(answer, ['failed'])}, such as status 401`);
  },
};

function jsonOf(trial: Trial): Record<string, unknown> {
  return JSON.parse(encodeCall(trial.makeCall('check', trial.nameOf(ABSENT))));
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
  throw new Deviation(`it ${outcomeWords(answer, ['failed'])}, or a non-zero exit${because}`);
}

/** Returns all cases of a run, in their order. */
function conformanceCases({ options: { forged } }: Trial): readonly ConformanceCase[] {
  const forgeries = forged === undefined ? [] : [FORGERY_CASE];
  return [...LIFE_CASES, ...INPUT_CASES, ...forgeries, ...VALUE_CASES, TIME_CASE, PLACE_CASE];
}

/** The last case, about the answers to all others. */
const PLACE_CASE: ConformanceCase = {
  title: 'once an answer has named a place, all that follow name the same one',
  async run({ places }) {
    const named = places.slice(places.findIndex((place) => place !== undefined));
    const [first] = named;
    const other = named.findIndex((place) => place !== first);
    if (first === undefined || other === -1) return;
    const found = named[other] === undefined ? 'names no place' : `names the place "${named[other]}"`;
    throw new Deviation(`an answer ${found}, and one before it named "${first}"; Treeline takes it for no answer`);
  },
};

/** The result of one case. */
export interface CaseResult {
  readonly title: string;
  readonly result: 'passed' | 'failed';
  /** Why the case failed; empty if it passed. */
  readonly message: string;
  readonly ms: number;
}

/** The results of all cases, and the remaining servers. */
interface ConformanceResult {
  readonly cases: readonly CaseResult[];
  /** The servers that could not be removed. */
  readonly left: readonly string[];
}

/** Resolves with the result of all cases, and calls `ended` after each. Throws the reason of an interruption. */
export async function runCases(trial: Trial, ended: (result: CaseResult) => void): Promise<ConformanceResult> {
  const cases: CaseResult[] = [];
  try {
    for (const { title, run } of conformanceCases(trial)) {
      const begun = performance.now();
      const found = await awaitResult(run(trial));
      const result = { title, ...found, ms: Math.round(performance.now() - begun) };
      cases.push(result);
      ended(result);
    }
  } finally {
    for (const server of trial.made) await awaitResult(trial.call('delete', server));
  }
  const left: string[] = [];
  for (const server of trial.made) {
    const { result } = await awaitResult(trial.expect(['absent'], 'check', server));
    if (result !== 'passed') left.push(server);
  }
  return { cases, left };
}

async function awaitResult(run: Promise<unknown>): Promise<Pick<CaseResult, 'result' | 'message'>> {
  try {
    await run;
    return { result: 'passed', message: '' };
  } catch (error) {
    if (error instanceof Deviation) return { result: 'failed', message: error.message };
    throw error;
  }
}
