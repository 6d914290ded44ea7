// Strips sent secrets from errors: a server, a proxy or a hook may repeat them in a redirect, a status or a branch
// name, and messages end up in logs and in answers to other people.

/** Replaces a secret in a text. */
const HIDDEN = '***';

/** Stripping shorter ones would make messages unreadable, and protect nothing. */
const LENGTH_MIN = 3;
/** After a rotation, an answer may still hold the previous password. */
const KEPT_MAX = 8;
const CARRIERS_MAX = 100;

/** A user name and a password that were sent. */
export interface SentLogin {
  readonly username: string;
  readonly password: string;
}

/** The logins that were sent, the latest ones only. */
export class SentSecrets {
  readonly #logins = new Map<string, SentLogin>();
  #pattern: RegExp | undefined;

  /** Notes a login before it is sent. */
  add(login: SentLogin): void {
    const key = JSON.stringify([login.username, login.password]);
    if (this.#logins.has(key)) return;
    this.#logins.set(key, login);
    for (const oldest of [...this.#logins.keys()].slice(0, -KEPT_MAX)) this.#logins.delete(oldest);
    const spellings = [...this.#logins.values()].flatMap(listSpellings).filter(({ length }) => length >= LENGTH_MIN);
    const longestFirst = [...new Set(spellings)].sort((a, b) => b.length - a.length).map(RegExp.escape);
    this.#pattern = longestFirst.length === 0 ? undefined : new RegExp(longestFirst.join('|'), 'gi');
  }

  /** Returns a text without the secrets, in any of their spellings. */
  strip(text: string): string {
    return this.#pattern === undefined ? text : text.replace(this.#pattern, HIDDEN);
  }

  /** Returns the result of `work`. Strips thrown errors, with their stack, causes and properties. */
  async guard<Value>(work: () => Promise<Value>): Promise<Value> {
    try {
      return await work();
    } catch (error) {
      this.#stripAll(error, new Set());
      throw error;
    }
  }

  /** In place, so that the error keeps its class. */
  #stripAll(value: unknown, seen: Set<unknown>): void {
    if (this.#pattern === undefined || !isCarrier(value) || seen.has(value) || seen.size >= CARRIERS_MAX) return;
    seen.add(value);
    for (const [key, property] of Object.entries(Object.getOwnPropertyDescriptors(value))) {
      if (typeof property.value !== 'string') this.#stripAll(property.value, seen);
      else if (property.writable === true) Object.assign(value, { [key]: this.strip(property.value) });
    }
  }
}

/** Returns true for an error, and for data that one holds. */
function isCarrier(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  return value instanceof Error || Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype;
}

/** Returns the secrets as sent, and as programs write them into a header, a URL or a quoted text. */
function listSpellings({ username, password }: SentLogin): readonly string[] {
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
