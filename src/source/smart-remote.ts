// A remote that speaks Git's smart HTTP protocol, through isomorphic-git. The only file that imports it: what it brings
// is not trusted (it moves refs before the pack is there, and takes a pack that was cut off), so it is only ever let
// loose on a quarantine; see quarantine.ts.
import fs from 'node:fs';
import { addRemote, Errors, fetch, getRemoteInfo2, type HttpClient } from 'isomorphic-git';
import { advertisedHeads, HEADS } from './advertised-heads.ts';
import { FOLLOWED_REF, initRepository, writeHave } from './bare-repository.ts';
import { isOid } from './git-object.ts';
import type { Remote, Transport } from './remote.ts';
import { SourceError } from './source.ts';

/** Returns the remote behind a transport. */
export function createSmartRemote(transport: Transport): Remote {
  const { name, url } = transport;
  return {
    name,
    async branches(signal) {
      const http = httpOver(transport, signal);
      // Version 1: in version 2, an empty repository is taken for one that speaks no version at all.
      const { refs = [] } = await explained(transport, () => getRemoteInfo2({ http, url, protocolVersion: 1 }));
      return advertisedHeads(name, refs);
    },
    async fetchInto({ quarantine, branch, have, signal }) {
      const http = httpOver(transport, signal);
      await initRepository(quarantine);
      if (have !== null) await writeHave(quarantine, have);
      await addRemote({ fs, gitdir: quarantine, remote: 'origin', url });
      const { fetchHead } = await explained(transport, () =>
        fetch({
          fs,
          http,
          gitdir: quarantine,
          remote: 'origin',
          url,
          // It tells a remote what is here only for a ref of its own.
          ref: FOLLOWED_REF,
          // In full: a tag of the same name would come first.
          remoteRef: `${HEADS}${branch}`,
          singleBranch: true,
          tags: false,
        }),
      );
      if (fetchHead === null || !isOid(fetchHead)) throw new SourceError(`"${name}" named no commit`);
      return fetchHead;
    },
  };
}

/** Returns the transport in the form that isomorphic-git calls, which knows no end but that of its requests. */
function httpOver(transport: Transport, signal: AbortSignal): HttpClient {
  return {
    async request({ url, method = 'GET', headers = {}, body }) {
      const sent: Uint8Array[] = [];
      if (body !== undefined) for await (const chunk of body) sent.push(chunk);
      const answer = await transport.request({ url, method, headers, body: Buffer.concat(sent), signal });
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
