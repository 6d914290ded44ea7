// Keeps the claims of a proxy and their results on disk, until the controller has the report. A claim without a result
// at a start was interrupted by the end of the proxy.

import { randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Answer } from '../model/call-result.ts';
import { isMap, type JsonMap, parseJson } from '../model/json.ts';
import { writeManagedFile } from './render/managed-file.ts';

/** The file of a claim that is not on disk, and so was not begun. */
export const NO_FILE = 'none';

/** An action that this proxy has claimed. */
export interface KeptClaim {
  /** The id of the action. */
  readonly id: string;
  readonly lease: string;
  /** The result; null while unknown. */
  readonly answer: Answer | null;
  /** The name of its file. */
  readonly file: string;
}

/** The claims of a proxy, which survive its restart. */
export type KeptClaims = Pick<ClaimedWork, 'list' | 'begin' | 'end' | 'forget'>;

/** The claims of this proxy, in a directory of files. */
export class ClaimedWork {
  readonly #directory: string;

  /** Opens a directory, created if missing. No other process may have it open. */
  constructor(directory: string) {
    this.#directory = directory;
    mkdirSync(directory, { recursive: true, mode: 0o700 });
  }

  /** Returns the kept claims. Removes incomplete files: their actions were not begun. */
  list(): readonly KeptClaim[] {
    return readdirSync(this.#directory).flatMap((file) => {
      const claim = file.endsWith('.json') ? readClaim(join(this.#directory, file), file) : undefined;
      if (claim === undefined) rmSync(join(this.#directory, file), { force: true });
      return claim ?? [];
    });
  }

  /** Resolves with a new claim when it would survive a power cut. */
  async begin(claim: Pick<KeptClaim, 'id' | 'lease'>): Promise<KeptClaim> {
    const kept = { ...claim, answer: null, file: `${randomUUID()}.json` };
    await this.#write(kept);
    return kept;
  }

  /** Resolves with the claim and its answer when they would survive a power cut. */
  async end(claim: KeptClaim, answer: Answer): Promise<KeptClaim> {
    const ended = { ...claim, answer };
    await this.#write(ended);
    return ended;
  }

  /** Forgets a claim. */
  forget({ file }: KeptClaim): void {
    rmSync(join(this.#directory, file), { force: true });
  }

  async #write({ id, lease, answer, file }: KeptClaim): Promise<void> {
    const place = { path: join(this.#directory, file), mode: 0o600, owner: null };
    await writeManagedFile(place, Buffer.from(JSON.stringify({ id, lease, answer })));
  }
}

function readClaim(path: string, file: string): KeptClaim | undefined {
  const value = parseJson(readFileSync(path, 'utf8'));
  if (!isMap(value) || typeof value.id !== 'string' || typeof value.lease !== 'string') return undefined;
  const answer = isMap(value.answer) ? (value.answer as JsonMap as unknown as Answer) : null;
  return { id: value.id, lease: value.lease, answer, file };
}
