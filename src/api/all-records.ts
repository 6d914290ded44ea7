// Answers with the records of all nodes. They are computed, hashed and sent in slices, so that other requests have their
// turn, and only those are computed that changed since the last time. See docs/decisions/0065-answers-that-did-not-change.md.
import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import { isSameList } from '../model/is-same-list.ts';
import type { NodeAtMoment } from '../model/record.ts';
import type { Reader } from '../service/reader.ts';
import { sendPieces } from './long-answers.ts';
import { requestIdOf, tagOf, writeReadHead } from './present.ts';

/** Others have their turn after so long. */
const SLICE_MS = 5;
/** The clock is looked at after so many records. */
const RECORDS_A_LOOK = 20;
/** Records that are written at once. */
const RECORDS_A_CHUNK = 200;
/** A larger answer is not kept for the next time. */
const KEPT_BYTES_MAX = 64 * 1024 * 1024;

/** The text of one record, and the objects that it was made of. */
interface RecordText {
  readonly sources: NodeAtMoment['sources'];
  /** `"<name>":<record>`. */
  readonly text: string;
}

interface AllRecords {
  /** By name, in the order of the answer. */
  readonly texts: ReadonlyMap<string, RecordText>;
  readonly bytes: number;
  readonly etag: string;
}

/** All records at one commit. */
interface Answer {
  readonly commit: string;
  readonly all: AllRecords;
}

type RecordOf = (node: NodeAtMoment) => unknown;

/** Returns a handler for GET and HEAD. Throws ServiceError `not_ready` before the first commit. */
export function answerAllRecords(reader: Pick<Reader, 'nodes' | 'commit'>) {
  const plainRecords = computeInTurn(reader, (node) => node.record(), KEPT_BYTES_MAX);
  // Rarely asked for.
  const explainedRecords = computeInTurn(reader, (node) => node.explained(), 0);

  return async (request: IncomingMessage, response: ServerResponse, isExplained: boolean): Promise<void> => {
    const { commit, all } = isExplained ? await explainedRecords() : await plainRecords();
    const hasBody = writeReadHead(request, response, { commit, requestId: requestIdOf(response), ...all });
    if (!hasBody || request.method === 'HEAD') response.end();
    else await sendPieces(response, chunksOf(all.texts));
  };
}

/**
 * Returns a function that computes all records, and keeps an answer of at most `keptBytesMax` for the next time. One
 * computation at a time: whoever asks meanwhile finds what did not change.
 */
function computeInTurn(
  reader: Pick<Reader, 'nodes' | 'commit'>,
  recordOf: RecordOf,
  keptBytesMax: number,
): () => Promise<Answer> {
  const known = new KnownTexts();
  let kept: AllRecords | undefined;
  let last: Promise<void> = Promise.resolve();

  return async () => {
    const before = last;
    const { promise, resolve } = Promise.withResolvers<void>();
    last = promise;
    await before;
    try {
      const commit = reader.commit();
      const nodes = reader.nodes();
      const same = kept !== undefined && isSame(nodes, kept.texts) ? kept : undefined;
      const all = same ?? (await joinRecords(nodes, known, recordOf));
      kept = all.bytes > keptBytesMax ? undefined : all;
      return { commit, all };
    } finally {
      resolve();
    }
  };
}

/**
 * The newest text of each record, for as long as it is kept or somebody is sent it. So any number of clients that read slowly
 * hold a text once.
 */
class KnownTexts {
  readonly #texts = new Map<string, WeakRef<RecordText>>();

  /** Returns the text of a record if it was made of the same objects. */
  find({ name, sources }: NodeAtMoment): RecordText | undefined {
    const text = this.#texts.get(name)?.deref();
    return text !== undefined && isSameList(text.sources, sources) ? text : undefined;
  }

  note(name: string, text: RecordText): void {
    this.#texts.set(name, new WeakRef(text));
  }

  /** Forgets the nodes that are not among these. */
  forgetOthers(texts: AllRecords['texts']): void {
    if (this.#texts.size === texts.size) return;
    for (const name of this.#texts.keys()) if (!texts.has(name)) this.#texts.delete(name);
  }
}

/** Returns the texts of all nodes; those that are known are not computed. */
async function joinRecords(nodes: readonly NodeAtMoment[], known: KnownTexts, recordOf: RecordOf): Promise<AllRecords> {
  const texts = new Map<string, RecordText>();
  for await (const slice of inSlices(nodes)) {
    for (const node of slice) {
      const found = known.find(node);
      const text = found ?? textOf(node, recordOf(node));
      if (found === undefined) known.note(node.name, text);
      texts.set(node.name, text);
    }
  }
  known.forgetOthers(texts);
  return { texts, ...(await digestOf(texts)) };
}

function textOf({ name, sources }: NodeAtMoment, record: unknown): RecordText {
  return { sources, text: `${JSON.stringify(name)}:${JSON.stringify(record)}` };
}

function isSame(nodes: readonly NodeAtMoment[], texts: AllRecords['texts']): boolean {
  if (nodes.length !== texts.size) return false;
  return nodes.every(({ name, sources }) => {
    const known = texts.get(name);
    return known !== undefined && isSameList(known.sources, sources);
  });
}

async function digestOf(texts: AllRecords['texts']): Promise<Pick<AllRecords, 'bytes' | 'etag'>> {
  const digest = createHash('sha256');
  let bytes = 0;
  for (const chunk of chunksOf(texts)) {
    digest.update(chunk);
    bytes += Buffer.byteLength(chunk);
    await setImmediate();
  }
  return { bytes, etag: tagOf(digest.digest('base64url')) };
}

/** Yields the answer as texts of moderate length. */
function* chunksOf(texts: AllRecords['texts']): Generator<string> {
  let chunk: string[] = [];
  let isFirst = true;
  for (const { text } of texts.values()) {
    chunk.push(text);
    if (chunk.length < RECORDS_A_CHUNK) continue;
    yield `${isFirst ? '{' : ','}${chunk.join(',')}`;
    chunk = [];
    isFirst = false;
  }
  const start = isFirst ? '{' : chunk.length > 0 ? ',' : '';
  yield `${start}${chunk.join(',')}}`;
}

/** Yields the nodes a few at a time, and lets others have their turn where a slice took long enough. */
async function* inSlices(nodes: readonly NodeAtMoment[]): AsyncGenerator<readonly NodeAtMoment[]> {
  let began = performance.now();
  for (let start = 0; start < nodes.length; start += RECORDS_A_LOOK) {
    yield nodes.slice(start, start + RECORDS_A_LOOK);
    if (performance.now() - began < SLICE_MS) continue;
    await setImmediate();
    began = performance.now();
  }
}
