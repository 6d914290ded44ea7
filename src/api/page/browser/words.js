// Puts what the interface answers into words: times, states, commands, values. Touches no document, so that it is tested without a browser.

/** @typedef {'good' | 'busy' | 'warn' | 'bad' | 'idle'} Tone */
/** @typedef {{ readonly kind: 'words' | 'command', readonly text: string }} ActionPart */

/** Each with a sign of its own, so that colour is not the only one. @type {Readonly<Record<string, readonly [Tone, string]>>} */
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
  held: ['warn', '◆'],
  'not followed': ['bad', '!'],
};

/** Returns the tone and the sign of a state of a server, or of a status of an instance. @param {string} state */
export function signOf(state) {
  return SIGNS[state.toLowerCase()] ?? /** @type {readonly [Tone, string]} */ (['bad', '!']);
}

/** The states of servers, those that need a person first. */
export const STATE_ORDER = [
  ...['failed', 'blocked', 'drifted', 'unknown', 'retrying', 'creating', 'updating', 'deleting', 'pending'],
  ...['marked for delete', 'done'],
];

const UNITS = /** @type {const} */ ([
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
]);

/** Returns how long that is, in the largest unit that fits, as "3 min". @param {number} ms */
export function duration(ms) {
  for (const [unit, size] of UNITS) if (ms >= size) return `${Math.floor(ms / size)} ${unit}`;
  return `${Math.max(0, Math.floor(ms / 1000))} s`;
}

/** Returns "3 min ago", or "in 3 min" of a time to come. @param {string} time RFC 3339 @param {number} now */
export function distance(time, now) {
  const ms = now - Date.parse(time);
  return ms < 0 ? `in ${duration(-ms)}` : `${duration(ms)} ago`;
}

/** Returns a number with its word. @param {number} count @param {string} word */
export function counted(count, word) {
  return `${count.toLocaleString('en')} ${word}${count === 1 ? '' : 's'}`;
}

/** Returns the first letters of a commit, which name it. @param {string} commit */
export function shortCommit(commit) {
  return commit.slice(0, 10);
}

/** Returns a value of a property as text. @param {unknown} value @returns {string} */
export function shownValue(value) {
  if (value === null || value === undefined) return '–';
  if (Array.isArray(value)) return value.map(shownValue).join(', ');
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/**
 * Returns an advice as words and commands: what begins with "treeline" and ends before the next sentence is one to paste.
 * @param {string} action
 * @returns {readonly ActionPart[]}
 */
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

/** Nothing that a shell obeys is part of one: it is pasted. @param {string} text */
function findCommand(text) {
  return /(?<=^|[\s:])treeline [a-z][a-z-]*(?: [\w./:=@-]+(?=[\s;,]|$))*/.exec(text);
}
