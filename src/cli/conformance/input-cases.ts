// The cases about inputs that are refused or read whole, and about requests that the controller did not sign.
import type { Answer } from '../../model/call-result.ts';
import { encodeCall } from '../../providers/call-json.ts';
import type { ConformanceCase } from './conformance-case.ts';
import { runLifeCycle } from './life-cycle.ts';
import { Deviation, type Send, type Trial, toldOutcome } from './trial.ts';

const ABSENT = 'absent-1';
const LARGE_TEXTS = 16;
const LARGE_TEXT = 'x'.repeat(32 * 1024);
const LARGE_RECORD = Object.fromEntries(
  Array.from({ length: LARGE_TEXTS }, (_, index) => [`key${index}`, LARGE_TEXT] as const),
);

/** Of the rules in docs/providers.md. */
const NOT_WHOLE = ', since an input that is not whole is no call (rule 7)';

/** The cases in their order. */
export const INPUT_CASES: readonly ConformanceCase[] = [
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
    run: (trial) => runLifeCycle(trial, trial.nameOf('large'), { record: LARGE_RECORD }),
  },
];

/** Returns a case for each way to forge a request. */
export function forgeryCases({ options: { forgeries } }: Trial): readonly ConformanceCase[] {
  return Object.entries(forgeries).map(forged);
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
