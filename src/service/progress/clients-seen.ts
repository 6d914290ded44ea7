// Tracks when each registered client was last seen, and when its certificate expires. Each replica remembers the
// clients that it answered itself. A standby forwards one request of each client an hour to the leader, which records
// the client. See docs/rest.md, operations.
import type { Clock } from '../../base/clock.ts';
import { toRfc3339 } from '../../base/wording.ts';
import type { DesiredState } from '../../desired/desired-state.ts';
import type { Change, SeenRow } from '../../model/rows.ts';
import type { Registry } from '../caller.ts';
import type { PresentRows } from '../views.ts';

/** The certificate of a client that connected. Times in milliseconds since 1970. */
export interface ShownCertificate {
  readonly serial: string;
  readonly begins: number;
  readonly expires: number;
}

/** A certificate or a revocation list. */
export interface EndingCertificate {
  /** The subject in the id of the cause: `server`, `ca:<fingerprint>`, `crl`, `client:<serial>`. */
  readonly id: string;
  /** In words: `the certificate of …`. */
  readonly name: string;
  /** Milliseconds since 1970. */
  readonly begins: number;
  readonly ends: number;
  /** What the operator should do. */
  readonly action: string;
}

/** The minimum time between two writes of a row. */
const WRITE_MS = 3_600_000;

/** The clients that were seen. Contains only registered clients, because `note` follows their authentication. */
export class ClientsSeen {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #seen = new Map<string, ShownCertificate & { time: number }>();

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  /** Notes that a client was authenticated. Returns true if the leader has to record it, at most once an hour. */
  note({ serial, begins, expires }: ShownCertificate): boolean {
    const time = this.#clock.now();
    const known = this.#seen.get(serial);
    if (known === undefined || known.expires !== expires || known.begins !== begins) {
      this.#seen.set(serial, { serial, begins, expires, time });
      return true;
    }
    const isDue = Math.floor(known.time / WRITE_MS) !== Math.floor(time / WRITE_MS);
    known.time = time;
    return isDue;
  }

  /** Returns the newest of this replica's note and the row of a client; undefined if it was never seen. */
  of(serial: string, rows: Pick<PresentRows, 'read'>): SeenRow | undefined {
    const row = rows.read('seen', serial);
    const own = this.#seen.get(serial);
    if (own === undefined) return row;
    const seen = { lastSeen: toRfc3339(own.time), notBefore: toRfc3339(own.begins), notAfter: toRfc3339(own.expires) };
    return row !== undefined && row.lastSeen > seen.lastSeen ? row : seen;
  }

  /** Returns the changes that record the seen clients, and remove the rows of unregistered ones. */
  changes(rows: PresentRows, registered: Registry): readonly Change[] {
    const changes: Change[] = [];
    for (const serial of this.#seen.keys()) {
      if (registered(serial) === undefined) this.#seen.delete(serial);
      const expected = rows.read('seen', serial);
      const value = this.of(serial, rows);
      if (value === undefined || value === expected || isRecorded(value, expected)) continue;
      changes.push({ kind: 'seen', name: serial, value, expected });
    }
    for (const [name, expected] of rows.list('seen')) {
      if (registered(name) === undefined) changes.push({ kind: 'seen', name, value: null, expected });
    }
    return changes;
  }
}

function isRecorded(seen: SeenRow, row: SeenRow | undefined): boolean {
  if (row === undefined || seen.notAfter !== row.notAfter || seen.notBefore !== row.notBefore) return false;
  return Date.parse(seen.lastSeen) - Date.parse(row.lastSeen) < WRITE_MS;
}

/** Returns the last certificate of each registered client. */
export function endingCertificates(
  seen: Pick<ClientsSeen, 'of'> | undefined,
  clients: DesiredState['clients'] | undefined,
  rows: Pick<PresentRows, 'read'>,
): readonly EndingCertificate[] {
  return [...(clients ?? [])].flatMap(([serial, { entry }]) => {
    const row = seen?.of(serial, rows);
    if (row === undefined) return [];
    const name = `the certificate of the client ${entry.object?.description ?? ''} (${serial})`;
    const dates = { begins: Date.parse(row.notBefore), ends: Date.parse(row.notAfter) };
    return { id: `client:${serial}`, name, ...dates, action: `renew it, then run: treeline client remove ${serial}` };
  });
}

/**
 * How long before its end a certificate needs an operator. At most a quarter of its lifetime, because some certificates
 * are renewed every day.
 */
const ENDING_MS = 30 * 24 * 60 * 60 * 1000;
const ENDING_OF_LIFE = 1 / 4;

/** Returns when a certificate or revocation list begins to need an operator, in milliseconds since 1970. */
export function dueFrom({ begins, ends }: Pick<EndingCertificate, 'begins' | 'ends'>): number {
  return ends - Math.min(ENDING_MS, (ends - begins) * ENDING_OF_LIFE);
}
