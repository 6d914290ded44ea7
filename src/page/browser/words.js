// Formats answers of the interface: times, states, commands, values, links. Does not use the document, so that tests need no browser.

/** @typedef {'good' | 'busy' | 'warn' | 'bad' | 'idle'} Tone */
/** @typedef {{ readonly kind: 'words' | 'command', readonly text: string }} ActionPart */

/** Each with its own sign, because colour alone is not accessible. @type {Readonly<Record<string, readonly [Tone, string]>>} */
const SIGNS = {
  pending: ['idle', '○'],
  blocked: ['bad', '■'],
  creating: ['busy', '+'],
  updating: ['busy', '↑'],
  deleting: ['busy', '−'],
  retrying: ['warn', '↻'],
  unknown: ['warn', '?'],
  done: ['good', '✓'],
  drifted: ['warn', '≠'],
  failed: ['bad', '✕'],
  'marked for delete': ['idle', '−'],
  'in progress': ['busy', '…'],
  suspended: ['idle', '‖'],
  invalid: ['bad', '!'],
  'awaiting approval': ['warn', '◆'],
  followed: ['good', '✓'],
  delivered: ['good', '✓'],
  outdated: ['busy', '↑'],
  held: ['warn', '◆'],
  refused: ['bad', '✕'],
  'not followed': ['bad', '!'],
};

/** Returns the tone and the sign of a server's state, an instance's status or a commit's state. @param {string} state */
export function signOf(state) {
  return SIGNS[state.toLowerCase()] ?? /** @type {readonly [Tone, string]} */ (['bad', '!']);
}

/** The states of servers, sorted by urgency. */
export const STATE_ORDER = [
  ...['failed', 'blocked', 'drifted', 'unknown', 'retrying', 'creating', 'updating', 'deleting', 'pending'],
  ...['marked for delete', 'done'],
];

/** The statuses of instances, sorted by urgency. */
export const STATUS_ORDER = [
  ...[
    'Failed',
    'Blocked',
    'Invalid',
    'Awaiting approval',
    'Drifted',
    'Suspended',
    'In progress',
    'Marked for delete',
    'Done',
  ],
];

/** The headings of the kinds of causes. @type {Readonly<Record<string, readonly [Tone, string]>>} */
const KINDS = {
  store: ['bad', 'Nothing is saved'],
  leader: ['bad', 'No replica leads'],
  replicas: ['warn', 'Replicas differ, or cannot reach the leader'],
  recovery: ['bad', 'Recovery'],
  repository: ['bad', 'The repository cannot be read'],
  commit: ['bad', 'The newest commit is not followed'],
  held: ['warn', 'Waits for approval'],
  gone: ['bad', 'Servers are gone'],
  provider: ['bad', 'A provider does not answer'],
  proxies: ['bad', 'Proxies are silent'],
  programs: ['bad', 'A program does not end'],
  invalid: ['bad', 'Invalid files'],
  cycle: ['bad', 'Servers wait for one another'],
  failed: ['bad', 'Servers failed'],
  lost: ['bad', 'The outcome is unknown'],
  blocked: ['bad', 'Servers are blocked'],
  drifted: ['warn', 'Servers drifted'],
  unchecked: ['warn', 'Checks fail'],
  unapplied: ['warn', 'Records are not applied'],
  entry: ['warn', 'A provider entry is missing'],
  certificate: ['warn', 'Certificates end'],
  statuses: ['warn', 'Commit statuses are not sent'],
  notifications: ['warn', 'A subscriber is not notified'],
  audit: ['warn', 'The audit log loses lines'],
};

/** Returns the tone and the heading of a kind of cause. @param {string} kind */
export function kindOf(kind) {
  return KINDS[kind] ?? /** @type {readonly [Tone, string]} */ (['bad', kind]);
}

/** Returns a comparison of [state, name]: first by the order of states, then by name.
 * @param {readonly string[]} order @returns {(a: readonly [string, string], b: readonly [string, string]) => number} */
export function worstFirst(order) {
  const rank = (/** @type {string} */ word) => (order.includes(word) ? order.indexOf(word) : order.length);
  return ([wordA, nameA], [wordB, nameB]) => rank(wordA) - rank(wordB) || byName(nameA, nameB);
}

/** Compares names, with numbers as numbers: app-2 comes before app-10. */
export const byName = new Intl.Collator('en', { numeric: true }).compare;

const UNITS = /** @type {const} */ ([
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
]);

/** Returns a duration in its largest unit, such as "3 min". @param {number} ms */
export function duration(ms) {
  for (const [unit, size] of UNITS) if (ms >= size) return `${Math.floor(ms / size)} ${unit}`;
  return `${Math.max(0, Math.floor(ms / 1000))} s`;
}

/** Returns the duration of a call, such as "120 ms" or "3.4 s". @param {number} ms */
export function callDuration(ms) {
  return ms < 1000 ? `${Math.round(ms)} ms` : ms < 10_000 ? `${(ms / 1000).toFixed(1)} s` : duration(ms);
}

/** Returns "3 min ago", or "in 3 min" for a future time. @param {string} time RFC 3339 @param {number} now */
export function distance(time, now) {
  const ms = now - Date.parse(time);
  return ms < 0 ? `in ${duration(-ms)}` : `${duration(ms)} ago`;
}

/** Returns a time in the form for hovering. @param {string} time RFC 3339 */
export const exact = (time) => `${time.slice(0, 10)} ${time.slice(11, 19)} UTC`;

/** Returns a number with its noun, such as "2 servers". @param {number} count @param {string} word */
export function counted(count, word) {
  return `${count.toLocaleString('en')} ${word}${count === 1 ? '' : 's'}`;
}

/** Returns the short id of a commit. @param {string} commit */
export function shortCommit(commit) {
  return commit.slice(0, 8);
}

/** Returns a value of a property as text. @param {unknown} value @returns {string} */
export function shownValue(value) {
  if (value === null || value === undefined) return '–';
  if (Array.isArray(value)) return value.map(shownValue).join(', ');
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Returns the last line of a message, and the whole message if it has more. The last line of a traceback is the error. @param {string} text */
export function lastLineFirst(text) {
  const lines = text.trimEnd().split('\n');
  return { line: lines.at(-1)?.trim() ?? '', whole: lines.length > 1 ? text.trimEnd() : null };
}

/** Splits advice into words and commands. A command begins with "treeline" and ends before the next sentence. @param {string} action @returns {readonly ActionPart[]} */
export function actionParts(action) {
  /** @type {ActionPart[]} */
  const parts = [];
  let rest = action;
  for (let match = findCommand(rest); match !== null; match = findCommand(rest)) {
    const [text] = match;
    if (match.index > 0) parts.push({ kind: 'words', text: rest.slice(0, match.index) });
    parts.push({ kind: 'command', text });
    rest = rest.slice(match.index + text.length);
  }
  return rest === '' ? parts : [...parts, { kind: 'words', text: rest }];
}

/** A command contains no shell metacharacters, because users paste it. @param {string} text */
function findCommand(text) {
  return /(?<=^|[\s:])treeline [a-z][a-z-]*(?: [\w./:=@-]+(?=[\s;,]|$))*/.exec(text);
}

/** Splits a text into words, addresses, commit ids and times. @param {string} text @returns {readonly { readonly kind: 'words' | 'address' | 'commit' | 'time', readonly text: string }[]} */
export function textParts(text) {
  return text.split(PARTS).map((part, index) => {
    if (index % 2 === 0) return { kind: 'words', text: part };
    return { kind: part.startsWith('http') ? 'address' : /^[0-9a-f]{40}$/.test(part) ? 'commit' : 'time', text: part };
  });
}

const PARTS = new RegExp(
  `(${[
    'https?://[^\\s<>"\'\x60]*[^\\s<>"\'\x60.,;:!?)\\]}]',
    '\\b[0-9a-f]{40}\\b',
    '\\b\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(?:\\.\\d+)?Z',
  ].join('|')})`,
);

/** Returns an address at the forge; null if it is not a web address. @param {string | null | undefined} template @param {{ readonly commit: string, readonly path?: string, readonly line?: number | null }} place */
export function forgeAddress(template, { commit, path = '', line }) {
  if (!template || !/^https?:\/\//.test(template)) return null;
  const encoded = path.split('/').map(encodeURIComponent).join('/');
  return template
    .replace('{commit}', commit)
    .replace('{path}', encoded)
    .replace('{line}', String(line ?? 1));
}
