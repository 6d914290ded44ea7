// The connection of a standby to an application that leads, over real TLS.
import type { RequestListener } from 'node:http';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { LeaderLink, type Question } from '../../src/api/leader-link.ts';
import { startPeerListener } from '../../src/api/peer-listener.ts';
import { createAuthority } from '../../src/base/development-pki.ts';

export type TestLink = Awaited<ReturnType<typeof linkTo>>;

/**
 * Returns a link to `handler`. Close it in the end. `isKnown`: the leader finds the standby in the database; `leads`: the standby finds
 * the leader.
 */
export async function linkTo(
  handler: RequestListener,
  {
    isKnown = true,
    expected,
    leads = async () => true,
  }: { readonly isKnown?: boolean; readonly expected?: string; readonly leads?: () => Promise<boolean> } = {},
) {
  const { fingerprint, ...identity } = await createAuthority({ commonName: 'replica', now: Date.now() });
  const isPeer = async (shown: string): Promise<boolean> => isKnown && shown === fingerprint;
  const listening = await startPeerListener({ identity, isPeer, handler, host: '127.0.0.1', port: 0 });
  const place = { ...listening, name: 'test-1', fingerprint: expected ?? fingerprint };
  const link = new LeaderLink({ identity, find: async () => ((await leads()) ? place : undefined), waitMs: 2_000 });
  return {
    link,
    /** Asks as a client does. */
    async ask(question: Question, body?: string) {
      const answer = await link.ask(question, Readable.from(body ?? []), new AbortController().signal);
      return { status: answer.statusCode ?? 0, headers: answer.rawHeaders, text: await text(answer) };
    },
    async close(): Promise<void> {
      link.close();
      await listening.close();
    },
  };
}
