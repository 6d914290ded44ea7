// A provider that runs a program for every call, without a shell: the call comes as JSON on its standard input, the
// answer is JSON on its standard output. docs/providers.md is the contract for authors of programs.
import { setTimeout as wait } from 'node:timers/promises';
import type { Logger } from '../../base/log.ts';
import type { Answer } from '../../model/call-result.ts';
import type { CallLabels } from '../../programs/call-records.ts';
import type { ProgramRunner } from '../../programs/program-runner.ts';
import { LaunchError, type Program, type ProgramEnd } from '../../programs/run-program.ts';
import { ANSWER_BYTES_MAX, AnswerError, plainText, readAnswer } from '../answer-json.ts';
import { type Call, encodeCall, type Provider } from '../provider.ts';

/** The options of a provider that runs a program. */
export interface ExecOptions extends Program {
  /** Runs the programs. Opened before the first call, so that nothing of an earlier controller runs. */
  readonly runner: ProgramRunner;
  readonly log: Logger;
  /** Time between SIGTERM and SIGKILL; default: 5 s. */
  readonly graceMs?: number;
}

const GRACE_MS = 5000;
/** Programs that have not ended by then are left to the next start. */
const CLOSE_MS_MAX = 15_000;
/** The deadline of a call is computed again when it begins, and differs from that of its action by milliseconds. */
const DEADLINES_MS = 1000;
/** The length of the standard error that an answer's message shows. */
const SHOWN_LENGTH_MAX = 1000;

/**
 * Returns a provider that runs `command` in `directory` with `environment` only. A call whose program gives no valid
 * answer throws; it settles only once nothing of the program runs any more.
 */
export function createExecProvider(options: ExecOptions): Provider {
  const closing = new AbortController();
  const performing = new Set<Promise<unknown>>();
  const { runner } = options;

  async function perform(call: Call, signal: AbortSignal): Promise<Answer> {
    const { resource: server, operation, action, deadline } = call;
    const about = { server, operation, action, deadline };
    const run = askProgram(encodeCall(call), { ...options, about, signal: AbortSignal.any([signal, closing.signal]) });
    performing.add(run);
    try {
      const answer = await run;
      if (operation !== 'check' && answer.outcome !== 'lost') runner.ended.delete(server);
      return answer;
    } finally {
      performing.delete(run);
    }
  }

  return {
    lostActionEnds: runner.lostActionEnds,
    hasEnded(call) {
      const ended = runner.ended.get(call.resource);
      // A later try of the same action, perhaps by another replica, has a later deadline.
      return (
        ended?.action === call.action && Date.parse(call.deadline) <= Date.parse(ended.deadline ?? '') + DEADLINES_MS
      );
    },
    perform,
    async close() {
      closing.abort(new Error('the provider is closed'));
      const late = wait(CLOSE_MS_MAX, undefined, { ref: false });
      await Promise.race([Promise.allSettled(performing), late]);
    },
  };
}

/** The program that is asked, and for how long. */
export interface Question extends Omit<ExecOptions, 'runner'> {
  readonly runner: Pick<ProgramRunner, 'run'>;
  readonly signal: AbortSignal;
  /** Facts for the record of the call, and for the log. */
  readonly about: CallLabels;
}

/** Returns the answer of a program to an input. Throws if it gives none, and the signal's reason if that ended it. */
export async function askProgram(input: string, question: Question): Promise<Answer> {
  const { command, directory, environment, graceMs = GRACE_MS, signal, runner, log, about } = question;
  try {
    const limits = { outputBytesMax: ANSWER_BYTES_MAX, signal, graceMs };
    const ended = await runner.run({ command, directory, environment, input, about, ...limits });
    const stderr = plainText(ended.complaint, ended.complaint.length);
    if (stderr !== '') log.debug({ ...about, stderr }, 'program wrote');
    return readProgramEnd(ended);
  } catch (error) {
    if (error instanceof LaunchError) return answerRetryable(error.message);
    throw error;
  }
}

/** An answer counts whatever the exit code. Without one, a program that says that it failed is run again. */
function readProgramEnd({ exit, output, complaint }: ProgramEnd): Answer {
  const shown = shownEnd(complaint);
  try {
    const answer = readAnswer(output);
    return answer.message === '' && answer.outcome !== 'done' ? { ...answer, message: shown } : answer;
  } catch (error) {
    if (!(error instanceof AnswerError)) throw error;
    if (exit === 0) throw error;
    const how = typeof exit === 'number' ? `ended with exit code ${exit}` : `was ended by ${exit}`;
    const words = `the program ${how}${shown === '' ? '' : `: ${shown}`}`;
    if (typeof exit === 'number') return answerRetryable(words);
    throw new AnswerError(`${words}, without an answer`, { cause: error });
  }
}

function answerRetryable(message: string): Answer {
  return { outcome: 'retryable', message, outputs: {}, observed: {} };
}

/** Python's words for an error, whose first line names no cause; its last line is the one without indent. */
const TRACEBACK = /^(?:.*\n)*Traceback \(most recent call last\):\n(?:[ ].*\n)+(\S.*)/;

/**
 * Returns the last lines of the standard error, which say most. An error of Python comes before them: some lists show
 * one line.
 */
function shownEnd(complaint: string): string {
  const text = plainText(complaint, complaint.length);
  const end = text.length <= SHOWN_LENGTH_MAX ? text : `…${text.slice(-SHOWN_LENGTH_MAX)}`;
  const [, error] = TRACEBACK.exec(text) ?? [];
  return error === undefined ? end : `${error}\n${end}`;
}
