// Logs once a day which certificates and lists expire soon or have expired. The caller passes the time.
import type { Logger } from '../../base/log.ts';
import { momentOf } from '../../base/wording.ts';
import { dueFrom } from '../../service/progress/clients-seen.ts';
import type { Expiry, TlsPart } from './check-tls.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

/** The consequence for people, and what to do. */
const MEANINGS: Readonly<Record<Expiry['what'], string>> = {
  'server certificate': 'clients refuse to connect to an expired one, so replace it',
  'client authority': 'clients of an expired one are refused, so give them certificates of another and add that one',
  'revocation list':
    'an expired one locks out every client that its authority vouches for, administrators included, so fetch a newer one',
};

/** Remembers when each expiry was logged last. */
export class ExpiryWarnings {
  readonly #log: Logger;
  readonly #fileOf: (part: TlsPart) => string;
  /** When each was told last. */
  #told: ReadonlyMap<string, number> = new Map();

  constructor({ log, fileOf }: { readonly log: Logger; readonly fileOf: (part: TlsPart) => string }) {
    this.#log = log;
    this.#fileOf = fileOf;
  }

  /** Warns of what is due. Asked more often than once a day, it still warns once a day. */
  announce(expiries: readonly Expiry[], now: number): void {
    const told = new Map<string, number>();
    for (const expiry of expiries.filter(({ from, until }) => now >= dueFrom({ begins: from, ends: until }))) {
      const key = JSON.stringify(expiry);
      const before = this.#told.get(key);
      const isTold = before !== undefined && now - before < DAY_MS;
      if (!isTold) this.#warn(expiry, now);
      told.set(key, isTold ? before : now);
    }
    this.#told = told;
  }

  #warn({ what, part, name, until }: Expiry, now: number): void {
    const fields = { file: this.#fileOf(part), name, expires: momentOf(until) };
    if (now < until) this.#log.warn(fields, `a ${what} expires soon: ${MEANINGS[what]} in time`);
    else this.#log.error(fields, `a ${what} has expired: ${MEANINGS[what]} now`);
  }
}
