// Writes a plan as Markdown for the comment of a pull request. What may do harm stands first; what is long is folded;
// the whole stays below the limit of a comment. Holds no times, so that an equal plan gives an equal text.

import { countOf, grouped, shortOid } from '../../base/wording.ts';
import type { Plan } from '../../plan/plan.ts';
import {
  accessSection,
  configurationSection,
  heldSection,
  invalidSection,
  nodesSection,
  problemsSection,
  renameSection,
  retainedSection,
  safetySection,
  serverSections,
} from './markdown-lists.ts';
import { type Section, writeSections } from './markdown-section.ts';
import { code } from './markdown-text.ts';
import { writeHeadline } from './plan-headline.ts';

/** The length of a report. A comment of GitHub holds 65,536 characters. */
export const MARKDOWN_LENGTH_MAX = 60_000;

const ID_LENGTH_MAX = 200;
/** The length of a path in the command of the last line, beyond which it is cut. */
const PATH_LENGTH_MAX = 250;

/** The facts that the report needs beside the plan. */
export interface MarkdownOptions {
  /** Tells the comment from those of other plans for the same pull request, such as of another directory or stage; '' for the only one. */
  readonly id?: string;
  /** The path from the root of the Git repository to the layout: '' or one that ends in `/`. */
  readonly prefix?: string;
  /** True if the plan compares with what a controller has recorded, which commits alone do not tell. */
  readonly isRecorded?: boolean;
}

/** Returns a plan as Markdown of at most {@link MARKDOWN_LENGTH_MAX} characters. By its first line the comment is found again. */
export function markdownReport(plan: Plan, options: MarkdownOptions = {}): string {
  const { id = '', prefix = '' } = options;
  const head = `${markerOf(id)}\n\n### Treeline plan: ${writeHeadline(plan)}`;
  const known = knownLines(plan);
  const sections = listSections(plan, prefix);
  const counts = sections.flatMap(({ items }) => items.map(({ count }) => count));
  // Of the last line in its longest form, and the empty lines around sections.
  const longest = lastLine(
    plan,
    options,
    counts.reduce((sum, count) => sum + count, 1),
  );
  const reserved = head.length + known.join('').length + longest.length + 2 * (sections.length + 2);
  const written = writeSections(sections, MARKDOWN_LENGTH_MAX - reserved);
  const omitted = written.reduce((sum, section) => sum + section.omitted, 0);
  return [head, ...written.map(({ text }) => text), ...known, lastLine(plan, options, omitted)].join('\n\n');
}

/**
 * Returns the comment for commits of which no plan could be made. It takes the place of an earlier one, which is about other
 * commits: an author could have that of a harmless commit stay.
 */
export function markdownWithoutPlan(id: string): string {
  const advice = 'No plan of the newest commit could be made. The output of the command says why.';
  return `${markerOf(id)}\n\n### Treeline plan: none\n\n${advice}`;
}

/** The characters that are replaced, since some of them could end a comment of HTML. */
const OUTSIDE_ID = /[^A-Za-z0-9._/-]/gu;

/** Returns the line that no reader sees, and that is another one for each id. */
function markerOf(id: string): string {
  if (id === '') return '<!-- treeline-plan -->';
  const written = id.slice(0, ID_LENGTH_MAX).replace(OUTSIDE_ID, (character) => `%${character.codePointAt(0)}.`);
  return `<!-- treeline-plan ${written} -->`;
}

function listSections(plan: Plan, prefix: string): readonly Section[] {
  const servers = serverSections(plan.changes, prefix);
  const deletes = servers.filter(({ noun }) => noun === 'delete');
  return [
    ...accessSection(plan.access),
    ...safetySection(plan.safety),
    ...heldSection(plan.held),
    ...renameSection(plan.renames),
    ...deletes,
    ...servers.filter((section) => !deletes.includes(section)),
    ...retainedSection(plan.retained, prefix),
    ...configurationSection(plan.configuration, prefix),
    ...nodesSection(plan.nodes, prefix),
    ...problemsSection(plan.problems, prefix),
    ...invalidSection(plan.invalid),
  ];
}

/** Problems that base has too are for another pull request. */
function knownLines({ knownProblems }: Plan): readonly string[] {
  if (knownProblems === 0) return [];
  return [
    `${countOf(knownProblems, 'problem')} of base ${knownProblems === 1 ? 'stays' : 'stay'}: \`treeline validate\` shows them.`,
  ];
}

function lastLine({ base, head }: Plan, { prefix = '', isRecorded = false }: MarkdownOptions, omitted: number): string {
  const directory = prefix === '' ? '' : ` ${prefix.replace(/\/$/, '')}`;
  const command = isRecorded
    ? 'the same command with `--format json`'
    : code(
        `treeline plan --base ${shortOid(base)} --head ${shortOid(head)} --format json${directory}`,
        PATH_LENGTH_MAX,
      );
  const cut = omitted === 0 ? '' : `${grouped(omitted)} items are not shown, since a comment has a limit. `;
  return `${cut}All servers and values: ${command}`;
}
