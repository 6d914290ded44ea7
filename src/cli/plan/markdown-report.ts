// Writes a plan as Markdown for the comment of a pull request. The most harmful changes come first, long lists are
// folded, and the text stays below the limit of a comment. It contains no times, so that equal plans give equal texts.

import { countOf, escapeCharacter, grouped, shortOid } from '../../base/wording.ts';
import { isError, type Problem, placeOf } from '../../model/problem.ts';
import { isKnownAfter, type Plan } from '../../plan/plan.ts';
import {
  type Item,
  knownProblemsText,
  type PlanStyle,
  planHeadline,
  planSections,
  problemCounts,
  type Section,
} from './plan-sections.ts';

/** The maximum length of a report. GitHub's limit for a comment is 65,536 characters. */
export const MARKDOWN_LENGTH_MAX = 60_000;
/** The length of the lines below the last section, and of a section's text other than title, note and items. */
const LAST_LINES_LENGTH_MAX = 1_000;
const FRAME_LENGTH_MAX = 200;
const ID_LENGTH_MAX = 200;
/** The maximum length of the command in the last line. */
const COMMAND_LENGTH_MAX = 250;
const VALUE_LENGTH_MAX = 100;
/** Items of a list that are shown unfolded. */
const UNFOLDED_MAX = 12;
const INSTANCES_MAX = 5;

/** The facts that the report needs in addition to the plan. */
export interface MarkdownOptions {
  /**
   * Distinguishes comments of several plans for the same pull request, such as for other directories; '' for the only
   * one.
   */
  readonly id?: string;
  /** The path from the root of the Git repository to the layout: '' or one that ends in `/`. */
  readonly prefix?: string;
  /** True if the plan compares with the recorded state of a controller. */
  readonly isRecorded?: boolean;
}

/**
 * Returns a plan as Markdown of at most {@link MARKDOWN_LENGTH_MAX} characters. Its first line identifies the
 * comment.
 */
export function markdownReport(plan: Plan, options: MarkdownOptions = {}): string {
  const { id = '', prefix = '' } = options;
  const style = { ...STYLE, prefix };
  const blocks = [markerOf(id), `### Treeline plan: ${planHeadline(plan)}`];
  let left = MARKDOWN_LENGTH_MAX - LAST_LINES_LENGTH_MAX - blocks.join('').length;
  let omitted = 0;
  for (const section of [...planSections(plan, style), problemSection(plan, style)]) {
    const shown = itemsWithin(section, left);
    const rest = countIn(section.items.slice(shown.length));
    omitted += rest;
    if (shown.length === 0) continue;
    const text = writeSection(section, shown, rest);
    left -= text.length;
    blocks.push(text);
  }
  const known = knownProblemsText(plan);
  return [...blocks, ...(known === undefined ? [] : [known]), lastLine(plan, options, omitted)].join('\n\n');
}

/**
 * Returns the comment for commits without a plan. It replaces an earlier comment, because otherwise an author could
 * keep the comment of a harmless commit.
 */
export function markdownWithoutPlan(id: string): string {
  const advice = 'No plan of the newest commit could be made. The output of the command says why.';
  return `${markerOf(id)}\n\n### Treeline plan: none\n\n${advice}`;
}

const STYLE: PlanStyle = {
  name: (text) => code(text),
  sentence: prose,
  value(value) {
    if (isKnownAfter(value)) return code(value);
    return value === null ? 'none' : code(JSON.stringify(value), VALUE_LENGTH_MAX);
  },
  arrow: '→',
  prefix: '',
};

/** Returns an invisible line with a hash of the id, since the id itself could end the HTML comment. */
function markerOf(id: string): string {
  const written = encodeURIComponent(id.slice(0, ID_LENGTH_MAX).toWellFormed());
  return id === '' ? '<!-- treeline-plan -->' : `<!-- treeline-plan ${written} -->`;
}

/** The new problems of head, errors first. */
function problemSection({ problems }: Plan, style: PlanStyle): Section {
  const sorted = [...problems.filter(isError), ...problems.filter((problem) => !isError(problem))];
  return {
    noun: 'problem',
    title: `Problems: ${problemCounts(problems).join(', ')}`,
    items: sorted.map((problem) => problemItem(problem, style)),
  };
}

function problemItem(problem: Problem, { prefix }: PlanStyle): Item {
  const { severity, code: name, message, hint, instances = [] } = problem;
  const place = placeOf(problem);
  const at = place === '' ? '' : ` at ${code(`${prefix}${place}`)}`;
  const more = instances.length > INSTANCES_MAX ? ` and ${grouped(instances.length - INSTANCES_MAX)} more` : '';
  const stopped = instances.slice(0, INSTANCES_MAX).map((instance) => code(instance));
  return {
    line: `${severity} ${code(name)}${at}: ${prose(message)}`,
    details: [
      ...(hint === null ? [] : [`hint: ${prose(hint)}`]),
      ...(stopped.length === 0 ? [] : [`stops ${stopped.join(', ')}${more}`]),
    ],
    count: 1,
  };
}

/** Returns the first items that fit. */
function itemsWithin({ title, note = '', items }: Section, lengthMax: number): readonly Item[] {
  let left = lengthMax - title.length - note.length - FRAME_LENGTH_MAX;
  const end = items.findIndex((item) => {
    left -= itemText(item).length + 1;
    return left < 0;
  });
  return end === -1 ? items : items.slice(0, end);
}

/** Omits whole items: it never cuts inside an item or an element. */
function writeSection({ title, note, noun }: Section, items: readonly Item[], omitted: number): string {
  const [unfolded, folded] = [items.slice(0, UNFOLDED_MAX), items.slice(UNFOLDED_MAX)];
  const summary = `<details><summary>${countOf(countIn(folded), `more ${noun}`)}</summary>`;
  return [
    `#### ${title}`,
    ...(note === undefined ? [] : [note]),
    ...listOf(unfolded),
    ...(folded.length === 0 ? [] : [summary, ...listOf(folded), '</details>']),
    ...(omitted === 0 ? [] : [`${countOf(omitted, `more ${noun}`)} not shown.`]),
  ].join('\n\n');
}

function countIn(items: readonly Item[]): number {
  return items.reduce((sum, { count }) => sum + count, 0);
}

function listOf(items: readonly Item[]): readonly string[] {
  return items.length === 0 ? [] : [items.map(itemText).join('\n')];
}

function itemText({ line, details }: Item): string {
  return [`- ${line}`, ...details.map((text) => `  - ${text}`)].join('\n');
}

function lastLine({ base, head }: Plan, { prefix = '', isRecorded = false }: MarkdownOptions, omitted: number): string {
  const directory = prefix === '' ? '' : ` ${prefix.replace(/\/$/, '')}`;
  const command = `treeline plan --base ${shortOid(base)} --head ${shortOid(head)} --format json${directory}`;
  const shown = isRecorded ? 'the same command with `--format json`' : code(command, COMMAND_LENGTH_MAX);
  const cut = omitted === 0 ? '' : `${grouped(omitted)} items are not shown, since a comment has a limit. `;
  return `${cut}All servers and values: ${shown}`;
}

// Untrusted names and texts must stay plain text: no markup, HTML, link, mention of a user or reference to an issue.
// Everything doubtful is in a code span, in which GitHub, GitLab and Gitea interpret none of these.

/** The maximum length of a name in characters. Names of servers and instances are rarely longer. */
const NAME_LENGTH_MAX = 120;
/** The maximum length of a sentence in characters. */
const SENTENCE_LENGTH_MAX = 400;
const ELLIPSIS = '…';

/** Control characters, marks that change the direction of writing, characters without a glyph, unpaired surrogates. */
const HIDDEN = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u;
/**
 * Runs of backticks to escape. A delimiter has to be longer than every run inside. The parsers of GitHub and GitLab
 * (cmark-gfm, comrak) support at most 80, so a longer run would turn the text into Markdown.
 */
const LONG_RUN = /`{11,}/g;

/**
 * Returns a text with escaped hidden characters and long runs of backticks, truncated with an ellipsis to `lengthMax`.
 */
function shown(text: string, lengthMax: number): string {
  let written = '';
  for (const character of text.replace(LONG_RUN, (run) => escaped(run))) {
    const next = HIDDEN.test(character) ? escaped(character) : character;
    if (written.length + next.length > lengthMax) return `${written}${ELLIPSIS}`;
    written += next;
  }
  return written;
}

function escaped(text: string): string {
  return text.split('').map(escapeCharacter).join('');
}

/** Returns a text as a code span of one line. */
export function code(text: string, lengthMax: number = NAME_LENGTH_MAX): string {
  return writeSpan(shown(text, lengthMax));
}

/** The delimiter is longer than every run of backticks inside (CommonMark 0.31, section 6.1). */
function writeSpan(visible: string): string {
  if (visible === '') return '(empty)';
  const runs = visible.match(/`+/g) ?? [];
  const delimiter = '`'.repeat(1 + Math.max(0, ...runs.map((run) => run.length)));
  // Markdown strips one space at both ends. It separates backticks, and protects the text's own spaces.
  const isPadded = /^`|`$|^ .* $/.test(visible) && visible.trim() !== '';
  return isPadded ? `${delimiter} ${visible} ${delimiter}` : `${delimiter}${visible}${delimiter}`;
}

/** Words and small numbers, except words that may be a commit id. */
const PLAIN = /^(?![A-Fa-f]{7})(?:[A-Za-z]{1,40}(?:['-][A-Za-z]{1,40}){0,3}|\d{1,6})$/;

/** A quotation, or text between blanks, without surrounding parentheses and a punctuation mark at the end. */
const WORD = /(?<=^|[\s(])(?:"[^"]*"|[^\s(]\S*?)(?=\)?[.,;:?]?(?:\s|$))/g;

/**
 * Returns a sentence with plain words unchanged and everything else in code spans. Do not put it at the beginning of a
 * line, where a number and a full stop would begin a list.
 */
export function prose(sentence: string): string {
  const written = shown(sentence, SENTENCE_LENGTH_MAX).replaceAll(/\s+/g, ' ');
  return written.replaceAll(WORD, (word) => (PLAIN.test(word) ? word : writeSpan(word)));
}
