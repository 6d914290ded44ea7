// Calls a provider of contrib/providers as the exec provider does: one process a call, no shell, an environment that holds
// only what is configured.
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Answer } from '../../src/model/call-result.ts';
import type { JsonMap } from '../../src/model/json.ts';
import { ROOT } from '../support/command-line.ts';

const DEADLINE_MS = 25_000;

/** A call that runs. */
export interface StartedCall {
  readonly process: ChildProcess;
  /** Rejects where the program printed something that is no answer; undefined where it was killed before it answered. */
  readonly answer: Promise<Answer | undefined>;
}

export interface ProviderProgram {
  /** Starts a call; `fields` replace those of a usual one. */
  start(operation: string, resource: string, fields?: JsonMap): StartedCall;
  /** Starts a call and waits for its answer. */
  call(operation: string, resource: string, fields?: JsonMap): Promise<Answer>;
}

/** Returns the program at `path` below contrib/providers, with that environment. Calls end with the running test. */
export function providerProgram(path: string, environment: Readonly<Record<string, string>>): ProviderProgram {
  const start = (operation: string, resource: string, fields: JsonMap = {}): StartedCall => {
    const file = join(ROOT, 'contrib/providers', path);
    const program = spawn(process.execPath, [file], { env: environment, stdio: 'pipe', detached: true });
    onTestFinished(() => void program.kill('SIGKILL'));
    program.stdin.on('error', () => program.kill('SIGKILL'));
    program.stdin.end(JSON.stringify({ ...usualCall(operation, resource), ...fields }));
    return { process: program, answer: answerOf(program) };
  };
  return {
    start,
    async call(...args) {
      const answer = await start(...args).answer;
      if (answer === undefined) throw new Error('the program was killed');
      return answer;
    },
  };
}

function usualCall(operation: string, resource: string): JsonMap {
  return {
    version: 1,
    operation,
    action: `${resource}.1.${operation}`,
    resource,
    kind: 'Platform::Server',
    properties: {},
    record: {},
    applied: null,
    outputs: null,
    deadline: new Date(Date.now() + DEADLINE_MS).toISOString(),
  };
}

async function answerOf(program: ChildProcess): Promise<Answer | undefined> {
  let stdout = '';
  let stderr = '';
  program.stdout?.on('data', (part) => {
    stdout += part;
  });
  program.stderr?.on('data', (part) => {
    stderr += part;
  });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  program.once('error', reject);
  program.once('close', () => resolve());
  await promise;
  if (program.signalCode !== null) return undefined;
  endGroup(program);
  if (stderr !== '') throw new Error(`it wrote to standard error: ${stderr}`);
  return JSON.parse(stdout) as Answer;
}

/** What is left of its group ends with a call that has ended by itself, as the exec provider sees to. */
function endGroup({ pid = 0 }: ChildProcess): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}
