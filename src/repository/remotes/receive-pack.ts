// Encodes the request of a push, with its pack, and decodes the report. See gitprotocol-pack, "Pushing Data To a
// Server". Sends nothing itself.

import { type Advertisement, HEADS } from './advertisement.ts';
import { FLUSH, lineIn, packetLine, readPackets, splitBands } from './packet-line.ts';

/** One branch, and its new head. */
export interface RefUpdate {
  /** Without `refs/heads/`. */
  readonly branch: string;
  /** Its current head; null: the branch does not exist. */
  readonly old: string | null;
  readonly commit: string;
}

/** The result of a push. */
interface PushReport {
  /** Null: the branch is at its new head. Else the remote's reason. */
  readonly refusal: string | null;
  /** The output of its hooks. */
  readonly words: string;
}

const NOWHERE = '0'.repeat(40);
const AGENT = 'agent=git/treeline';
const REPORTS = 'report-status';
const BANDS = 'side-band-64k';
/** Requested if offered. Not `atomic`: for one branch it only hides the reasons. */
const WANTED = [REPORTS, BANDS, 'quiet'];

/** Returns the body of the request that moves one branch. */
export function pushRequest(
  { branch, old, commit }: RefUpdate,
  { capabilities, pack }: { readonly capabilities: ReadonlySet<string>; readonly pack: Uint8Array },
): Buffer {
  const asked = [...WANTED.filter((each) => capabilities.has(each)), AGENT].join(' ');
  const order = packetLine(`${old ?? NOWHERE} ${commit} ${HEADS}${branch}\0 ${asked}\n`);
  return Buffer.concat([order, Buffer.from(FLUSH), pack]);
}

/** Returns true if the remote can report the result of a push. */
export function canReport({ capabilities }: Advertisement): boolean {
  return capabilities.has(REPORTS);
}

/** Reads the answer to a push of `branch`. Throws if the report is incomplete: then the result is unknown. */
export function readReport(
  body: Buffer,
  branch: string,
  { capabilities }: Pick<Advertisement, 'capabilities'>,
): PushReport {
  const { content, words, failure } = capabilities.has(BANDS)
    ? splitBands(body)
    : { content: body, words: '', failure: null };
  if (failure !== null) throw new Error(`the remote gave up: ${failure}`);
  const packets = readPackets(content);
  if (packets.at(-1) !== null) throw new Error('the report does not end');
  const [unpacking, ...results] = packets.slice(0, -1).map((packet) => (packet === null ? '' : lineIn(packet)));
  const unpacked = /^unpack (.+)$/.exec(unpacking ?? '')?.[1];
  if (unpacked === undefined) throw new Error('there is no report');
  if (unpacked !== 'ok') return { refusal: `it cannot unpack what was sent: ${unpacked}`, words };
  if (results.includes(`ok ${HEADS}${branch}`)) return { refusal: null, words };
  const refused = `ng ${HEADS}${branch} `;
  const refusal = results.find((line) => line.startsWith(refused))?.slice(refused.length);
  if (refusal === undefined) throw new Error(`the report does not name the branch ${branch}`);
  return { refusal, words };
}
