// Provides servers by running a program for every call, without a shell. The program reads the call as JSON from
// standard input and writes the answer as JSON to standard output. docs/providers.md is the contract for authors of
// programs.
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
  /** Runs the programs. It has ended all programs of an earlier controller. */
  readonly runner: ProgramRunner;
  readonly log: Logger;
  /** Time between SIGTERM and SIGKILL; default: 5 s. */
  readonly graceMs?: number;
}

const GRACE_MS = 5000;
/** The next start ends programs that still run after this time. */
const CLOSE_MS_MAX = 15_000;
/** The deadline of a call is computed again when it begins, so it differs from that of its action by milliseconds. */
const DEADLINES_MS = 1000;
/** The length of the standard error that an answer's message shows. */
const SHOWN_LENGTH_MAX = 1000;

/**
 * Returns a provider that runs `command` in `directory`, with only `environment`. A call throws if the program gives no
 * valid answer. It settles only once no process of the program runs.
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
      // A later try of the same action, possibly by another replica, has a later deadline.
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

/** The program to run, and its limits. */
export interface Question extends Omit<ExecOptions, 'runner'> {
  readonly runner: Pick<ProgramRunner, 'run'>;
  readonly signal: AbortSignal;
  /** Facts for the record of the call, and for the log. */
  readonly about: CallLabels;
}

/**
 * Returns the answer of a program to an input. Throws if there is none, and the signal's reason if the signal ended it.
 */
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

/** An answer counts with any exit code. Without an answer, a program with a failure code is run again. */
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

/** A Python traceback, whose first line does not name the error; the last line, which has no indent, does. */
const TRACEBACK = /^(?:.*\n)*Traceback \(most recent call last\):\n(?:[ ].*\n)+(\S.*)/;

/**
 * Returns the last lines of standard error, which say most. A Python error comes first, because some lists show only
 * one line.
 */
function shownEnd(complaint: string): string {
  const text = plainText(complaint, complaint.length);
  const end = text.length <= SHOWN_LENGTH_MAX ? text : `…${text.slice(-SHOWN_LENGTH_MAX)}`;
  const [, error] = TRACEBACK.exec(text) ?? [];
  return error === undefined ? end : `${error}\n${end}`;
}
