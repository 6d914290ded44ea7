// The secrets that were sent to a server, so that none comes back: a server, a proxy or a hook may repeat what it was
// sent, in a redirect, a status or the name of a branch, and messages end up in logs and in answers to other people.

/** What stands in the place of a secret. */
export const HIDDEN = '***';

/** Shorter ones would take apart every message, and protect nothing. */
const LENGTH_MIN = 3;
/** A rotated password may still be in an answer to the one before. */
const KEPT_MAX = 8;
const CARRIERS_MAX = 100;

export interface SentLogin {
  readonly username: string;
  readonly password: string;
}

export class SentSecrets {
  readonly #logins = new Map<string, SentLogin>();
  #pattern: RegExp | undefined;

  /** Notes what is about to be sent. */
  add(login: SentLogin): void {
    const key = JSON.stringify([login.username, login.password]);
    if (this.#logins.has(key)) return;
    this.#logins.set(key, login);
    for (const oldest of [...this.#logins.keys()].slice(0, -KEPT_MAX)) this.#logins.delete(oldest);
    const spellings = [...this.#logins.values()].flatMap(spellingsOf).filter(({ length }) => length >= LENGTH_MIN);
    const longestFirst = [...new Set(spellings)].sort((a, b) => b.length - a.length);
    this.#pattern = longestFirst.length === 0 ? undefined : new RegExp(longestFirst.map(quoted).join('|'), 'gi');
  }

  /** Returns a text without the secrets, however they are spelled in it. */
  strip(text: string): string {
    return this.#pattern === undefined ? text : text.replace(this.#pattern, HIDDEN);
  }

  /** Returns what `work` resolves to. What it throws is stripped, with its stack, its causes and all that it carries. */
  async guard<Value>(work: () => Promise<Value>): Promise<Value> {
    try {
      return await work();
    } catch (error) {
      this.#stripAll(error, new Set());
      throw error;
    }
  }

  /** In place, so that the error stays of its class. */
  #stripAll(value: unknown, seen: Set<unknown>): void {
    if (this.#pattern === undefined || !isCarrier(value) || seen.has(value) || seen.size >= CARRIERS_MAX) return;
    seen.add(value);
    for (const [key, property] of Object.entries(Object.getOwnPropertyDescriptors(value))) {
      if (typeof property.value !== 'string') this.#stripAll(property.value, seen);
      else if (property.writable === true) Object.assign(value, { [key]: this.strip(property.value) });
    }
  }
}

/** True for an error, and for data that one carries. */
function isCarrier(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  return value instanceof Error || Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype;
}

/** As it was sent, and as programs write it into a header, a URL or a quoted text. */
function spellingsOf({ username, password }: SentLogin): readonly string[] {
  const pair = `${username}:${password}`;
  return [password, pair].flatMap((secret) => {
    const base64 = Buffer.from(secret).toString('base64');
    const plain = [
      secret,
      Buffer.from(secret).toString('latin1'),
      encodeURIComponent(secret),
      encodeURI(secret),
      new URLSearchParams({ s: secret }).toString().slice(2),
      JSON.stringify(secret).slice(1, -1),
      base64.replace(/=+$/, ''),
      Buffer.from(secret).toString('base64url'),
      Buffer.from(secret).toString('hex'),
    ];
    return [...plain, base64, encodeURIComponent(base64)];
  });
}

function quoted(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
}
