// The cases about the life of one server, from its first check to its delete. Each continues from the one before.
import type { Answer, AnswerOutcome } from '../../model/call-result.ts';
import type { Properties } from '../../model/objects.ts';
import type { Operation } from '../../model/state.ts';
import { type ConformanceCase, Deviation, expectObserved, type Trial, toldOutcome } from './trial.ts';

const SERVER = '1';
const ABSENT = 'absent-1';

/** One call: its title, the operation, the server, the expected outcomes, and what else is sent or expected. */
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
  throw new Deviation(`update ${toldOutcome(answer, [updated])}`);
}
