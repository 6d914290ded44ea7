// A database in memory for the store: a commit that is not finished may be lost when the controller dies, and there may be no room.
import { withoutPause } from '../../src/base/breathe.ts';
import type { EventRange, ListedPage } from '../../src/model/instance-event.ts';
import { listedEvent } from '../../src/store/event-table.ts';
import type { KeptRow } from '../../src/store/row-json.ts';
import type { DocumentAdapter } from '../../src/store/store-document.ts';
import {
  type Batch,
  emptyStoreDocument,
  type KeptEvent,
  readRows,
  type StoreDocument,
} from '../../src/store/store-document.ts';
import { drawn } from './chance.ts';
import { type Life, never, type Scheduler } from './scheduler.ts';

/** How long a commit takes on a slow disk, at most. */
export const SLOW_MS = 800;

/** Everything that is kept. Never changed: a commit makes another one. */
export interface Image {
  readonly revision: number;
  /** By kind and name. */
  readonly rows: ReadonlyMap<string, KeptRow>;
  readonly events: readonly KeptEvent[];
}

const NOTHING: Image = { revision: 0, rows: new Map(), events: [] };

export class SimulatedDisk {
  readonly #scheduler: Scheduler;
  readonly #seed: number;
  #kept = NOTHING;
  /** A commit that the disk has not finished. */
  #pending: Image | undefined;
  #syncs = 0;
  /** Nothing more can be written. */
  isFull = false;
  /** Until then every commit takes long. */
  slowUntil = 0;

  constructor(scheduler: Scheduler, seed: number) {
    this.#scheduler = scheduler;
    this.#seed = seed;
  }

  /** Something was written that is not durable. */
  get isDirty(): boolean {
    return this.#pending !== undefined;
  }

  /** Returns the disk as one controller uses it. A controller that is dead changes nothing and gets no answer. */
  adapter(life: Life): DocumentAdapter {
    return {
      read: () => documentOf(this.#kept),
      write: async ({ unsaved }) => {
        if (unsaved !== undefined) await this.#save(withBatch(this.#kept, unsaved), life);
      },
      events: async (range) => eventsOf(this.#kept, range),
      close: async () => undefined,
    };
  }

  /** The controller dies: a commit that was not finished is lost, or there, as chance has it. */
  cut(): void {
    if (this.#pending !== undefined && this.#drawn('cut') < 0.5) this.#kept = this.#pending;
    this.#pending = undefined;
  }

  /** The disk is lost with everything on it. */
  wipe(): void {
    this.#kept = NOTHING;
    this.#pending = undefined;
  }

  /** Returns what is kept. */
  image(): Image {
    return this.#kept;
  }

  /** Keeps what an image has, and nothing else. */
  putBack(image: Image): void {
    this.wipe();
    this.#kept = image;
  }

  async #save(image: Image, life: Life): Promise<void> {
    if (life.isOver) return never();
    if (this.isFull) throw Object.assign(new Error('database or disk is full'), { code: 'ERR_SQLITE_ERROR' });
    this.#pending = image;
    const luck = this.#drawn('turn');
    const ms = this.#scheduler.now < this.slowUntil ? luck * SLOW_MS : luck ** 4 * 40;
    await this.#scheduler.pause(1 + Math.floor(ms), life);
    this.#kept = image;
    this.#pending = undefined;
  }

  #drawn(key: string): number {
    return drawn(this.#seed, `disk ${key} ${this.#syncs++}`);
  }
}

async function documentOf({ revision, rows, events }: Image): Promise<StoreDocument> {
  const document = emptyStoreDocument();
  Object.assign(document, { revision, lastEvent: events.at(-1)?.[0] ?? 0 });
  // As a database sorts them.
  const sorted = [...rows.values()].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  await readRows(document.tables, sorted, { path: 'the simulated disk', breathe: withoutPause });
  return document;
}

function withBatch(before: Image, batch: Batch): Image {
  const rows = new Map(before.rows);
  for (const row of batch.rows) {
    const [kind, name, json] = row;
    if (json === null) rows.delete(`${kind}/${name}`);
    else rows.set(`${kind}/${name}`, row);
  }
  return { revision: batch.revision, rows, events: [...before.events, ...batch.events] };
}

/** No event is ever removed. */
function eventsOf({ events }: Image, { after, limit, instances }: EventRange): ListedPage {
  const found = events.filter(([id, instance]) => id > after && (instances?.has(instance) ?? true));
  return { events: found.slice(0, limit).map(listedEvent), isGap: false, newest: events.at(-1)?.[0] ?? 0 };
}
