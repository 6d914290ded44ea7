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
 * `user@host:path` are remote. Throws SourceError for anything else, and for a URL that may contain a password, which
 * the message never quotes.
 */
export function parseRepositoryUrl(text: string): RepositoryUrl {
  if (text === '') throw new SourceError('the URL of the repository is empty: give a path or a URL');
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):\/\//.exec(text)?.[1]?.toLowerCase();
  if (scheme === 'file') return { kind: 'local', path: pathOfFileUrl(text) };
  if (scheme === undefined && !isScpLike(text)) return { kind: 'local', path: resolve(text) };
  const kind = scheme === 'http' || scheme === 'https' ? 'http' : 'ssh';
  const url = scheme === undefined ? undefined : parseUrl(text, scheme);
  // Git would interpret a password as the path, which every message contains.
  const hasPassword = url === undefined ? /^[^@]*:[^@]*@/.test(text) : url.password !== '';
  if (hasPassword || (kind === 'http' && url?.username !== '')) throw withPassword(text, kind);
  // The query may contain a token.
  if (/[?#]/.test(text)) {
    throw new SourceError(
      `"${shown(text)}" is not a repository that can be followed: write the URL without "?" and "#"`,
    );
  }
  // An http URL is the prefix of requests.
  return { kind, url: kind === 'http' ? (url?.href ?? '').replace(/\/+$/, '') : text };
}

/** Returns true for `git@host:path`. Like git, looks for a colon before the first slash. */
function isScpLike(text: string): boolean {
  if (isAbsolute(text) || !/^[^/]+:/.test(text) || /^[A-Za-z]:\\/.test(text)) return false;
  // An option of ssh or a remote helper of git could start any program. In `http:` URLs, a slash is missing.
  if (/^-|^[^/]+::|^https?:/i.test(text)) throw noRepository(text);
  return true;
}

function parseUrl(text: string, scheme: string): URL {
  const url = URL.parse(text);
  const isKnown = ['http', 'https', 'ssh', 'git+ssh'].includes(scheme);
  if (!isKnown || url === null || url.hostname === '' || url.hostname.startsWith('-')) throw noRepository(text);
  return url;
}

function withPassword(text: string, kind: 'http' | 'ssh'): SourceError {
  const advice =
    kind === 'http'
      ? 'a user or password before the host, where logs would show it: write the URL without, and name files as ' +
        'repository.usernameFile and repository.passwordFile'
      : 'a password, which ssh does not take: use a key (a path with "@" is written as ssh://host/path)';
  return new SourceError(`"${shown(text)}" is written with ${advice}`);
}

function noRepository(text: string): SourceError {
  return new SourceError(
    `"${shown(text)}" is not a repository that can be followed: use a path, file://, https:// or ssh://`,
  );
}

/** Returns the URL without its user part and query, which may be secret. */
function shown(text: string): string {
  const [, scheme = '', rest = ''] = /^([A-Za-z][A-Za-z0-9+.-]*:\/*)?(.*)$/s.exec(text) ?? [];
  const place = rest.replace(/^.*@/s, '').replace(/[?#].*$/s, '');
  // Without a scheme, the part before `:` may be a user name and the beginning of a password.
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

/** Throws SourceError for a branch name that git would refuse; see git-check-ref-format. */
export function checkBranch(branch: string): void {
  if (NO_BRANCH.test(branch))
    throw new SourceError(`"${branch}" is not a branch name: write it as "git branch" lists it`);
}

/**
 * Returns the path segments from the root to a directory; none for the root. Throws SourceError if they leave the root.
 */
export function directorySteps(directory: string): readonly string[] {
  const steps = directory.split('/').filter((step) => step !== '' && step !== '.');
  if (directory.startsWith('/') || steps.includes('..')) {
    throw new SourceError(
      `"${directory}" cannot be a directory of the repository: write a path from its root, such as "stacks"`,
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
