// Random YAML files in random styles. Every key, text and comment is there once, so that it is clear what became of it.
import fc from 'fast-check';
import type { Json, JsonMap } from '../../src/model/json.ts';

interface Leaf {
  readonly style: 'plain' | 'single' | 'double' | 'literal' | 'folded' | 'number';
}

interface Branch {
  readonly style: 'block' | 'flow' | 'lines';
  readonly isList: boolean;
  readonly hasEndComment: boolean;
  readonly entries: readonly Entry[];
}

interface Entry {
  readonly value: Leaf | Branch;
  readonly isBelowBlank: boolean;
  readonly commentsAbove: number;
  readonly hasComment: boolean;
}

/** `stays` is JSON: while it is in the wanted value, the line has to stay; `keeps` is the same for its comment. */
export interface RandomLine {
  readonly text: string;
  readonly stays?: string | undefined;
  readonly keeps?: string | undefined;
}

export interface RandomFile {
  readonly lines: readonly RandomLine[];
  readonly value: JsonMap;
}

const LEAF = fc.record<Leaf>({
  style: fc.constantFrom('plain', 'plain', 'single', 'double', 'literal', 'folded', 'number'),
});
const { branch } = fc.letrec<{ branch: Branch; entry: Entry }>((tie) => ({
  entry: fc.record({
    value: fc.oneof({ maxDepth: 3 }, { weight: 2, arbitrary: LEAF }, tie('branch')),
    isBelowBlank: fc.boolean(),
    commentsAbove: fc.constantFrom(0, 0, 0, 1, 2),
    hasComment: fc.boolean(),
  }),
  branch: fc.record({
    style: fc.constantFrom('block', 'block', 'flow', 'lines'),
    isList: fc.boolean(),
    hasEndComment: fc.boolean(),
    entries: fc.array(tie('entry'), { minLength: 1, maxLength: 4 }),
  }),
}));

export const RANDOM_FILE: fc.Arbitrary<RandomFile> = fc.tuple(branch, fc.boolean()).map(([root, isFlush]) => {
  const writer = new Writer(isFlush);
  const value = writer.block({ ...root, isList: false }, { column: 0, lead: '' }) as JsonMap;
  return { lines: writer.lines, value };
});

/** Where the entries of a block begin, and what is in front of the first one. */
interface Start {
  readonly column: number;
  readonly lead: string;
}

class Writer {
  readonly lines: RandomLine[] = [];
  /** The dashes of lists are below the first letter of their key. */
  readonly #isFlush: boolean;
  #count = 0;

  constructor(isFlush: boolean) {
    this.#isFlush = isFlush;
  }

  block(branch: Branch, { column, lead }: Start): Json {
    const pad = ' '.repeat(column);
    const pairs = branch.entries.map((entry, index): [string, Json] => {
      const id = this.#count++;
      const key = `k${id}`;
      const text = `text ${id}!`;
      const isLeaf = !('entries' in entry.value);
      const keeps = branch.isList ? (isLeaf ? `"${text}` : undefined) : `"${key}":`;
      const isBehindDash = index === 0 && lead.trim() !== '';
      if (!isBehindDash && entry.isBelowBlank) this.lines.push({ text: '' });
      const above = isBehindDash || (index === 0 && column === 0) ? 0 : entry.commentsAbove;
      for (let nth = 0; nth < above; nth++) this.lines.push(this.#comment(pad, keeps));
      const head = `${index === 0 ? lead : pad}${branch.isList ? '-' : `${key}:`}`;
      return [key, this.#entry(entry, { head, column, keeps, text, isItem: branch.isList })];
    });
    if (branch.hasEndComment && !(branch.isList && this.#isFlush)) this.lines.push(this.#comment(pad));
    return branch.isList ? pairs.map(([, value]) => value) : Object.fromEntries(pairs);
  }

  #comment(pad: string, keeps?: string): RandomLine {
    return { text: `${pad}# c${this.#count++}.`, keeps };
  }

  #entry(
    { value, hasComment }: Entry,
    at: { head: string; column: number; keeps: string | undefined; text: string; isItem: boolean },
  ): Json {
    const { head, column, keeps, text, isItem } = at;
    const trailing = hasComment ? ` # c${this.#count++}.` : '';
    const proofOf = (json: Json): string => (isItem ? '' : (keeps ?? '')) + JSON.stringify(json);
    if (!('entries' in value)) {
      const { style } = value;
      const unique = isItem && style === 'number' ? 'plain' : style;
      const [json, first, ...more] = leafLines(unique, text, ' '.repeat(column + 2));
      this.lines.push({ text: `${head} ${first}${trailing}`, stays: proofOf(json), keeps });
      for (const line of more) this.lines.push({ text: line, stays: proofOf(json) });
      return json;
    }
    if (value.style === 'block') {
      if (isItem) return this.block(value, { column: column + 2, lead: `${head} ` });
      this.lines.push({ text: head + trailing, stays: keeps && `${keeps}${value.isList ? '["' : '{"'}`, keeps });
      const below = value.isList && this.#isFlush ? column : column + 2;
      return this.block(value, { column: below, lead: ' '.repeat(below) });
    }
    const [opening, closing] = value.isList ? ['[', ']'] : ['{', '}'];
    const items = value.entries.map((entry): [Json, string] => this.#inBrackets(entry, value.isList));
    const json = value.isList ? items.map(([item]) => item) : Object.assign({}, ...items.map(([item]) => item));
    if (value.style === 'flow') {
      const inside = items.map(([, item]) => item).join(', ');
      this.lines.push({ text: `${head} ${opening}${inside}${closing}${trailing}`, stays: proofOf(json), keeps });
      return json;
    }
    this.lines.push({ text: `${head} ${opening}` });
    for (const [, item] of items) this.lines.push({ text: `${' '.repeat(column + 4)}${item},`, stays: proofOf(json) });
    this.lines.push({ text: `${' '.repeat(column + 2)}${closing}${trailing}`, stays: proofOf(json) });
    return json;
  }

  #inBrackets({ value }: Entry, isItem: boolean): [json: Json, text: string] {
    const id = this.#count++;
    const key = `k${id}`;
    if (!('entries' in value)) return isItem ? [`text ${id}`, `"text ${id}"`] : [{ [key]: id }, `${key}: ${id}`];
    const items = value.entries.map((entry) => this.#inBrackets(entry, value.isList));
    const texts = items.map(([, text]) => text).join(', ');
    const json = value.isList ? items.map(([item]) => item) : Object.assign({}, ...items.map(([item]) => item));
    const text = value.isList ? `[${texts}]` : `{${texts}}`;
    return isItem ? [json, text] : [{ [key]: json }, `${key}: ${text}`];
  }
}

function leafLines(style: Leaf['style'], text: string, pad: string): [json: Json, first: string, ...more: string[]] {
  if (style === 'single') return [text, `'${text}'`];
  if (style === 'double') return [text, `"${text}"`];
  if (style === 'literal') return [`${text}\n# x\n\n  u\n`, '|', `${pad}${text}`, `${pad}# x`, '', `${pad}  u`];
  if (style === 'folded') return [`${text} u`, '>-', `${pad}${text}`, `${pad}u`];
  return style === 'number' ? [Number.parseInt(text.slice(5), 10), text.slice(5, -1)] : [text, text];
}
