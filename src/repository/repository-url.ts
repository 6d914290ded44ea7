// Checks the syntax of a repository's URL, its branch and the followed directory. Opens nothing.
import { isAbsolute, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isLoopback } from '../base/http-request.ts';
import { SourceError } from './source.ts';

const NO_BRANCH = /^$|^[-/]|\/$|\/\/|\.\.|@\{|(^|\/)\.|\.(lock)?(\/|$)|[\0-\x20\x7f~^:?*[\\]/;

/** How a repository is reached. */
export type RepositoryUrl =
  | { readonly kind: 'local'; readonly path: string }
  | { readonly kind: 'http'; readonly url: string }
  | { readonly kind: 'ssh'; readonly url: string };

/**
 * Returns how a repository is reached: a path or `file://` is local (and made absolute), `http(s)://`, `ssh://` and
 * `user@host:path` are remote. Throws SourceError for anything else, and for a URL that holds a password or may hold
 * one; its message never quotes it.
 */
export function parseRepositoryUrl(text: string): RepositoryUrl {
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):\/\//.exec(text)?.[1]?.toLowerCase();
  if (scheme === 'http' || scheme === 'https') return { kind: 'http', url: checkHttpUrl(text) };
  if (scheme === 'ssh' || scheme === 'git+ssh') return { kind: 'ssh', url: checkSshUrl(text) };
  if (scheme === 'file') return { kind: 'local', path: pathOfFileUrl(text) };
  if (scheme !== undefined) throw noRepository(text);
  if (text === '') throw new SourceError('the URL of the repository is empty: give a path or a URL');
  if (isScpLike(text)) return { kind: 'ssh', url: checkScpUrl(text) };
  return { kind: 'local', path: resolve(text) };
}

/** Matches `git@host:path`, as git reads it: a colon before the first slash. */
function isScpLike(text: string): boolean {
  if (isAbsolute(text) || !/^[^/]+:/.test(text) || /^[A-Za-z]:\\/.test(text)) return false;
  // An option of ssh, or one of git's remote helpers: both could start any program.
  if (text.startsWith('-') || /^[^/]+::/.test(text)) throw noRepository(text);
  return true;
}

/** The text that git would take for the path may be a password, and would be in every message. */
function checkScpUrl(text: string): string {
  if (/^https?:/i.test(text)) throw noRepository(text);
  if (/^[^@]*:[^@]*@/.test(text)) {
    throw new SourceError(
      `"${shown(text)}" is written with a password, which ssh does not take: use a key (a path with "@" is written as ssh://host/path)`,
    );
  }
  if (/[?#]/.test(text)) throw withQuery(text);
  return text;
}

/** Returns the URL as the prefix of requests. */
function checkHttpUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null) throw noRepository(text);
  if (url.username !== '' || url.password !== '') {
    throw new SourceError(
      `"${shown(text)}" is written with a user or password before the host, where logs would show it: ` +
        'write the URL without, and name files as repository.usernameFile and repository.passwordFile',
    );
  }
  if (url.search !== '' || url.hash !== '') throw withQuery(text);
  return url.href.replace(/\/+$/, '');
}

function checkSshUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null || url.hostname === '' || url.hostname.startsWith('-')) throw noRepository(text);
  if (url.password !== '') {
    throw new SourceError(`"${shown(text)}" is written with a password, which ssh does not take: use a key`);
  }
  if (url.search !== '' || url.hash !== '') throw withQuery(text);
  return text;
}

function noRepository(text: string): SourceError {
  return new SourceError(
    `"${shown(text)}" is no repository that can be followed: use a path, file://, https:// or ssh://`,
  );
}

/** The query may be a token, and would be in every message. */
function withQuery(text: string): SourceError {
  return new SourceError(`"${shown(text)}" is no repository that can be followed: write the URL without "?" and "#"`);
}

/** Returns the URL without its user part and query: both may be secret. */
function shown(text: string): string {
  const [, scheme = '', rest = ''] = /^([A-Za-z][A-Za-z0-9+.-]*:\/*)?(.*)$/s.exec(text) ?? [];
  const place = rest.replace(/^.*@/s, '').replace(/[?#].*$/s, '');
  // Without a scheme, that is a user's name and the beginning of a password.
  return scheme.includes('/') || !text.includes('@') ? `${scheme}${place}` : place;
}

function pathOfFileUrl(text: string): string {
  try {
    return fileURLToPath(text);
  } catch (error) {
    throw new SourceError(`"${shown(text)}" names no file of this machine: write file:///path/to/repository`, {
      cause: error,
    });
  }
}

/** Throws SourceError for a name that git would refuse; see git-check-ref-format. */
export function checkBranch(branch: string): void {
  if (NO_BRANCH.test(branch))
    throw new SourceError(`"${branch}" is no name of a branch: write it as "git branch" lists it`);
}

/**
 * Returns the path segments from the root to a directory; none for the root. Throws SourceError if they leave the root.
 */
export function directorySteps(directory: string): readonly string[] {
  const steps = directory.split('/').filter((step) => step !== '' && step !== '.');
  if (directory.startsWith('/') || steps.includes('..')) {
    throw new SourceError(
      `"${directory}" is no directory of the repository: write a path from its root, such as "stacks"`,
    );
  }
  return steps;
}

/** Throws SourceError if a name and password would be sent unencrypted. */
export function checkEncryption(url: string, hasSecret: boolean): void {
  const { protocol, hostname } = new URL(url);
  if (protocol === 'http:' && hasSecret && !isLoopback(hostname)) {
    throw new SourceError(
      `"${url}" would carry the password unencrypted: write https:// (repository.caFile names the authority of a private certificate)`,
    );
  }
}
