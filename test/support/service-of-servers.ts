// A service for tests of the provider "http": keeps servers in memory, verifies signatures, and may work for long or misbehave.
import { createHmac } from 'node:crypto';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { isMap, type JsonMap } from '../../src/model/json.ts';
import { listenInTest } from './listen-in-test.ts';

/** The secret of the service. */
export const SERVICE_SECRET = 'a secret of the service';

/** One request, and what may be done instead of answering it. */
export interface ServiceRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
  readonly response: ServerResponse;
}

/** A running service. */
export interface ServiceOfServers {
  readonly url: string;
  readonly origin: string;
  readonly servers: Map<string, JsonMap>;
  readonly requests: ServiceRequest[];
  /** Answers 202 that many times before the answer of a call is there. */
  polls: number;
  /** Answers in the service's place if it returns true. */
  script: (request: ServiceRequest) => boolean;
}

/** Starts a service, which does not outlive the running test. */
export async function startService(): Promise<ServiceOfServers> {
  const jobs = new Map<string, { left: number; answer: JsonMap }>();
  const server = http.createServer((request, response) => void handle(request, response));
  const origin = `http://127.0.0.1:${await listenInTest(server)}`;
  const service: ServiceOfServers = {
    url: `${origin}/calls?site=lab`,
    origin,
    servers: new Map(),
    requests: [],
    polls: 0,
    script: () => false,
  };

  async function handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '', headers } = incoming;
    const request = { method, url, headers, body: await text(incoming), response };
    service.requests.push(request);
    if (service.script(request)) return;
    if (!isGenuine(request)) return void response.writeHead(401).end('the signature is wrong');
    if (method === 'GET') return poll(url, response);
    const answer = answerTo(request.body, service.servers);
    if (answer === undefined) return void response.writeHead(400).end('this call is not known');
    if (service.polls === 0) return void response.writeHead(200).end(JSON.stringify(answer));
    const place = `/jobs/${jobs.size + 1}`;
    jobs.set(place, { left: service.polls, answer });
    response.writeHead(202, { location: place, 'retry-after': '1' }).end();
  }

  function poll(place: string, response: ServerResponse): void {
    const job = jobs.get(place);
    if (job === undefined) return void response.writeHead(404).end('no such job');
    job.left -= 1;
    if (job.left > 0) response.writeHead(202, { 'retry-after': '1' }).end();
    else response.writeHead(200).end(JSON.stringify(job.answer));
  }
  return service;
}

/** Returns true if the request is signed with the secret, and not older than five minutes. */
function isGenuine({ method, url, headers, body }: ServiceRequest): boolean {
  const time = String(headers['treeline-timestamp']);
  const expected = createHmac('sha256', SERVICE_SECRET).update([time, method, url, body].join('\n')).digest('hex');
  return headers['treeline-signature'] === `sha256=${expected}` && Math.abs(Date.now() / 1000 - Number(time)) < 300;
}

function answerTo(body: string, servers: Map<string, JsonMap>): JsonMap | undefined {
  const call = parse(body);
  if (!isMap(call) || call.version !== 1 || typeof call.resource !== 'string' || !isMap(call.properties))
    return undefined;
  const { operation, resource, properties } = call;
  const isThere = servers.has(resource);
  if (operation === 'delete') servers.delete(resource);
  else if (operation === 'create' || operation === 'update') {
    if (isThere === (operation === 'update')) servers.set(resource, properties);
  } else if (operation !== 'check') return undefined;
  const observed = servers.get(resource);
  return observed === undefined ? { outcome: 'absent' } : { outcome: 'done', observed };
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
