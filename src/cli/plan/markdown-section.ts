// Writes sections of a Markdown text: a heading, a list, the rest of a long list folded, and within a length. Nothing is
// cut inside an item or an element: items are left out whole, and counted.
import { countOf } from '../../base/wording.ts';

/** Lines of a list that are shown unfolded. */
const LINES_MAX = 12;

/** An item of a list: its first line without the mark of the list, and lines below it. */
export interface Item {
  readonly line: string;
  readonly below: readonly string[];
  /** How many changes it stands for. */
  readonly count: number;
}

/** A heading and a list. */
export interface Section {
  /** One of the changes that items stand for, for `5 more deletes`. */
  readonly noun: string;
  readonly heading: string;
  /** A paragraph above the list. */
  readonly note?: string;
  readonly items: readonly Item[];
}

/** A section as Markdown. */
interface WrittenSection {
  readonly text: string;
  /** How many changes are left out. */
  readonly omitted: number;
}

/** The length of what a section may have beside its heading, note and items: elements, line feeds, the last line. */
const FRAME_LENGTH_MAX = 200;

/** Returns the sections as Markdown that is at most `lengthMax` long. Each gets an equal share of what others leave. */
export function writeSections(sections: readonly Section[], lengthMax: number): readonly WrittenSection[] {
  const shares = fairShares(sections.map(lengthOf), lengthMax);
  return sections.map((section, index) => writeSection(section, shares[index] ?? 0));
}

/** Returns how much each gets: all of its need, or an equal share of what those with smaller needs leave. */
function fairShares(needs: readonly number[], total: number): readonly number[] {
  const shares = needs.map(() => 0);
  const order = needs.map((need, index) => ({ need, index })).sort((a, b) => a.need - b.need || a.index - b.index);
  let left = total;
  for (const [position, { need, index }] of order.entries()) {
    const share = Math.min(need, Math.floor(left / (order.length - position)));
    shares[index] = share;
    left -= share;
  }
  return shares;
}

/** An upper bound of the length of a section with all its items. */
function lengthOf(section: Section): number {
  return section.items.reduce((length, item) => length + itemText(item).length + 1, frameLengthOf(section));
}

function frameLengthOf({ heading, note }: Section): number {
  return heading.length + (note?.length ?? 0) + FRAME_LENGTH_MAX;
}

function writeSection(section: Section, lengthMax: number): WrittenSection {
  const shown = itemsWithin(section, lengthMax);
  const unfolded = itemsUnfolded(shown);
  const folded = shown.slice(unfolded.length);
  const omitted = countIn(section.items.slice(shown.length));
  const blocks = [
    `#### ${section.heading}`,
    ...(section.note === undefined ? [] : [section.note]),
    ...listOf(unfolded),
    ...(folded.length === 0
      ? []
      : [`<details><summary>${nounOf(section, countIn(folded))}</summary>`, ...listOf(folded), '</details>']),
    ...(omitted === 0 ? [] : [`${nounOf(section, omitted)} not shown.`]),
  ];
  return { text: blocks.join('\n\n'), omitted };
}

/** The first items that fit. */
function itemsWithin(section: Section, lengthMax: number): readonly Item[] {
  let left = lengthMax - frameLengthOf(section);
  const end = section.items.findIndex((item) => {
    left -= itemText(item).length + 1;
    return left < 0;
  });
  return end === -1 ? section.items : section.items.slice(0, end);
}

/** The first items that stand above the fold; all, where they are few enough. */
function itemsUnfolded(items: readonly Item[]): readonly Item[] {
  let lines = 0;
  const end = items.findIndex(({ below }) => {
    lines += 1 + below.length;
    return lines > LINES_MAX;
  });
  return end === -1 ? items : items.slice(0, end);
}

function countIn(items: readonly Item[]): number {
  return items.reduce((sum, { count }) => sum + count, 0);
}

function nounOf({ noun }: Section, count: number): string {
  return countOf(count, `more ${noun}`);
}

function listOf(items: readonly Item[]): readonly string[] {
  return items.length === 0 ? [] : [items.map(itemText).join('\n')];
}

function itemText({ line, below }: Item): string {
  return [`- ${line}`, ...below.map((text) => `  - ${text}`)].join('\n');
}
