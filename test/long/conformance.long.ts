// Runs `treeline provider test` against the programs of contrib/providers and the one of docs/providers.md. `npm run test:long`; test/contrib/ has tests of what
// each of them does.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createRig, LIBVIRT } from '../contrib/libvirt-rig.ts';
import { ROOT, treeline } from '../support/command-line.ts';
import { HAS_SSH_SERVER, startSshServer } from '../support/ssh-server.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const CONFORMANCE_MS_MAX = 170_000;
const TERRAFORM = '/usr/local/bin/terraform';

/** A module whose servers are values in the state. */
const MODULE = `
variable "name" { type = string }
variable "properties" { type = any }
resource "terraform_data" "server" { input = { name = var.name, properties = var.properties } }
output "observed" { value = terraform_data.server.output.properties }
`;

/** Scripts of a machine whose servers are files; they find the call on standard input. A shell starts faster than Node. */
const SCRIPTS = {
  check: '[ -e "$file" ] || exit 113\ncat "$file"\n',
  create: '[ -e "$file" ] || printf "%s" "$properties" >"$file"\n',
  update: '[ -e "$file" ] || exit 113\nprintf "%s" "$properties" >"$file"\n',
  delete: '[ -e "$file" ] || exit 113\nrm "$file"\n',
};

/** What each of them begins with. No text in the JSON holds quotation marks that are not escaped. */
function beginningOf(folder: string): string {
  return `call=$(cat)
resource=\${call#*'"resource":"'}
file='${folder}'/"\${resource%%'"'*}.json"
properties=\${call#*'"properties":'}
properties=\${properties%%',"record":'*}
`;
}

/** Undefined where there is no Python. */
const PYTHON = ['/usr/bin/python3', '/usr/local/bin/python3', '/opt/homebrew/bin/python3'].find((path) =>
  existsSync(path),
);

/** Writes the example and returns how it is started. */
function documentProgram(): readonly [string, string] {
  const example = /```python\n(.*?)```/s.exec(readFileSync(join(ROOT, 'docs/providers.md'), 'utf8'))?.[1] ?? '';
  const path = join(temporaryDirectory(), 'example.py');
  writeFileSync(path, example);
  return [PYTHON ?? '', path];
}

/** Runs the conformance test and expects that every case passes. */
async function expectConformance(
  program: string,
  environment: Readonly<Record<string, string>>,
  properties: readonly string[] = [],
): Promise<void> {
  const variables = Object.entries(environment).flatMap(([name, value]) => ['--environment', `${name}=${value}`]);
  const options = [...variables, ...properties.flatMap((property) => ['--property', property])];
  const command = [process.execPath, join(ROOT, 'contrib/providers', program)];
  const { stdout, stderr } = await treeline(['provider', 'test', '--format', 'json', ...options, '--', ...command], {
    timeoutMs: CONFORMANCE_MS_MAX,
  });
  expect(stderr).toBe('');
  const { cases, left } = JSON.parse(stdout) as { cases: { result: string }[]; left: string[] };
  expect(cases.filter(({ result }) => result !== 'passed')).toEqual([]);
  expect(cases.length).toBeGreaterThan(20);
  expect(left).toEqual([]);
}

it('local-server keeps the contract', { timeout: CONFORMANCE_MS_MAX }, async () => {
  await expectConformance('local-server/local-server.mjs', { LOCAL_SERVER_DIRECTORY: temporaryDirectory() });
});

it.skipIf(!existsSync(TERRAFORM))(
  `terraform keeps the contract (skipped where ${TERRAFORM} is missing)`,
  { timeout: CONFORMANCE_MS_MAX },
  async () => {
    const folder = temporaryDirectory();
    mkdirSync(join(folder, 'modules/small'), { recursive: true });
    writeFileSync(join(folder, 'modules/small/main.tf'), MODULE);
    const environment = {
      TREELINE_TERRAFORM_MODULES: join(folder, 'modules'),
      TREELINE_TERRAFORM_STATE: join(folder, 'state'),
      TREELINE_TERRAFORM_PROGRAM: TERRAFORM,
    };
    await expectConformance('terraform/terraform.mjs', environment, ['shape=small']);
  },
);

it('libvirt keeps the contract, with a stand-in for virsh', { timeout: CONFORMANCE_MS_MAX }, async () => {
  await expectConformance(LIBVIRT, createRig({ TREELINE_LIBVIRT_CERTIFICATES: '' }).environment);
});

it.skipIf(!HAS_SSH_SERVER)(
  'ssh keeps the contract (skipped without sshd or its folder /run/sshd)',
  { timeout: CONFORMANCE_MS_MAX },
  async () => {
    const { port, key, knownHosts } = await startSshServer();
    const folder = temporaryDirectory();
    for (const [operation, script] of Object.entries(SCRIPTS)) {
      writeFileSync(join(folder, `${operation}.sh`), beginningOf(folder) + script);
    }
    const environment = {
      TREELINE_SSH_SCRIPTS: folder,
      TREELINE_SSH_USER: userInfo().username,
      TREELINE_SSH_KEY: key,
      TREELINE_SSH_KNOWN_HOSTS: knownHosts,
      TREELINE_SSH_PORT: String(port),
    };
    await expectConformance('ssh/ssh.mjs', environment, ['address=127.0.0.1']);
  },
);

it.skipIf(PYTHON === undefined)(
  'the example of docs/providers.md keeps the contract (skipped without Python)',
  { timeout: CONFORMANCE_MS_MAX },
  async () => {
    const options = ['--environment', `SERVERS=${temporaryDirectory()}`, '--', ...documentProgram()];
    const { code, stdout } = await treeline(['provider', 'test', ...options], { timeoutMs: CONFORMANCE_MS_MAX });
    expect({ code, failed: stdout.match(/^FAIL.*\n.*/gm) }).toEqual({ code: 0, failed: null });
  },
);
