// Keeps a second process out of a directory: whoever listens on a Unix socket in it has it. A killed process stops
// listening by itself, so that no lock outlives its owner; no process id is ever trusted.
//
// Everybody listens first, on a socket of a name of its own, and looks for others then: of two that start at the same
// moment at least one sees the other. Whoever sees another steps back, so there may be none for a while, never two.
import { randomBytes, randomInt } from 'node:crypto';
import { chmod, lstat, readdir, unlink } from 'node:fs/promises';
import { createConnection, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { codeOf, StoreError } from './store-error.ts';

/** What `sockaddr_un` holds, less the closing zero. */
const SOCKET_PATH_BYTES_MAX = process.platform === 'linux' ? 107 : 103;
const SOCKET_MODE = 0o600;
const LOCK_NAME = /^lock-[0-9a-f]{8}$/;
const ATTEMPTS_MAX = 12;
const PAUSE_MS = 25;
const ANSWER_MS_MAX = 1000;
const ANSWER_LENGTH_MAX = 32;
const ONE_CONTROLLER =
  'Two controllers must not share it: stop the other one, or give this one a directory of its own.';

export interface DirectoryLock {
  /** Lets go of the directory. */
  release(): Promise<void>;
}

/**
 * Takes a directory for this process. Throws StoreError while another has it, or where no socket can be made in it.
 * `advice` says what to do about another process.
 */
export async function lockDirectory(directory: string, advice: string = ONE_CONTROLLER): Promise<DirectoryLock> {
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    const lock = await tryToLock(directory, advice);
    if (lock !== undefined) return lock;
    await sleep(randomInt(PAUSE_MS * attempt));
  }
  throw new StoreError(`Other processes are starting on ${directory} at the same moment. Start one of them only.`);
}

/** Returns undefined where another process tries at the same moment. */
async function tryToLock(directory: string, advice: string): Promise<DirectoryLock | undefined> {
  const name = `lock-${randomBytes(4).toString('hex')}`;
  refuseLongPath(directory, name);
  const owner = { isHolding: false };
  const server = await listen(join(directory, name), owner);
  try {
    owner.isHolding = await isAlone(directory, name, advice);
  } finally {
    if (!owner.isHolding) await stop(server);
  }
  return owner.isHolding ? { release: () => stop(server) } : undefined;
}

function refuseLongPath(directory: string, name: string): void {
  const excess = Buffer.byteLength(join(directory, name)) - SOCKET_PATH_BYTES_MAX;
  if (excess <= 0) return;
  throw new StoreError(
    `The path of the store's directory is ${excess} bytes too long for the Unix socket that locks it: ${directory}. ` +
      'Move it to a shorter path, such as /var/lib/treeline.',
  );
}

function listen(path: string, owner: { readonly isHolding: boolean }): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => {
      socket.on('error', () => socket.destroy());
      // Destroyed at once, so that nobody who asks and then hangs can hold up a release.
      socket.end(`${owner.isHolding ? 'holding' : 'trying'} ${process.pid}\n`, () => socket.destroy());
    });
    server.once('error', reject);
    server.listen(path, () => {
      server.unref();
      // Made with the mode that the umask leaves.
      chmod(path, SOCKET_MODE).then(() => resolve(server), reject);
    });
  });
}

/** Also removes the socket's file. */
function stop(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
  });
}

/** Tells whether nobody but `name` listens, and removes what the dead have left. Throws StoreError where one holds. */
async function isAlone(directory: string, name: string, advice: string): Promise<boolean> {
  const names = await readdir(directory);
  for (const other of names.filter((each) => LOCK_NAME.test(each) && each !== name)) {
    const path = join(directory, other);
    const listener = await ask(path);
    if (listener?.isHolding === true)
      throw new StoreError(`The store in ${directory} is in use by ${listener.who}. ${advice}`);
    if (listener !== undefined) return false;
    await removeSocket(path);
  }
  // Another process may have asked in the moment before this one listened, and have taken it for dead.
  return (await readdir(directory)).includes(name);
}

async function removeSocket(path: string): Promise<void> {
  try {
    if (!(await lstat(path)).isSocket()) {
      throw new StoreError(`${path} has the name of a socket that locks the store, and is none. Move it away.`);
    }
    await unlink(path);
  } catch (error) {
    // Others that start now tidy up too.
    if (codeOf(error) !== 'ENOENT') throw error;
  }
}

interface Listener {
  readonly isHolding: boolean;
  /** In words. */
  readonly who: string;
}

/** Returns who listens on a socket, or undefined where nobody does. Whoever stays silent counts as holding. */
function ask(path: string): Promise<Listener | undefined> {
  return new Promise((resolve, reject) => {
    let answer = '';
    const socket = createConnection(path);
    socket.setEncoding('latin1').setTimeout(ANSWER_MS_MAX, () => {
      resolve({ isHolding: true, who: 'another process' });
      socket.destroy();
    });
    socket.on('data', (text) => {
      answer = `${answer}${text}`.slice(0, ANSWER_LENGTH_MAX);
    });
    socket.on('error', (error) => {
      const code = codeOf(error);
      if (code === 'ECONNREFUSED' || code === 'ENOENT' || code === 'ENOTSOCK') resolve(undefined);
      else if (code === 'EAGAIN' || code === 'ECONNRESET') resolve({ isHolding: false, who: 'another process' });
      else reject(error);
    });
    socket.on('close', () => {
      const pid = /^(?:holding|trying) (\d+)\n$/.exec(answer)?.[1] ?? 'of unknown id';
      resolve({ isHolding: answer.startsWith('holding'), who: `process ${pid}` });
    });
  });
}
