// Serves the page on the management listener, which requires no certificate: only to browsers of this machine, and only
// with the reads that the page needs. authorize.ts refuses it every right. ARCHITECTURE.md, "Page".
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { ServiceError } from '../model/service-error.ts';
import type { Settings } from '../model/settings.ts';
import { PAGE, PAGE_API, servePage } from '../page/serve-page.ts';
import { presentPage } from './peer.ts';

/** The reads of the page. None of them returns a client's fingerprint. */
const READS = [
  /^\/operations\/(?:status|recovery|held|clients|delivered|events|controller|providers)\/?$/,
  /^\/operations\/(?:servers(?:\/[^/]+)?|commits(?:\/[^/]+)?|explain\/[^/]+)\/?$/,
  /^\/stacks\/instances\/[^/]+\/(?:why|events)\/?$/,
  /^\/events\/?$/,
];
const LOOPBACK = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/i;

/**
 * Returns whether a Host header names this machine. Any other name may belong to an attacker who resolves it to this
 * address, so that pages of that name could read this one (DNS rebinding).
 */
export function isLoopbackName(host: string): boolean {
  return LOOPBACK.test(host);
}

/** Returns whether a request of the management listener is for the page. */
export function isForPage({ url = '/' }: IncomingMessage): boolean {
  return /^\/ui(?:[/?]|$)/.test(url);
}

/** Returns the address of the page on the management listener; null if the page is off there. */
export function dashboardAddress({ host, port, dashboard }: Settings['management']): string | null {
  return dashboard ? `http://${host.includes(':') ? `[${host}]` : host}:${port}${PAGE}` : null;
}

/**
 * Returns the listener for requests of the page; it throws ServiceError for others. `handler` answers reads of the
 * interface.
 */
export function createDashboard(handler: RequestListener): RequestListener {
  const serve = servePage(PAGE_API);
  return (request, response) => {
    refuseStrangers(request);
    if (request.url?.startsWith(`${PAGE_API}/`)) readData(request, response, handler);
    else void serve(request, response, () => undefined);
  };
}

function refuseStrangers({ method, headers }: IncomingMessage): void {
  const { host = '', origin } = headers;
  if (!isLoopbackName(host)) {
    const message = `The page is only for this machine: open it as localhost or 127.0.0.1, not as "${host}"`;
    throw new ServiceError('not_allowed', message);
  }
  if (origin !== undefined && origin.toLowerCase() !== `http://${host}`.toLowerCase().replace(/:80$/, '')) {
    throw new ServiceError('not_allowed', `This request comes from a page of ${origin}, which may not read here`);
  }
  if (method !== 'GET' && method !== 'HEAD') {
    throw new ServiceError('method_not_allowed', 'Only GET and HEAD are possible here');
  }
}

function readData(request: IncomingMessage, response: ServerResponse, handler: RequestListener): void {
  const site = request.headers['sec-fetch-site'] ?? 'same-origin';
  if (site !== 'same-origin' && site !== 'none') {
    throw new ServiceError('not_allowed', 'This request comes from a page of another site, which may not read here');
  }
  const target = request.url?.slice(PAGE_API.length) ?? '/';
  const [path = ''] = target.split('?', 1);
  if (!READS.some((pattern) => pattern.test(path))) {
    throw new ServiceError('not_found', `The page reads nothing at ${target}`);
  }
  presentPage(request);
  request.url = target;
  handler(request, response);
}
