// Random YAML files in random styles, and random edits of them. Knows of every line whether an edit has to leave it alone.
import fc, { type GeneratorValue } from 'fast-check';
import { emptyMap, type Json, type JsonMap } from '../../src/model/json.ts';

interface Leaf {
  readonly kind: 'leaf';
  readonly value: Json;
  readonly style: 'plain' | 'single' | 'double' | 'literal' | 'folded' | 'empty';
  replacement?: Json;
}

interface Branch {
  readonly kind: 'map' | 'list';
  /** In brackets on one line; or in brackets with a line for every entry. */
  readonly style: 'block' | 'flow' | 'lines';
  /** A list whose dashes stand below the first letter of its key. */
  readonly isFlush: boolean;
  readonly hasLastComma: boolean;
  readonly hasEndComment: boolean;
  readonly slots: readonly Slot[];
  readonly added: { readonly before: number; readonly key: string; readonly value: Json }[];
  replacement?: Json;
}

type Model = Leaf | Branch;

interface Slot {
  readonly key: string;
  readonly model: Model;
  readonly hasBlankLine: boolean;
  readonly hasFreeComment: boolean;
  readonly commentsAbove: number;
  readonly hasTrailingComment: boolean;
  isRemoved: boolean;
}

export interface RandomLine {
  readonly text: string;
  /** After the edit: it has to be in the result as it is. */
  readonly stays: () => boolean;
  /** After the edit: its comment has to be in the result, even if the value next to it was changed. */
  readonly keepsComment: () => boolean;
  /** After the edit: it belonged to a key or item that was removed. */
  readonly goes: () => boolean;
}

export interface RandomFile {
  readonly lines: readonly RandomLine[];
  readonly value: Json;
  /** Edits the file's value at random and returns what it is then. To be called once. */
  readonly edit: () => JsonMap;
}

const WORDS = fc
  .array(fc.string({ unit: fc.constantFrom(...'abcdefgh'), minLength: 1, maxLength: 6 }), {
    minLength: 1,
    maxLength: 4,
  })
  .map((words) => words.join(' '));
const TEXT = fc.string({ unit: 'grapheme', maxLength: 12 }).filter((text) => !text.includes('\0'));
const KEY = TEXT.filter((key) => key !== '' && key !== '__proto__');
const TRICKY = [
  '1.10',
  'no',
  '',
  ' x',
  'a: b',
  'a #b',
  '[x]',
  '- x',
  'two\nlines\n',
  'two\n\n lines',
  '2026-11-20',
  '}',
];
const SCALAR = fc.oneof(TEXT, WORDS, fc.constantFrom(...TRICKY), fc.integer(), fc.boolean(), fc.constant(null));
const VALUE: fc.Arbitrary<Json> = fc.oneof(
  { weight: 4, arbitrary: SCALAR },
  { weight: 1, arbitrary: fc.array(SCALAR, { maxLength: 3 }) },
  { weight: 1, arbitrary: fc.dictionary(KEY, fc.oneof(SCALAR, fc.array(SCALAR, { maxLength: 2 })), { maxKeys: 3 }) },
  { weight: 1, arbitrary: fc.array(fc.dictionary(KEY, SCALAR, { minKeys: 1, maxKeys: 2 }), { maxLength: 2 }) },
);

/** Where all chance comes from. */
class Chance {
  readonly #draw: GeneratorValue;
  #count = 0;

  constructor(draw: GeneratorValue) {
    this.#draw = draw;
  }

  below(count: number): number {
    return this.#draw(fc.nat, { max: count - 1 });
  }

  one<const Value>(values: readonly [Value, ...Value[]]): Value {
    return values[this.below(values.length)] ?? values[0];
  }

  isOneIn(count: number): boolean {
    return this.below(count) === 0;
  }

  words(): string {
    return this.#draw(() => WORDS);
  }

  value(): Json {
    return this.#draw(() => VALUE);
  }

  /** A number that was never given out before. */
  next(): number {
    return this.#count++;
  }
}

/** Returns a file in which every text and every comment is there only once, so that it is clear what became of it. */
export function randomFile(draw: GeneratorValue): RandomFile {
  const chance = new Chance(draw);
  const root = randomBranch(chance, { kind: 'map', depth: 0, isInFlow: false });
  const lines = new Renderer(chance).file(root);
  return {
    lines,
    value: valueIn(root),
    edit() {
      editBranch(chance, root, true);
      return mapOf(root);
    },
  };
}

interface Spot {
  readonly kind: Branch['kind'];
  readonly depth: number;
  readonly isInFlow: boolean;
}

function randomBranch(chance: Chance, { kind, depth, isInFlow }: Spot): Branch {
  const style = isInFlow ? 'flow' : depth === 0 ? 'block' : chance.one(['block', 'block', 'flow', 'lines']);
  const slots = Array.from({ length: 1 + chance.below(4) }, (): Slot => {
    const below = { kind: chance.one(['map', 'list']), depth: depth + 1, isInFlow: style !== 'block' } as const;
    const model = depth < 3 && chance.isOneIn(3) ? randomBranch(chance, below) : randomLeaf(chance, kind, style);
    return {
      key: `k${chance.next()}`,
      model,
      hasBlankLine: chance.isOneIn(4),
      hasFreeComment: chance.isOneIn(6),
      commentsAbove: chance.one([0, 0, 0, 1, 2]),
      hasTrailingComment: chance.isOneIn(3),
      isRemoved: false,
    };
  });
  return {
    kind,
    style,
    isFlush: chance.isOneIn(3),
    hasLastComma: chance.isOneIn(2),
    hasEndComment: chance.isOneIn(4),
    slots,
    added: [],
  };
}

function randomLeaf(chance: Chance, parent: Branch['kind'], style: Branch['style']): Leaf {
  // Items are texts, each of them unique: nobody can tell which of two equal ones was removed.
  if (parent === 'map' && chance.isOneIn(4)) {
    const value = chance.one([null, true, chance.next(), '']);
    return { kind: 'leaf', value, style: value === '' ? 'double' : 'plain' };
  }
  if (parent === 'map' && style === 'block' && chance.isOneIn(8)) return { kind: 'leaf', value: null, style: 'empty' };
  const text = `${chance.words()} ${chance.next()}`;
  if (style !== 'block' || chance.isOneIn(2)) {
    return { kind: 'leaf', value: text, style: chance.one(['plain', 'plain', 'single', 'double']) };
  }
  if (chance.isOneIn(2)) return { kind: 'leaf', value: `${text}\n# ${chance.words()}\n\n  x\n`, style: 'literal' };
  return { kind: 'leaf', value: text, style: 'folded' };
}

function valueIn(model: Model): Json {
  if (model.replacement !== undefined) return model.replacement;
  if (model.kind === 'leaf') return model.value;
  return model.kind === 'map' ? mapOf(model) : listOf(model);
}

function mapOf({ slots, added }: Branch): JsonMap {
  const map = emptyMap();
  for (const { key, model, isRemoved } of slots) if (!isRemoved) map[key] = valueIn(model);
  for (const { key, value } of added) map[key] = value;
  return map;
}

function listOf({ slots, added }: Branch): readonly Json[] {
  const newAt = (index: number): readonly Json[] =>
    added.filter(({ before }) => before === index).map(({ value }) => value);
  const items = slots.flatMap(({ model, isRemoved }, index) => [
    ...newAt(index),
    ...(isRemoved ? [] : [valueIn(model)]),
  ]);
  return [...items, ...newAt(slots.length)];
}

function editBranch(chance: Chance, branch: Branch, isRoot = false): void {
  if (branch.kind === 'map') editMap(chance, branch, isRoot);
  else editList(chance, branch);
}

function editMap(chance: Chance, branch: Branch, isRoot: boolean): void {
  const safe = keptSlot(chance, branch, isRoot);
  for (const [index, slot] of branch.slots.entries()) {
    if (index !== safe && chance.isOneIn(6)) slot.isRemoved = true;
    else if (chance.isOneIn(8)) slot.model.replacement = chance.value();
    else if (slot.model.kind !== 'leaf') editBranch(chance, slot.model);
  }
  for (let count = chance.one([0, 0, 0, 1, 2]); count > 0; count--) addTo(chance, branch, branch.slots.length);
}

/** One thing at a time, so that it is clear which item became which. */
function editList(chance: Chance, branch: Branch): void {
  const safe = keptSlot(chance, branch, false);
  const what = chance.one(['remove', 'change', 'add', 'edit']);
  for (const [index, slot] of branch.slots.entries()) {
    if (what === 'remove' && index !== safe) slot.isRemoved = chance.isOneIn(2);
    if (what === 'change' && chance.isOneIn(2)) slot.model.replacement = chance.value();
    if (what === 'add' && chance.isOneIn(3)) addTo(chance, branch, index);
    if (what === 'edit' && slot.model.kind !== 'leaf') editBranch(chance, slot.model);
  }
  if (what === 'add') addTo(chance, branch, branch.slots.length);
}

function addTo(chance: Chance, { added }: Branch, before: number): void {
  added.push({ before, key: `new ${chance.next()}`, value: chance.value() });
}

/** Returns the index of the entry that an edit has to leave, or -1: comments in brackets belong to no line of their own. */
function keptSlot(chance: Chance, { slots, style }: Branch, isRoot: boolean): number {
  return isRoot || style === 'lines' || chance.isOneIn(2) ? chance.below(slots.length) : -1;
}

/** What became of the things around a line. */
interface Fate {
  /** All maps and lists around it are still there. */
  readonly stays: () => boolean;
  /** One of the keys and items around it was removed, in a map or list that is still there. */
  readonly goes: () => boolean;
}

class Renderer {
  readonly #lines: RandomLine[] = [];
  readonly #chance: Chance;

  constructor(chance: Chance) {
    this.#chance = chance;
  }

  file(root: Branch): readonly RandomLine[] {
    const always: Fate = { stays: () => true, goes: () => false };
    if (this.#chance.isOneIn(2)) {
      this.#emit('# of the whole file', always);
      this.#emit('', always);
    }
    if (this.#chance.isOneIn(4)) this.#emit('---', always);
    this.#block(root, { column: 0, lead: '', fate: always });
    return this.#lines;
  }

  #emit(text: string, { stays, goes }: Fate, keepsComment = stays): void {
    this.#lines.push({ text, stays, goes, keepsComment });
  }

  #comment(column: number, fate: Fate): void {
    this.#emit(`${' '.repeat(column)}# c${this.#chance.next()}`, fate);
  }

  /** `lead` is what stands before the first entry. */
  #block(branch: Branch, { column, lead, fate }: { column: number; lead: string; fate: Fate }): void {
    const pad = ' '.repeat(column);
    for (const [index, slot] of branch.slots.entries()) {
      const isBehindDash = index === 0 && lead.includes('-');
      const own = fateOf(branch, slot, fate);
      if (!isBehindDash) this.#above(slot, { column, fate, own, isFirst: column === 0 && index === 0 });
      const sign = branch.kind === 'map' ? `${this.#key(slot.key)}:` : '-';
      this.#entry(slot, { line: `${index === 0 ? lead : pad}${sign}`, column, own, kind: branch.kind });
    }
    const isFlushList = branch.kind === 'list' && branch.isFlush;
    if (branch.hasEndComment && !isFlushList) this.#comment(column, fate);
  }

  #above(
    slot: Slot,
    { column, fate, own, isFirst }: { column: number; fate: Fate; own: Fate; isFirst: boolean },
  ): void {
    if (slot.hasBlankLine) this.#emit('', fate);
    if (slot.hasFreeComment) {
      this.#comment(column, fate);
      this.#emit('', fate);
    }
    // The comments at the top of a file belong to all of it.
    if (!isFirst) for (let count = 0; count < slot.commentsAbove; count++) this.#comment(column, own);
  }

  #entry(slot: Slot, at: { line: string; column: number; own: Fate; kind: Branch['kind'] }): void {
    const { line, column, own, kind } = at;
    const { model } = slot;
    const trailing = slot.hasTrailingComment ? ` # c${this.#chance.next()}` : '';
    if (model.kind === 'leaf') {
      const [head = '', ...body] = leafLines(model, column + 2);
      const fate = { ...own, stays: () => own.stays() && model.replacement === undefined };
      this.#emit(`${line}${head === '' ? '' : ` ${head}`}${trailing}`, fate, own.stays);
      for (const text of body) this.#emit(text, fate);
    } else if (model.style === 'block') {
      const inside = { ...own, stays: () => own.stays() && isStillThere(model) };
      const isCompact = kind === 'list' && !model.isFlush;
      const isFlush = kind === 'map' && model.kind === 'list' && model.isFlush;
      const below = isFlush ? column : column + 2;
      const headFate = { ...own, stays: () => inside.stays() && valueSize(model) > 0 };
      if (!isCompact) this.#emit(`${line}${trailing}`, headFate, own.stays);
      this.#block(model, { column: below, lead: isCompact ? `${line} ` : ' '.repeat(below), fate: inside });
    } else if (model.style === 'lines') this.#inBrackets(model, { line: `${line} `, trailing, column, own });
    else
      this.#emit(
        `${line} ${flowText(model)}${trailing}`,
        { ...own, stays: () => own.stays() && isUntouched(model) },
        own.stays,
      );
  }

  #inBrackets(branch: Branch, at: { line: string; trailing: string; column: number; own: Fate }): void {
    const { line, trailing, column, own } = at;
    const fate = { ...own, stays: () => own.stays() && isStillThere(branch) };
    const pad = ' '.repeat(column + 4);
    this.#emit(`${line}${branch.kind === 'map' ? '{' : '['}${trailing}`, fate, own.stays);
    for (const [index, slot] of branch.slots.entries()) {
      const inside = fateOf(branch, slot, fate);
      this.#above(slot, { column: column + 4, fate, own: inside, isFirst: false });
      const comma = index < branch.slots.length - 1 || branch.hasLastComma ? ',' : '';
      const comment = slot.hasTrailingComment ? ` # c${this.#chance.next()}` : '';
      this.#emit(
        `${pad}${slotText(branch, slot)}${comma}${comment}`,
        {
          ...inside,
          stays: () => inside.stays() && isUntouched(slot.model),
        },
        inside.stays,
      );
    }
    this.#emit(`${' '.repeat(column + 2)}${branch.kind === 'map' ? '}' : ']'}`, fate);
  }

  #key(key: string): string {
    return this.#chance.isOneIn(8) ? `"${key}"` : key;
  }
}

function fateOf(branch: Branch, slot: Slot, fate: Fate): Fate {
  const isRemoved = (): boolean => slot.isRemoved && fate.stays() && isStillThere(branch);
  return { stays: () => fate.stays() && !slot.isRemoved, goes: () => fate.goes() || isRemoved() };
}

/** False where nothing of it is left and something else took its place. */
function isStillThere(branch: Branch): boolean {
  const isAnyLeft = branch.slots.some(({ isRemoved }) => !isRemoved);
  return branch.replacement === undefined && (isAnyLeft || branch.added.length === 0);
}

function valueSize(branch: Branch): number {
  return branch.slots.filter(({ isRemoved }) => !isRemoved).length + branch.added.length;
}

function isUntouched(model: Model): boolean {
  if (model.replacement !== undefined) return false;
  if (model.kind === 'leaf') return true;
  return model.added.length === 0 && model.slots.every((slot) => !slot.isRemoved && isUntouched(slot.model));
}

function leafLines({ value, style }: Leaf, column: number): readonly string[] {
  const text = String(value);
  const pad = ' '.repeat(column);
  if (style === 'empty') return [''];
  if (style === 'single') return [`'${text.replaceAll("'", "''")}'`];
  if (style === 'double') return [JSON.stringify(value)];
  if (style === 'folded') return ['>-', ...text.split(' ').map((word) => `${pad}${word}`)];
  if (style === 'literal') {
    const lines = text.slice(0, -1).split('\n');
    return ['|', ...lines.map((line) => (line === '' ? '' : `${pad}${line}`))];
  }
  return [text];
}

function flowText(model: Model): string {
  if (model.kind === 'leaf') return leafLines(model, 0)[0] ?? '';
  const inside = model.slots.map((slot) => slotText(model, slot)).join(', ') + (model.hasLastComma ? ',' : '');
  const [opening, closing] = model.kind === 'map' ? ['{', '}'] : ['[', ']'];
  return model.isFlush ? `${opening}${inside}${closing}` : `${opening} ${inside} ${closing}`;
}

function slotText({ kind }: Branch, { key, model }: Slot): string {
  return kind === 'map' ? `${key}: ${flowText(model)}` : flowText(model);
}
