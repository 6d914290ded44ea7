// Answers with the records of all nodes of one moment. They are found, computed, hashed and sent in slices, so that other
// requests have their turn, and only those are computed that changed since the last time. See
// docs/decisions/0065-answers-that-did-not-change.md.
import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import { systemClock } from '../clock.ts';
import { isSameList } from '../model/is-same-list.ts';
import type { NodeAtMoment } from '../model/record.ts';
import type { Steps } from '../model/steps.ts';
import type { Reader } from '../service/reader.ts';
import type { Shares } from '../shares.ts';
import { createSlices } from '../slices.ts';
import { refusalOf, requireAllowed } from './authenticate.ts';
import { HeldAnswers, PIECE_LENGTH, sentAnswers } from './long-answers.ts';
import { requestIdOf, tagOf, writeReadHead } from './present.ts';
import { numbersOf } from './source-numbers.ts';

/** Others may have their turn after so many records. */
const RECORDS_A_STEP = 20;
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

/** An answer, and what the reader says that it is made of, as numbers: what it was made of is not kept in memory by it. */
interface KeptAnswer extends Answer {
  readonly sources: readonly unknown[];
}

type RecordOf = (node: NodeAtMoment) => unknown;
type AllReader = Pick<Reader, 'nodes' | 'commit'> & { readonly sources: Pick<Reader['sources'], 'nodes'> };

/** One request for all records. */
interface AllRead {
  /** The fingerprint of its client's certificate. */
  readonly client: string;
  readonly isExplained: boolean;
}

const inSlices = createSlices(systemClock);
const heldRecords = new HeldAnswers<AllRecords>();

/** Returns a handler for GET and HEAD. Throws ServiceError `not_ready` before the first commit. */
export function answerAllRecords(reader: AllReader, shares: Shares) {
  const plainRecords = computeRecords(reader, (node) => node.record(), KEPT_BYTES_MAX);
  // Rarely asked for.
  const explainedRecords = computeRecords(reader, (node) => node.explained(), 0);

  return async (
    request: IncomingMessage,
    response: ServerResponse,
    { client, isExplained }: AllRead,
  ): Promise<void> => {
    const isGone = (): boolean => response.destroyed || refusalOf(request) !== undefined;
    const asker = { client, question: `all records ${isExplained}`, isGone };
    const answer = await shares.run(asker, isExplained ? explainedRecords : plainRecords);
    requireAllowed(request);
    if (answer === undefined) return;
    const { commit, all } = answer;
    const hasBody = writeReadHead(request, response, { commit, requestId: requestIdOf(response), ...all });
    if (!hasBody || request.method === 'HEAD') response.end();
    else await sentAnswers.send(response, { client, answer: all }, chunksOf(all.texts));
  };
}

/** Returns a function that computes all records, and keeps an answer of at most `keptBytesMax` for the next time. */
function computeRecords(reader: AllReader, recordOf: RecordOf, keptBytesMax: number): () => Promise<Answer> {
  const known = new KnownTexts();
  let kept: KeptAnswer | undefined;

  return async () => {
    const sources = numbersOf(reader.sources.nodes());
    if (kept !== undefined && isSameList(kept.sources, sources)) return kept;
    // Of the same moment as the sources: nothing else runs in between.
    const [commit, finding] = [reader.commit(), reader.nodes()];
    const nodes = await inSlices(finding);
    const isSame = kept !== undefined && (await inSlices(compare(nodes, kept.all.texts)));
    const all = isSame && kept !== undefined ? kept.all : await joinRecords(nodes, known, recordOf);
    kept = all.bytes > keptBytesMax ? undefined : { sources, commit, all };
    return { commit, all };
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
  const texts = await inSlices(joinTexts(nodes, known, recordOf));
  known.forgetOthers(texts);
  return heldRecords.share({ texts, ...(await digestOf(texts)) });
}

function* joinTexts(nodes: readonly NodeAtMoment[], known: KnownTexts, recordOf: RecordOf): Steps<AllRecords['texts']> {
  const texts = new Map<string, RecordText>();
  for (const node of nodes) {
    const found = known.find(node);
    const text = found ?? textOf(node, recordOf(node));
    if (found === undefined) known.note(node.name, text);
    texts.set(node.name, text);
    if (texts.size % RECORDS_A_STEP === 0) yield;
  }
  return texts;
}

function textOf({ name, sources }: NodeAtMoment, record: unknown): RecordText {
  return { sources, text: `${JSON.stringify(name)}:${JSON.stringify(record)}` };
}

/** Returns true if the texts are those of these nodes, made of the same objects. */
function* compare(nodes: readonly NodeAtMoment[], texts: AllRecords['texts']): Steps<boolean> {
  if (nodes.length !== texts.size) return false;
  for (const [index, { name, sources }] of nodes.entries()) {
    const known = texts.get(name);
    if (known === undefined || !isSameList(known.sources, sources)) return false;
    if (index % RECORDS_A_STEP === 0) yield;
  }
  return true;
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
  let length = 0;
  let isFirst = true;
  for (const { text } of texts.values()) {
    chunk.push(text);
    length += text.length;
    if (length < PIECE_LENGTH) continue;
    yield `${isFirst ? '{' : ','}${chunk.join(',')}`;
    chunk = [];
    length = 0;
    isFirst = false;
  }
  const start = isFirst ? '{' : chunk.length > 0 ? ',' : '';
  yield `${start}${chunk.join(',')}}`;
}
