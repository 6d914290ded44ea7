// docs/tasks.md as an operator follows it: every block, in order, at a desk and on machines that are folders. In the place of what only
// a whole machine has (apt-get, useradd, scp, systemctl) are commands that do the same with those folders: `systemctl` starts what the
// unit says, with its environment and nothing else. Where the tests run as root, the service is a user without rights.
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { COMPILED } from './bundle-once.ts';
import { BUNDLED, ROOT } from './command-line.ts';
import { type Block, blocksIn, patternOf } from './document-blocks.ts';
import { freePort } from './free-port.ts';
import { startGitHttpServer } from './git-http-server.ts';
import { createGitRepository } from './git-repository.ts';
import { newcomer, Terminal } from './terminal.ts';

export const TASKS = readFileSync(join(ROOT, 'docs/tasks.md'), 'utf8');
export const TASK_BLOCKS: readonly Block[] = blocksIn(TASKS);
/** Each goes on from what those before it have left. */
export const TASK_ORDER = [
  'First installation',
  'A person comes, a person leaves',
  'Upgrade, and back',
  'Moving to another machine',
  'Moving the repository',
  'Replacing the authority',
  'A proxy is lost',
];

/** Of root, in the folder of a machine. */
const HOME = 'root';
/** On a slow line. */
const INSTALL_MS = 300_000;
const TOKEN = 'TOKEN';
const STACKS = {
  'tree.yaml': 'name: global\ntype: common\n',
  'types/common/global.yaml': 'description: What holds for every server.\n',
  'types/role/web.yaml': 'description: Web servers.\n',
  'stacks/templates/web.yaml': `
parameters: { count: "3" }
resources:
  web:
    type: Platform::ResourceGroup
    properties: { count: "<<count>>", resource_def: { properties: { role: web } } }
`,
  'stacks/instances/shop.yaml': 'stackTemplate: web\n',
};

/** Where blocks are pasted, by their first lines. */
const PLACES = {
  '# at your desk, in a clone of Treeline': 'clone',
  '# at your desk': 'desk',
  '# on the machine': 'treeline.example',
  '# on the new machine': 'new.example',
  '# at the site': 'lab.example',
} as const;

export interface Operator {
  /** Pastes all blocks of a task, each of which prints what the document says. */
  follow(task: string): Promise<void>;
  /** Pastes a block of the desk, and resolves with what it prints. It has to end with 0. */
  ask(text: string): Promise<string>;
}

/**
 * Returns an operator with a repository of one instance, and machines on which nothing is installed. With `clone`, a folder, the package is
 * made there and installed by npm; else npm installs the bundle.
 */
export async function operator(clone?: string): Promise<Operator> {
  const { home, uid } = newcomer();
  const folder = join(home, '..');
  chmodSync(folder, 0o755);
  const places = { folder, uid, isReal: clone !== undefined };
  const gitUrl = await serveGit(folder, home);
  const ports = { api: await freePort(), management: await freePort() };
  const at = (root: string, text: string): string => placed(text, { ...places, ...ports, gitUrl, root });
  const open = (name: string): Terminal => openMachine(name, places);
  const terminals = new Map(['treeline.example', 'new.example', 'lab.example'].map((name) => [name, open(name)]));
  provideCommands(home, places, home);
  terminals.set('desk', new Terminal({ home, uid: undefined }, home));
  terminals.set('clone', new Terminal({ home, uid: undefined }, clone ?? home));

  async function paste(name: string, { text, line, output: wanted }: Block): Promise<void> {
    const root = join(folder, name);
    // A block ends as its last command does: the others are asked too.
    const told = `trap 'echo "failed: $BASH_COMMAND"' ERR\n${at(root, text)}`;
    const { code, output = '' } =
      (await terminals.get(name)?.paste(told, clone === undefined ? undefined : INSTALL_MS)) ?? {};
    expect(code, `line ${line}: ${output}`).toBe(0);
    expect(output, `line ${line}`).not.toMatch(/^failed: /m);
    if (wanted !== undefined) expect(output, `line ${line}`).toMatch(patternOf(wanted));
  }

  /** The first steps on another machine, and the package, which was copied to the first one. */
  async function install(name: string): Promise<void> {
    const packageAt = (machine: string): string => join(folder, machine, HOME, 'treeline-0.1.0.tgz');
    cpSync(packageAt('treeline.example'), packageAt(name));
    for (const block of blocksOf('First installation').filter(({ text }) => /npm install|install -d/.test(text)))
      await paste(name, block);
  }

  return {
    async follow(task) {
      const blocks = blocksOf(task);
      expect(blocks.length, task).toBeGreaterThan(0);
      if (task === 'Upgrade, and back') {
        const packages = join(folder, 'treeline.example', HOME);
        cpSync(join(packages, 'treeline-0.1.0.tgz'), join(packages, 'treeline-0.2.0.tgz'));
      }
      for (const name of ['new.example', 'lab.example'] as const) {
        if (blocks.some(({ text }) => placeOf(text) === name)) await install(name);
      }
      for (const block of blocks) await paste(placeOf(block.text), block);
      if (!task.startsWith('Moving to another machine')) return;
      // The name of the machine leads to the new one from now on.
      renameSync(join(folder, 'treeline.example'), join(folder, 'former.example'));
      symlinkSync('new.example', join(folder, 'treeline.example'));
      terminals.set('treeline.example', terminals.get('new.example') ?? open('new.example'));
    },
    async ask(text) {
      const { code, output } = (await terminals.get('desk')?.paste(at(folder, text))) ?? { code: -1, output: '' };
      expect(code, output).toBe(0);
      return output;
    },
  };
}

function blocksOf(task: string): readonly Block[] {
  return TASK_BLOCKS.filter(({ headings }) => headings[1] === task);
}

function placeOf(text: string): (typeof PLACES)[keyof typeof PLACES] {
  const found = Object.entries(PLACES).find(([line]) => text.split('\n')[0] === line);
  if (found === undefined) throw new Error(`no place to paste this: ${text}`);
  return found[1];
}

/** Starts a Git server with both repositories of the document, and lets the person at the desk in. */
async function serveGit(folder: string, home: string): Promise<string> {
  const git = join(folder, 'git');
  const repository = await createGitRepository(join(git, 'infra/stacks.git'));
  await repository.commit(STACKS);
  await createGitRepository(join(git, 'platform/stacks.git'));
  const server = await startGitHttpServer({ repository: join(git, 'all'), receivePack: true });
  server.login = { username: 'x-access-token', password: TOKEN };
  const { origin, host } = new URL(server.url);
  writeFileSync(join(home, '.git-credentials'), `http://x-access-token:${TOKEN}@${host}\n`);
  const config = '[user]\nname = Ada\nemail = ada@example.org\n[credential]\nhelper = store\n';
  writeFileSync(join(home, '.gitconfig'), config);
  return origin;
}

interface Places {
  readonly folder: string;
  /** Of the service; undefined: of the person that runs the tests. */
  readonly uid: number | undefined;
  /** Whether npm is the real one. */
  readonly isReal: boolean;
}

/** Makes the folder of a machine, and returns a terminal of its root. */
function openMachine(name: string, places: Places): Terminal {
  const root = join(places.folder, name);
  const home = join(root, HOME);
  for (const path of [HOME, 'run', 'opt', 'usr/local/bin', 'etc/systemd/system', 'var/lib', 'var/backups'])
    mkdirSync(join(root, path), { recursive: true });
  writeFileSync(join(root, 'usr/local/bin/lab-server'), '#!/bin/sh\nexit 1\n', { mode: 0o755 });
  // Only root lists it; the commands in it are for all.
  chmodSync(home, 0o711);
  provideCommands(home, places, root);
  // That folder is on the path of a machine.
  symlinkSync(join(root, 'usr/local/bin/treeline'), join(home, '.commands/treeline'));
  return new Terminal({ home, uid: undefined }, home);
}

function provideCommands(home: string, { folder, uid, isReal }: Places, root: string): void {
  const commands = join(home, '.commands');
  mkdirSync(commands);
  const add = (name: string, text: string): void =>
    writeFileSync(join(commands, name), `#!/bin/bash\nset -e\n${text}`, { mode: 0o755 });
  add('apt-get', '');
  add('useradd', '');
  add('scp', `to=\${!#}; to=\${to#root@}; cp "\${@:1:$#-1}" "${folder}/\${to%:}/${HOME}/"\n`);
  add('systemctl', systemctl(root, uid));
  const program = `NODE_COMPILE_CACHE="${COMPILED}" exec node "${BUNDLED}" "$@"`;
  if (root === home) add('treeline', program.replace('exec node', `exec "${process.execPath}"`));
  if (isReal) writeFileSync(join(home, '.npmrc'), npmSettings());
  else add('npm', quickNpm(program));
}

/** How npm reaches the registry from here: with another prefix and another home it reads neither file that says so. */
function npmSettings(): string {
  const ask = (key: string): string => execFileSync('npm', ['config', 'get', key], { encoding: 'utf8' }).trim();
  const lines = ['registry', 'cafile']
    .map((key) => [key, ask(key)])
    .filter(([, value]) => !/^(null|undefined)?$/.test(value ?? ''));
  return lines.map(([key, value]) => `${key}=${value}\n`).join('');
}

/** An `npm` whose packages are empty, and that installs this Node and a command that looks for it on the path, as that of the package does. */
function quickNpm(program: string): string {
  return `case "$1" in
  ci) ;;
  pack) : > treeline-0.1.0.tgz ;;
  install)
    [ -e "\${!#}" ]
    mkdir -p "$3/node_modules/.bin"
    ln -sfn "${process.execPath}" "$3/node_modules/.bin/node"
    ln -sfn "${ROOT}" "$3/node_modules/treeline"
    printf '#!/bin/sh\\n%s\\n' '${program}' > "$3/node_modules/.bin/treeline"
    chmod 0755 "$3/node_modules/.bin/treeline" ;;
  *) exit 64 ;;
esac
`;
}

/** What systemd does with a unit: its environment, its folder, its user, and its command as it is written. */
function systemctl(root: string, uid: number | undefined): string {
  const owner = uid === undefined ? '' : `-o ${uid} -g ${uid}`;
  const user = uid === undefined ? '' : `setpriv --reuid=${uid} --regid=${uid} --clear-groups`;
  return `unit=\${!#}; pid_file="${root}/run/$unit.pid"; file="${root}/etc/systemd/system/$unit.service"
value() { sed -n "s#^$1=##p" "$file"; }
stop() {
  [ -e "$pid_file" ] || return 0
  pid=$(cat "$pid_file"); rm "$pid_file"; kill -TERM "$pid"
  for _ in $(seq 600); do grep -q '^State:.[^Z]' "/proc/$pid/status" 2>&1 || return 0; sleep 0.05; done
  exit 1
}
start() {
  state="${root}/var/lib/$(value StateDirectory)"
  [ -d "$state" ] || install -d -m 0700 ${owner} "$state"
  command=$(value ExecStart | sed 's# /# ${root}/#g')
  cd "$state"
  env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$(value Environment)" \\
    ${user} ${root}$command > "${root}/run/$unit.log" 2>&1 &
  echo $! > "$pid_file"
}
case "$1" in
  daemon-reload) ;;
  start) start ;;
  stop | disable) stop ;;
  restart) stop; start ;;
  enable) [ "$2" = --now ]; start ;;
  *) exit 64 ;;
esac
`;
}

interface Placing extends Places {
  readonly gitUrl: string;
  readonly api: number;
  readonly management: number;
  /** The folder that stands for the machine on which it is pasted. */
  readonly root: string;
}

/** Returns a block in which the names and places of the document are those of the test. */
function placed(text: string, { uid, gitUrl, api, management, root }: Placing): string {
  const service = uid === undefined ? {} : { owner: ` -o ${uid}`, group: ` -g ${uid}` };
  const replaced: readonly (readonly [RegExp, string])[] = [
    [/root@\w+\.example/, '$&'],
    [/treeline\.example:8443/, `localhost:${api}`],
    [/treeline\.example/, 'localhost'],
    [/https:\/\/git\.example/, gitUrl],
    [/127\.0\.0\.1:9080/, `127.0.0.1:${management}`],
    [/ {2}host: 0\.0\.0\.0/, `  port: ${api}`],
    [/^repository:$/m, `management: { port: ${management} }\nrepository:\n  pollSeconds: 1`],
    [/(?<![\w.])\/(?:etc\/treeline|etc\/systemd|var\/lib|var\/backups|opt\/treeline|usr\/local\/bin)\b/, `${root}$&`],
    [/ -C \/ /, ` -C ${root} `],
    [/ -o treeline\b/, service.owner ?? ''],
    [/ -g treeline(?:-proxy)?\b/, service.group ?? ''],
    [/runuser -u treeline -- /, uid === undefined ? '' : `setpriv --reuid=${uid} --regid=${uid} --clear-groups `],
  ];
  // In one pass: what was put in is not looked at again.
  const all = new RegExp(replaced.map(([pattern]) => `(?:${pattern.source})`).join('|'), 'gm');
  return text.replaceAll(all, (found) => {
    const [, by = found] = replaced.find(([pattern]) => new RegExp(`${pattern.source}`, 'm').test(found)) ?? [];
    return by.replace('$&', found);
  });
}
