// Serves the page: the files of browser/, for every address below /ui/. The files contain no data: the page requests it
// over the REST interface. ARCHITECTURE.md, "Page".
import { readdirSync, readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { shortDigest } from '../base/short-digest.ts';
import { ServiceError } from '../model/service-error.ts';

/** The address of the page. */
export const PAGE = '/ui/';
/** The base path of the data of a page on a management listener. */
export const PAGE_API = '/ui/api';

/**
 * Returns a sentence with the addresses of the page. `dashboard`: its address without a certificate; null if off.
 */
export function pageWords(dashboard: string | null): string {
  const withCertificate = `The page is at ${PAGE} of the API listener, with a client certificate`;
  if (dashboard !== null)
    return `${withCertificate}; on the machine of the controller also at ${dashboard}, without one`;
  const enable = 'set "management: { dashboard: true }" in the settings and start the controller again';
  return `${withCertificate}; to see it without one on the machine of the controller, ${enable}`;
}

const FILES = join(import.meta.dirname, 'browser');
const START = 'start.html';
/** The packages that a browser loads, by import name. */
const PACKAGES = ['preact', 'htm'];
const IMPORTS = new RegExp(` from ['"](${PACKAGES.join('|')})['"]`, 'g');
/** The addresses of views; see browser/addresses.js. */
const VIEWS = /^(?:(?:instances|servers|changes)\/[^/]+\/?|(?:servers|changes|approvals|proxies|events)\/?)?$/;

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

const POLICY = [
  ...["default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "img-src 'self'"],
  ...["base-uri 'none'", "frame-ancestors 'none'", "form-action 'none'", "require-trusted-types-for 'script'"],
].join('; ');

/** The headers of every answer. They forbid framing, guessing of types, and referrers to other sites. */
const HEADERS = {
  'Content-Security-Policy': POLICY,
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cache-Control': 'no-cache',
  Vary: 'Accept-Encoding',
};

/** A file of the page in the form in which it is sent. */
export interface PageFile {
  readonly type: string;
  readonly etag: string;
  readonly bytes: Buffer;
  readonly packed: Buffer;
}

let loaded: ReadonlyMap<string, PageFile> | undefined;

/** Returns the files by name, read once per process. */
export function pageFiles(): ReadonlyMap<string, PageFile> {
  loaded ??= loadFiles();
  return loaded;
}

function loadFiles(): ReadonlyMap<string, PageFile> {
  const files = new Map<string, PageFile>();
  for (const name of readdirSync(FILES)) files.set(name, asFile(name, readFileSync(join(FILES, name), 'utf8')));
  for (const name of PACKAGES) {
    const file = `${name}.js`;
    files.set(file, asFile(file, readFileSync(fileURLToPath(import.meta.resolve(name)), 'utf8')));
  }
  const start = files.get(START);
  const html = start?.bytes.toString().replace('data-api=""', `data-api="${PAGE_API}"`) ?? '';
  return files.set(PAGE_API, asFile(START, html));
}

function asFile(name: string, text: string): PageFile {
  // Browsers import files, not packages. An import map would need an inline script, which the policy forbids.
  const bytes = Buffer.from(text.replaceAll(IMPORTS, " from './$1.js'"));
  const type = TYPES[extname(name)] ?? 'application/octet-stream';
  return { type, etag: `"${shortDigest(bytes)}"`, bytes, packed: gzipSync(bytes) };
}

/** Answers requests below /ui/, and passes all others on. */
type PageStep = (request: IncomingMessage, response: ServerResponse, next: () => void) => void;

/** Returns the step that answers everything below /ui/. `start`: the file of its views. */
export function servePage(start: typeof START | typeof PAGE_API = START): PageStep {
  return (request, response, next) => {
    const [path = ''] = (request.url ?? '/').split('?', 1);
    if (path === PAGE.slice(0, -1)) redirect(response);
    else if (path.startsWith(PAGE)) answer(request, response, fileAt(path.slice(PAGE.length), start));
    else next();
  };
}

function redirect(response: ServerResponse): void {
  response.writeHead(308, { ...HEADERS, Location: PAGE, 'Content-Length': 0 }).end();
}

function fileAt(name: string, start: string): PageFile {
  const file = pageFiles().get(VIEWS.test(name) ? start : name);
  if (file !== undefined && name !== START && !name.startsWith('/')) return file;
  throw new ServiceError('not_found', `The page has no "${name}"; it begins at ${PAGE}`);
}

function answer(request: IncomingMessage, response: ServerResponse, { type, etag, bytes, packed }: PageFile): void {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.setHeader('Allow', 'GET, HEAD');
    throw new ServiceError('method_not_allowed', 'The page is read-only');
  }
  if (request.headers['if-none-match'] === etag) {
    response.writeHead(304, { ...HEADERS, ETag: etag }).end();
    return;
  }
  const isPacked = /\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''));
  const body = isPacked ? packed : bytes;
  const encoding = isPacked ? { 'Content-Encoding': 'gzip' } : {};
  const head = { ...HEADERS, ...encoding, ETag: etag, 'Content-Type': type, 'Content-Length': body.length };
  response.writeHead(200, head);
  response.end(request.method === 'HEAD' ? undefined : body);
}
