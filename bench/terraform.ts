// Terraform with the same number of resources without effect, for comparison with a one-shot tool with a state file.
// Uses the built-in `terraform_data`, so it downloads nothing.
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { OwnedProcess } from './owned-process.ts';

const ENVIRONMENT = { ...process.env, CHECKPOINT_DISABLE: '1', TF_IN_AUTOMATION: '1', TF_INPUT: '0' };
const COMMAND_MS_MAX = 25 * 60_000;

/** Seconds of the commands; `plan` finds nothing to change. */
export interface TerraformRuns {
  readonly apply: number;
  readonly plan: number;
}

/** Returns whether there is a `terraform` in the PATH. */
export function hasTerraform(): boolean {
  return spawnSync('terraform', ['version'], { env: ENVIRONMENT }).status === 0;
}

/**
 * Applies `count` resources in an empty folder, then plans without a change. Throws if a command fails or takes too
 * long.
 */
export async function measureTerraform(folder: string, count: number): Promise<TerraformRuns> {
  const run = (args: readonly string[]): Promise<number> => runTerraform(folder, args);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'main.tf'), configurationOf(count));
  await run(['init', '-input=false', '-no-color']);
  const apply = await run(['apply', '-auto-approve', '-input=false', '-no-color']);
  // With -detailed-exitcode, a remaining change would give exit code 2.
  return { apply, plan: await run(['plan', '-detailed-exitcode', '-input=false', '-no-color']) };
}

function configurationOf(count: number): string {
  return `resource "terraform_data" "server" {
  count = ${count}
  input = { name = "server-\${count.index}", role = "web", version = "1" }
}
`;
}

async function runTerraform(folder: string, args: readonly string[]): Promise<number> {
  const start = performance.now();
  const output = join(folder, 'output.log');
  const terraform = new OwnedProcess({ file: 'terraform', args, cwd: folder, output, env: ENVIRONMENT });
  const code = await terraform.exit(COMMAND_MS_MAX);
  if (code !== 0) throw new Error(`terraform ${args.join(' ')} ended with ${code}; see ${output}`);
  return (performance.now() - start) / 1000;
}
