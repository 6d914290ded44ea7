// Describes an error of the operating system for the person who called a command: its cause, its place and what to do.

interface SystemError extends Error {
  readonly code: string;
  readonly path?: string;
  readonly address?: string;
  readonly port?: number;
}

type Describe = (error: SystemError) => string;

const BY_CODE: Readonly<Record<string, Describe>> = {
  EADDRINUSE: (error) => `${addressOf(error)} is in use by another program: stop that one, or set another port`,
  EADDRNOTAVAIL: (error) => `${addressOf(error)} is no address of this machine: set another host`,
  EACCES: (error) =>
    error.port === undefined
      ? `${pathOf(error)} cannot be used: permission denied. Choose another place, or change its owner or mode`
      : `${addressOf(error)} may not be listened on by this user: set a port above 1023`,
  EPERM: (error) => `${pathOf(error)} cannot be changed: the system does not permit it. Choose another place`,
  EROFS: (error) => `${pathOf(error)} cannot be written: the file system is read-only. Choose another place`,
  ENOENT: (error) => `${pathOf(error)} is not there: make its folder first, or check the path`,
  ENOTDIR: (error) => `${pathOf(error)} cannot be used: a part of this path is a file and no folder`,
  EISDIR: (error) => `${pathOf(error)} is a folder, and a file is needed`,
  ENOSPC: (error) => `${pathOf(error)} cannot be written: no space is left on its disk`,
  EDQUOT: (error) => `${pathOf(error)} cannot be written: the quota of this user is used up`,
  EMFILE: () => 'too many files are open in this process: raise the limit (ulimit -n)',
};

/** Returns one line for an error of the operating system, or undefined for any other error. */
export function describeSystemError(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error) || !('syscall' in error)) return undefined;
  const system = error as SystemError;
  return Object.hasOwn(BY_CODE, system.code) ? BY_CODE[system.code]?.(system) : system.message;
}

function addressOf({ address = 'the address', port }: SystemError): string {
  return port === undefined ? address : `${address}:${port}`;
}

function pathOf({ path }: SystemError): string {
  return path ?? 'a file';
}
