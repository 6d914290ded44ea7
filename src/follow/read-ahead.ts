// Keeps what the steps of one poll read and derive, so that nothing is read in the exclusive section: git that hangs in there
// would stop all passes and operations. What is kept is judged in the section, by the rows as they are then.
import type { DesiredState } from '../desired/desired-state.ts';
import { orContentError, type Snapshot } from '../model/snapshot.ts';
import type { AddedOrder, BlobFilter, Source } from '../repository/source.ts';
import type { DerivedStep } from './commit-steps.ts';

/** Reads commits of one directory. */
export type CommitReader = Pick<Source, 'snapshot' | 'added'>;

/** How many files and servers of steps are kept, some 100 to 200 bytes each. A step may exceed it. */
const KEPT_MAX = 1_000_000;
/** So many bytes of the content of files, or one problem, count as a file. */
const COUNTED_BYTES = 200;

/** How often more is read. Each time it is more, since what was read is kept. */
const TRIES_MAX = 10;

/** What was read, with the ids of the blobs that were asked for; some are too large to be read. */
interface Read<Value> {
  readonly value: Value;
  readonly asked: ReadonlySet<string>;
}

type Added = Awaited<ReturnType<Source['added']>>;

/** Something is needed in the section that was not read before it: rows have changed meanwhile. */
class NotReadError extends Error {
  constructor(what: string) {
    super(
      `rows kept changing while commits were read, so that more of ${what} has to be read; the next poll tries again`,
    );
  }
}

/** Reads from a source, and answers from memory what it has read before. */
export class ReadAhead implements CommitReader {
  readonly #source: CommitReader;
  /** By commit; the error of one that can never be read. */
  readonly #snapshots = new Map<string, Read<Snapshot | Error>>();
  readonly #added = new Map<string, Read<Added>>();
  readonly #derived = new Map<string, { readonly upon: DesiredState; readonly derivation: DerivedStep }>();
  #kept = 0;
  #isSealed = false;

  constructor(source: CommitReader) {
    this.#source = source;
  }

  /** True where no more steps should be read before these are followed. */
  get isFull(): boolean {
    return this.#kept >= KEPT_MAX;
  }

  /** Runs work in which nothing is read from the source. Where something has to be, `readMore` is called and it is run again. */
  async sealed(work: () => Promise<void>, readMore: () => Promise<unknown>): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      this.#isSealed = true;
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof NotReadError) || tries === TRIES_MAX) throw error;
      } finally {
        this.#isSealed = false;
      }
      await readMore();
    }
  }

  /** Returns what was derived of a step upon the same desired state, or else what `derive` makes of it. */
  async derived(step: string, upon: DesiredState, derive: () => Promise<DerivedStep>): Promise<DerivedStep> {
    const known = this.#derived.get(step);
    if (known?.upon === upon) return known.derivation;
    const derivation = await derive();
    this.#derived.set(step, { upon, derivation });
    this.#kept += derivation.isFollowed ? derivation.desired.owners.size : derivation.problems.length;
    return derivation;
  }

  async snapshot(commit: string, wants: BlobFilter, directory?: string): Promise<Snapshot> {
    const { value } = await this.#once(this.#snapshots, commit, {
      isIn: ({ value, asked }) => value instanceof Error || !wantsMore(value, asked, wants),
      read: async (asked) => {
        const isWanted = (path: string, oid: string): boolean => {
          const isAsked = asked.has(oid) || wants(path, oid);
          if (isAsked) asked.add(oid);
          return isAsked;
        };
        return await orContentError(this.#source.snapshot(commit, isWanted, directory));
      },
    });
    if (value instanceof Error) throw value;
    return value;
  }

  async added({ select, ...order }: AddedOrder): Promise<Added> {
    const { value } = await this.#once(this.#added, `${order.from} ${order.to}`, {
      isIn: ({ value, asked }) => select(value.files).every((oid) => asked.has(oid)),
      read: async (asked) => {
        const selectAll = (files: Snapshot['files']): readonly string[] => {
          for (const oid of select(files)) asked.add(oid);
          return [...asked];
        };
        return await this.#source.added({ ...order, select: selectAll });
      },
    });
    return value;
  }

  async #once<Value extends Snapshot | Added | Error>(
    known: Map<string, Read<Value>>,
    what: string,
    { isIn, read }: { isIn: (kept: Read<Value>) => boolean; read: (asked: Set<string>) => Promise<Value> },
  ): Promise<Read<Value>> {
    const kept = known.get(what);
    if (kept !== undefined && isIn(kept)) return kept;
    if (this.#isSealed) throw new NotReadError(what);
    const asked = new Set(kept?.asked);
    const made = { value: await read(asked), asked };
    known.set(what, made);
    this.#kept += sizeOf(made.value);
    return made;
  }
}

function wantsMore({ files }: Snapshot, asked: ReadonlySet<string>, wants: BlobFilter): boolean {
  return [...files].some(([path, { oid, mode }]) => mode.startsWith('100') && !asked.has(oid) && wants(path, oid));
}

function sizeOf(read: Snapshot | Added | Error): number {
  if (read instanceof Error) return 1;
  return [...read.blobs.values()].reduce((sum, { length }) => sum + length / COUNTED_BYTES, read.files.size);
}
