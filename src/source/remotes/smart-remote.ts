// A remote that speaks Git's smart HTTP protocol. Asks for the branches through isomorphic-git, and is the only file that
// imports it. Its fetch is not used: it takes a pack that was cut off, and holds and inflates all of it in this process;
// see docs/decisions/0041-packs-are-verified-by-git.md.
import { Errors, getRemoteInfo2, type HttpClient } from 'isomorphic-git';
import { initRepository } from '../../git/bare-repository.ts';
import { indexPack, type PackLimits } from '../../git/index-pack.ts';
import { SourceError } from '../source.ts';
import { advertisedHeads } from './advertised-heads.ts';
import { type Advertisement, readAdvertisement } from './receive-pack.ts';
import type { Remote, Transport } from './remote.ts';
import { fetchRequest, packIn } from './upload-pack.ts';

const SERVICE = 'git-upload-pack';
const NOTHING = new Uint8Array();

/** Returns the remote behind a transport. */
export function createSmartRemote(transport: Transport, limits: PackLimits): Remote {
  const { name, url, secrets } = transport;
  return {
    name,
    secrets,
    async branches(signal) {
      const http = httpOver(transport, signal);
      // Version 1: in version 2, an empty repository is taken for one that speaks no version at all.
      const { refs = [] } = await explained(transport, () => getRemoteInfo2({ http, url, protocolVersion: 1 }));
      return advertisedHeads(name, refs);
    },
    async fetchInto({ quarantine, branch, lender, signal }) {
      const { heads, capabilities } = await advertise(transport, signal);
      const head = heads.get(branch);
      if (head === undefined) throw new SourceError(`"${name}" named no commit`);
      await initRepository(quarantine, lender);
      const body = fetchRequest({ name, head, have: lender?.oid ?? null }, capabilities);
      const headers = { 'content-type': `application/x-${SERVICE}-request`, accept: `application/x-${SERVICE}-result` };
      await transport.stream({ url: `${url}/${SERVICE}`, method: 'POST', headers, body, signal }, (answer) =>
        indexPack(packIn(name, answer), { ...limits, gitDirectory: quarantine, name, signal }),
      );
      return head;
    },
  };
}

async function advertise(transport: Transport, signal: AbortSignal): Promise<Advertisement> {
  const { name, url } = transport;
  const address = `${url}/info/refs?service=${SERVICE}`;
  const { body } = await transport.request({ url: address, method: 'GET', headers: {}, body: NOTHING, signal });
  return readAdvertisement(name, Buffer.concat(body));
}

/** Returns the transport in the form that isomorphic-git calls, which knows no end but that of its requests. */
function httpOver(transport: Transport, signal: AbortSignal): HttpClient {
  return {
    async request({ url, method = 'GET', headers = {} }) {
      const answer = await transport.request({ url, method, headers, body: NOTHING, signal });
      return { ...answer, url, body: iterate(answer.body) };
    },
  };
}

async function* iterate(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks;
}

async function explained<Value>({ name }: Transport, work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof SourceError) throw error;
    throw new SourceError(`"${name}" could not be read: ${reasonOf(error)}`, { cause: error });
  }
}

/** What isomorphic-git did not expect, it wraps into a request to report a bug: mostly, it is an answer that is damaged. */
function reasonOf(error: unknown): string {
  if (error instanceof Errors.InternalError) return error.data.message;
  return error instanceof Error ? error.message : String(error);
}
