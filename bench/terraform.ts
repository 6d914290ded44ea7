// Terraform on as many resources that do nothing: what a one-shot tool with a state file takes for the same number of
// things. Its `terraform_data` is built in, so nothing is downloaded.
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { OwnedProcess, type Usage } from './owned-process.ts';

const ENVIRONMENT = { ...process.env, CHECKPOINT_DISABLE: '1', TF_IN_AUTOMATION: '1', TF_INPUT: '0' };

/** One command of terraform; `seconds` is undefined where it was ended because it took too long. */
export interface TerraformRun extends Usage {
  readonly seconds: number | undefined;
}

export interface TerraformRuns {
  readonly apply: TerraformRun;
  /** Without a change; undefined where `apply` did not get through. */
  readonly plan: TerraformRun | undefined;
}

/** Returns whether there is a `terraform` on the path. */
export function hasTerraform(): boolean {
  return spawnSync('terraform', ['version'], { env: ENVIRONMENT }).status === 0;
}

/**
 * Applies `count` resources in an empty folder, then plans without a change. Throws where a command fails; one that takes
 * more than `limitSeconds` is ended.
 */
export async function measureTerraform(folder: string, count: number, limitSeconds: number): Promise<TerraformRuns> {
  const run = (args: readonly string[]): Promise<TerraformRun> => runTerraform(folder, args, limitSeconds);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'main.tf'), configurationOf(count));
  await run(['init', '-input=false', '-no-color']);
  const apply = await run(['apply', '-auto-approve', '-input=false', '-no-color']);
  if (apply.seconds === undefined) return { apply, plan: undefined };
  // With -detailed-exitcode, anything to do would be exit code 2.
  return { apply, plan: await run(['plan', '-detailed-exitcode', '-input=false', '-no-color']) };
}

function configurationOf(count: number): string {
  return `resource "terraform_data" "server" {
  count = ${count}
  input = { name = "server-\${count.index}", role = "web", version = "1" }
}
`;
}

async function runTerraform(folder: string, args: readonly string[], limitSeconds: number): Promise<TerraformRun> {
  const start = performance.now();
  const output = join(folder, 'output.log');
  const terraform = new OwnedProcess({ file: 'terraform', args, cwd: folder, output, env: ENVIRONMENT });
  const code = await terraform.exit(limitSeconds * 1000);
  if (code !== undefined && code !== 0)
    throw new Error(`terraform ${args.join(' ')} ended with ${code}; see ${output}`);
  return { ...terraform.usage(), seconds: code === undefined ? undefined : (performance.now() - start) / 1000 };
}
