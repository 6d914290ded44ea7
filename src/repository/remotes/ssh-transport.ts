// Reaches a repository over ssh: runs Git's service on the host, and speaks with it. ~/.ssh configures keys, known hosts and
// jumps as for any other use. No git runs here for that, so none of git's own settings count.

import { reasonOf } from '../../base/wording.ts';
import { inherit } from '../git/git-environment.ts';
import { GitFailure, type GitOrder, streamGit } from '../git/git-process.ts';
import { SourceError } from '../source.ts';
import { decodePercent } from './http-access.ts';
import { FLUSH, LENGTH_DIGITS, packetLength } from './packet-line.ts';
import { SentSecrets } from './sent-secrets.ts';
import { NOT_ALLOWED, sshFailure } from './ssh-failure.ts';
import {
  LIST_BYTES_MAX,
  NotAllowedError,
  readRequest,
  type Transport,
  type TransportAnswer,
  type TransportRequest,
  wrapAnswer,
} from './transport.ts';

interface SshTransportOptions {
  /** `ssh://…` or `user@host:path`; see repository-url.ts. */
  readonly url: string;
  /** The maximum size of an answer, in bytes. */
  readonly answerBytesMax: number;
  /** Limit for connecting, and for silence of the server, in milliseconds. */
  readonly silenceMs: number;
}

type Body = AsyncIterable<Uint8Array>;

/** What is said once the service has advertised itself. */
interface Talk {
  readonly body: Uint8Array;
  readonly sending: TransportRequest['sending'];
  /** Reads the answer. */
  readonly read: (answer: Body) => Promise<unknown>;
}

/** A connection to a service that has not got a request yet. */
interface Conversation {
  readonly service: string;
  /** What it sends first. */
  readonly advertisement: Promise<Buffer>;
  /** Sends a request and returns what reading its answer results in; null: sends none, and the service ends. */
  say(talk: Talk | null): Promise<unknown>;
  /** Ends it at once. */
  end(): void;
}

/** A name that cannot be registered: no request is ever sent to it. */
const ADDRESS = 'http://ssh.invalid/repository';
/** Lets ssh find an agent or a ticket. */
const INHERITED: readonly string[] = ['SSH_AUTH_SOCK', 'KRB5CCNAME'];
const ALIVE_CHECKS = 4;
/** How long a service may take to end that gets no request. */
const REST_MS = 2000;

/** Returns the transport. Starts no ssh before the first request. Throws SourceError if ssh would take the URL for options. */
export function createSshTransport(options: SshTransportOptions): Transport {
  return new SshTransport(options);
}

class SshTransport implements Transport {
  readonly url = ADDRESS;
  readonly name: string;
  readonly secrets = new SentSecrets();
  readonly #options: SshTransportOptions;
  readonly #address: SshAddress;
  /** Has advertised a service, and waits for a request to it. */
  #open: Conversation | undefined;

  constructor(options: SshTransportOptions) {
    this.name = options.url;
    this.#options = options;
    this.#address = parseAddress(options.url);
  }

  async request(request: TransportRequest): Promise<TransportAnswer> {
    const asked = readRequest(ADDRESS, request);
    const body = asked.isList ? await this.#advertise(asked.service, request) : [await this.stream(request, readAll)];
    return wrapAnswer(asked, body);
  }

  async stream<Value>(request: TransportRequest, work: (body: Body) => Promise<Value>): Promise<Value> {
    const { service } = readRequest(ADDRESS, request);
    const conversation = this.#open?.service === service ? this.#open : this.#begin(service, request.signal);
    this.#open = undefined;
    const { body, sending } = request;
    return (await conversation.say({ body, sending, read: work })) as Value;
  }

  async rest(): Promise<void> {
    const open = this.#open;
    this.#open = undefined;
    if (open === undefined) return;
    const late = setTimeout(open.end, REST_MS);
    // What a service says that got no request is of no interest.
    await open.say(null).catch(() => undefined);
    clearTimeout(late);
  }

  async #advertise(service: string, { signal }: TransportRequest): Promise<Uint8Array[]> {
    await this.rest();
    const conversation = this.#begin(service, signal);
    const advertisement = await conversation.advertisement;
    this.#open = conversation;
    return [advertisement];
  }

  #begin(service: string, signal: AbortSignal): Conversation {
    const advertised = Promise.withResolvers<Buffer>();
    const next = Promise.withResolvers<Talk | null>();
    const ending = new AbortController();
    const done = service === 'git-upload-pack' ? 'read' : 'pushed to';
    const signals = AbortSignal.any([signal, ending.signal]);
    const order = { ...this.#orderFor(service), input: readInput(next.promise), signal: signals };
    const ended = streamGit(order, async (output) => {
      const pieces = output[Symbol.asyncIterator]();
      const { advertisement, rest } = await readAdvertisement(pieces).catch((error: unknown) => {
        if (error instanceof SourceError || order.signal.aborted) throw error;
        throw new SourceError(`"${order.name}" cannot be ${done}: ${reasonOf(error)}`, { cause: error });
      });
      advertised.resolve(advertisement);
      const talk = await next.promise;
      return await (talk?.read ?? readAll)(joined(rest, pieces));
    })
      .catch((error: unknown) => {
        throw explainFailure(error, { name: order.name, done });
      })
      .finally(() => next.resolve(null));
    ended.catch(advertised.reject);
    // Whoever says something gets the same error.
    advertised.promise.catch(() => undefined);
    return {
      service,
      advertisement: advertised.promise,
      async say(talk) {
        await advertised.promise;
        talk?.sending?.();
        next.resolve(talk);
        return await ended;
      },
      end: () => ending.abort(new SourceError(`"${order.name}" does not end`)),
    };
  }

  #orderFor(service: string): Pick<GitOrder, 'program' | 'args' | 'environment' | 'name' | 'answerBytesMax'> {
    const { answerBytesMax, silenceMs } = this.#options;
    const { host, port, path } = this.#address;
    const seconds = Math.max(1, Math.ceil(silenceMs / 1000));
    const options = [
      'BatchMode=yes',
      `ConnectTimeout=${seconds}`,
      `ServerAliveInterval=${Math.ceil(seconds / ALIVE_CHECKS)}`,
      `ServerAliveCountMax=${ALIVE_CHECKS}`,
      // A shared connection would outlive this one.
      'ControlMaster=no',
    ].flatMap((option) => ['-o', option]);
    // The variable may hold options too, so that a shell divides it into words, as git has it.
    const command = process.env.GIT_SSH_COMMAND || 'ssh';
    const place = port === undefined ? [host] : ['-p', port, host];
    return {
      program: '/bin/sh',
      args: ['-c', `${command} "$@"`, command, ...options, ...place, `${service} ${quoteForShell(path)}`],
      environment: inherit(INHERITED),
      name: this.name,
      answerBytesMax,
    };
  }
}

/** Without a request, a flush tells the service that there is none. */
async function* readInput(next: Promise<Talk | null>): AsyncGenerator<Uint8Array> {
  yield (await next)?.body ?? Buffer.from(FLUSH);
}

async function readAll(answer: Body): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of answer) pieces.push(piece);
  return Buffer.concat(pieces);
}

/** Returns the packets up to the first flush, and what has arrived after it. Throws where they are cut off, or none. */
async function readAdvertisement(
  pieces: AsyncIterator<Buffer>,
): Promise<{ readonly advertisement: Buffer; readonly rest: Buffer }> {
  const received: Buffer[] = [];
  let bytes = 0;
  /** What has arrived of the current packet, and after it. */
  let left = Buffer.alloc(0);
  for (let next = await pieces.next(); next.done !== true; next = await pieces.next()) {
    received.push(next.value);
    bytes += next.value.length;
    if (bytes > LIST_BYTES_MAX)
      throw new Error(`it lists more than the ${LIST_BYTES_MAX} bytes that are taken at once`);
    left = Buffer.concat([left, next.value]);
    while (left.length >= LENGTH_DIGITS) {
      const length = packetLength(left.toString('latin1', 0, LENGTH_DIGITS));
      if (length > left.length) break;
      left = left.subarray(Math.max(length, LENGTH_DIGITS));
      if (length === 0) return { advertisement: Buffer.concat(received, bytes - left.length), rest: left };
    }
  }
  throw new Error('the list of branches that was sent is cut off: it is asked again later');
}

async function* joined(first: Buffer, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  if (first.length > 0) yield first;
  for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value;
}

function explainFailure(
  error: unknown,
  { name, done }: { readonly name: string; readonly done: 'read' | 'pushed to' },
): unknown {
  if (!(error instanceof GitFailure)) return error;
  if (done === 'read' || !NOT_ALLOWED.test(error.complaint)) return sshFailure(name, error, done);
  const words = error.complaint.replace(/\s+/g, ' ').trim();
  return new NotAllowedError(`"${name}" cannot be pushed to with this key: allow it there to write (${words})`);
}

/** Where ssh connects to, and the path there. */
interface SshAddress {
  /** With the user, as ssh takes it. */
  readonly host: string;
  readonly port: string | undefined;
  readonly path: string;
}

/** Reads a URL as git does; see git-clone(1), "GIT URLS". */
export function parseAddress(url: string): SshAddress {
  const address = /^[^:/]+:\/\//.test(url) ? parseSshUrl(url) : parseScpUrl(url);
  // ssh and git would take them for options.
  const { host, path } = address;
  if (host.startsWith('-') || path.startsWith('-')) {
    throw new SourceError(`"${url}" is no repository that can be followed: neither host nor path begins with "-"`);
  }
  return address;
}

function parseSshUrl(url: string): SshAddress {
  const { username, hostname, port, pathname } = new URL(url);
  const user = username === '' ? '' : `${decodePercent(username)}@`;
  const path = decodePercent(pathname);
  return {
    host: `${user}${hostname.replace(/^\[(.*)\]$/, '$1')}`,
    port: port === '' ? undefined : port,
    // `/~user/x` is below the home of that user.
    path: path.startsWith('/~') ? path.slice(1) : path,
  };
}

/** `user@host:path`; in brackets an address with colons, or a host with its port. */
function parseScpUrl(url: string): SshAddress {
  const [, user = '', inBrackets, plain = '', path = ''] = /^([^@/]*@)?(?:\[([^\]]*)\]|([^:]*)):(.*)$/s.exec(url) ?? [];
  const [, host, port] = /^([^:]*):(\d+)$/.exec(inBrackets ?? '') ?? [];
  return { host: `${user}${host ?? inBrackets ?? plain}`, port, path };
}

/** Quotes a word for the shell of the host, whichever that is. */
function quoteForShell(word: string): string {
  return `'${word.replaceAll(/['!]/g, "'\\$&'")}'`;
}
