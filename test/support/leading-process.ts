// Starts processes that share a database and lead one after the other, and reads what they did.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { PostgresServer } from './postgres-server.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/** What a process thought of its lease at a moment. */
export interface Claim {
  /** Of the machine's monotonic clock, which all processes share, in nanoseconds. */
  readonly at: bigint;
  readonly fencing: number | undefined;
}

/** A process that leads when it can, until it is killed. */
export interface LeadingProcess {
  /** `SIGSTOP` and `SIGCONT`, for one. */
  signal(name: NodeJS.Signals): void;
  kill(): Promise<void>;
  /** In the order of time. */
  claims(): readonly Claim[];
}

/** Starts a process that ends with the test. */
export function startLeadingProcess(url: string, leaseSeconds: number): LeadingProcess {
  const file = join(temporaryDirectory(), 'claims');
  const program = join(import.meta.dirname, 'leading-child.ts');
  const child = spawn(process.execPath, [program, url, file, `${leaseSeconds}`], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = once(child, 'exit');
  onTestFinished(() => void child.kill('SIGKILL'));
  return {
    signal: (name) => void child.kill(name),
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
    claims() {
      if (!existsSync(file)) return [];
      // The last line may be written at the moment.
      const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1);
      return lines.map((line) => {
        const [at = '', fencing] = line.split(' ');
        return { at: BigInt(at), fencing: fencing === 'none' ? undefined : Number(fencing) };
      });
    },
  };
}

/** Returns the fencing numbers with which rows were committed, in the order of the commits. */
export async function committedFencings(server: PostgresServer, url: string): Promise<readonly number[]> {
  const rows = await server.run(
    `SELECT split_part(name, '-', 1)::int AS fencing FROM treeline.rows ORDER BY revision`,
    url,
  );
  return rows.map(({ fencing }) => Number(fencing));
}
