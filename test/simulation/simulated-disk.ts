// A database in memory for the store: a commit that is not finished may be lost when the controller dies, and there may be no room.
import { type DocumentAdapter, DocumentReader } from '../../src/store/document-adapter.ts';
import { eventOf, keptEvent } from '../../src/store/event-log.ts';
import type { KeptEvent, Piece } from '../../src/store/piece.ts';
import { ALL_EVENTS } from '../../src/store/piece.ts';
import { type KeptRow, keptRows } from '../../src/store/row-json.ts';
import { emptyStoreDocument, rowsOf, type StoreDocument } from '../../src/store/store-document.ts';
import { drawn } from './chance.ts';
import { type Life, never, type Scheduler } from './scheduler.ts';

/** How long a commit takes on a slow disk, at most. */
const SLOW_MS = 800;

/** Everything that is kept. Never changed: a commit makes another one. */
interface Image {
  readonly revision: number;
  /** By kind and name. */
  readonly rows: ReadonlyMap<string, KeptRow>;
  /** By instance and id. */
  readonly events: ReadonlyMap<string, KeptEvent>;
}

const NOTHING: Image = { revision: 0, rows: new Map(), events: new Map() };

export type { Image };

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
      read: async () => documentOf(this.#kept),
      write: async (document) => this.#save(imageOf(document), life),
      commit: async (revision, pieces) => {
        const all: Piece[] = [];
        for await (const piece of pieces) all.push(piece);
        const { image, growth } = withPieces(this.#kept, revision, all);
        await this.#save(image, life);
        return {
          bytes: all.flatMap(({ rows }) => rows).reduce((sum, [, , json]) => sum + (json?.length ?? 0), 1),
          growth,
        };
      },
      revision: async () => this.#kept.revision,
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

function documentOf({ revision, rows, events }: Image): StoreDocument {
  const document = emptyStoreDocument();
  document.revision = revision;
  // As a database sorts them.
  const sorted = [...rows.values()].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  new DocumentReader(document, 'the simulated disk').add({ rows: sorted, events: [] });
  document.events.add([...events.values()].map(eventOf));
  return document;
}

function imageOf(document: StoreDocument): Image {
  const rows = [...rowsOf(document.tables)].flatMap((row) => keptRows(row, undefined));
  const events = [...document.events.stored()].map(keptEvent);
  return withPieces(NOTHING, document.revision, [{ rows, events }]).image;
}

function withPieces(
  before: Image,
  revision: number,
  pieces: readonly Piece[],
): { readonly image: Image; readonly growth: number } {
  const [rows, events] = [new Map(before.rows), new Map(before.events)];
  let growth = 0;
  for (const piece of pieces) {
    for (const row of piece.rows) {
      const [kind, name, json] = row;
      const key = `${kind}/${name}`;
      growth += (json?.length ?? 0) - (rows.get(key)?.[2]?.length ?? 0);
      if (json === null) rows.delete(key);
      else rows.set(key, row);
    }
    for (const event of piece.events) addEvent(events, event);
  }
  return { image: { revision, rows, events }, growth };
}

function addEvent(events: Map<string, KeptEvent>, event: KeptEvent): void {
  const [instance, id, json] = event;
  if (json === null) {
    for (const [key, [of, other]] of events) if (of === instance && other <= id) events.delete(key);
    if (id === ALL_EVENTS) return;
  }
  events.set(`${instance}/${id}`, event);
}
