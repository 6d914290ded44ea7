// A small Debian in a folder, made of its packages, and processes in it: for tests of what is installed on a whole machine. It has the
// settings of this machine's apt and npm, and trusts the authorities that this machine trusts.
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type RunOptions, run } from './command-line.ts';

const SOURCES = ['/etc/apt/sources.list.d/debian.sources', '/etc/apt/sources.list'];
const AUTHORITIES = '/etc/ssl/certs/ca-certificates.crt';
/** On a slow line. */
const TOOL_MS_MAX = 300_000;

/** What is missing here to make such a root; empty: nothing. */
export function missingFor(...programs: readonly string[]): string {
  if (process.getuid?.() !== 0) return ' (needs root, and is skipped)';
  const missing = ['mmdebstrap', 'unshare', ...programs].filter(
    (program) => spawnSync('which', [program]).status !== 0,
  );
  return missing.length === 0 ? '' : ` (needs ${missing.join(', ')}, and is skipped)`;
}

/** Runs a program of this machine, and resolves with what it printed. Throws with all of that where it fails. */
export async function runTool(file: string, args: readonly string[], options: RunOptions = {}): Promise<string> {
  const env = { DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C.UTF-8', ...options.env };
  const { code, stdout, stderr } = await run(file, args, { timeoutMs: TOOL_MS_MAX, ...options, env });
  if (code !== 0) throw new Error(`${file} ${args.join(' ')} ended with ${code}:\n${stdout}${stderr}`);
  return stdout;
}

/** Makes a root with what is essential, apt, and the packages that are named, as an archive. It keeps the lists of apt. */
export async function makeDebianRoot(archive: string, ...packages: readonly string[]): Promise<void> {
  const settings = `${archive}.conf`;
  writeFileSync(settings, ((await runTool('apt-config', ['dump'])).match(/^Acquire::.*;$/gm) ?? []).join('\n'));
  const [, suite = ''] = /^VERSION_CODENAME=(.*)$/m.exec(readFileSync('/etc/os-release', 'utf8')) ?? [];
  const sources = SOURCES.find(existsSync) ?? '';
  await runTool('mmdebstrap', [
    ...['--quiet', '--mode=root', '--variant=minbase', '--skip=cleanup/apt/lists', `--aptopt=${settings}`],
    `--include=${['ca-certificates', ...packages].join(',')}`,
    `--customize-hook=copy-in ${AUTHORITIES} /etc/ssl/certs`,
    ...[suite, archive, sources],
  ]);
}

/** What a process in a root may see and do beside that. */
export interface Confinement {
  /** Names or numbers that the root knows. */
  readonly user: string;
  /** Nothing may be written but `/tmp` and what is mounted for that. */
  readonly isReadOnly?: boolean;
  /** Files and folders of this machine, by their places in the root. */
  readonly mounts?: Readonly<Record<string, { readonly from: string; readonly isReadOnly: boolean }>>;
  readonly environment?: Readonly<Record<string, string>>;
  readonly directory?: string;
}

/** In its own mount namespace: mounts, then becomes the program. The name of the program is the last of the script's own arguments. */
const ENTER = `set -e
root=$1 read_only=$2; shift 2
mount --bind "$root" "$root"
mount --rbind /dev "$root/dev"
mount -t proc proc "$root/proc"
mount -t tmpfs tmpfs "$root/tmp"
while [ "$1" != -- ]; do
  mount --bind "$1" "$root$2"
  if [ "$3" = true ]; then mount -o remount,bind,ro "$root$2"; fi
  shift 3
done
shift
if [ "$read_only" = true ]; then mount -o remount,bind,ro "$root"; fi
exec chroot "$root" "$@"`;

/**
 * Returns the program and arguments that run a command in a root, as the process itself: as root, or as `confinement` says, then without
 * capabilities and without a way to get any.
 */
export function inRoot(
  root: string,
  command: readonly string[],
  confinement?: Confinement,
): readonly [file: string, args: readonly string[]] {
  const { mounts = {}, isReadOnly = false } = confinement ?? {};
  const places = Object.entries(mounts).flatMap(([to, { from, isReadOnly: ro }]) => [from, to, String(ro)]);
  const enter = [
    '--mount',
    '--propagation=private',
    'sh',
    '-c',
    ENTER,
    'sh',
    root,
    String(isReadOnly),
    ...places,
    '--',
  ];
  return ['unshare', [...enter, ...(confinement === undefined ? command : confined(command, confinement))]];
}

function confined(
  command: readonly string[],
  { user, environment = {}, directory = '/' }: Confinement,
): readonly string[] {
  const [name = '', group = name] = user.split(':');
  const variables = Object.entries(environment).map(([key, value]) => `${key}=${value}`);
  return [
    ...['setpriv', `--reuid=${name}`, `--regid=${group}`, '--clear-groups', '--no-new-privs'],
    ...['--bounding-set=-all', '--inh-caps=-all'],
    ...['env', '--ignore-environment', `--chdir=${directory}`, ...variables, ...command],
  ];
}

/** Lets programs in a root find other machines as this one does. */
export function connectRoot(root: string): void {
  copyFileSync('/etc/resolv.conf', join(root, 'etc/resolv.conf'));
  if (existsSync('/etc/hosts')) copyFileSync('/etc/hosts', join(root, 'etc/hosts'));
}
