// Reads and prints kept scripts: those of seeds that once broke a promise, as small as they could be made. They stay as they
// are when what seeds draw changes. `npm run simulate -- --seed N --script` prints one, for kept/N.json.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DriftPolicy } from '../../src/model/objects.ts';
import type { FollowedPlace, LostActionEnds } from '../../src/model/rows.ts';
import { readableJson } from '../support/readable-json.ts';
import { type Action, type Changes, type Deed, type Edit, type Loses, SPOILS, type Spoil } from './actions.ts';
import {
  isObject,
  keyOf,
  list,
  number,
  type Optional,
  object,
  optional,
  orNull,
  type Read,
  text,
  yesOrNo,
} from './read-fields.ts';
import type { Script } from './script.ts';
import type { RemoteMood } from './simulated-git.ts';
import type { SiteMood } from './simulated-site.ts';
import type { Shape } from './stacks.ts';

/** A kept script. */
export interface Kept {
  /** The failure of that run. */
  readonly title: string;
  readonly seed: number;
  readonly script: Script;
}

const FOLDER = join(import.meta.dirname, 'kept');

const driftPolicy = keyOf<DriftPolicy>({ report: true, heal: true, off: true });
const spoil = keyOf<Spoil>(Object.fromEntries(SPOILS.map((name) => [name, true])) as Record<Spoil, true>);
const loses = keyOf<Loses>({ nothing: true, copy: true, store: true, rows: true, 'since backup': true });
const remoteMood = keyOf<RemoteMood>({ well: true, gone: true, slow: true, refuses: true, 'loses answers': true });
const siteMood = keyOf<SiteMood>({
  ...{ well: true, failing: true, throwing: true, losing: true, dead: true, deaf: true, 'deaf to a': true },
  ...{ lying: true, broken: true, refusing: true, late: true, careless: true, sluggish: true, denying: true },
});

const shape = object<Partial<Shape>>({
  prefix: optional(text),
  web: optional(number),
  db: optional(yesOrNo),
  links: optional(yesOrNo),
  size: optional(text),
  site: optional(text),
  lab: optional(yesOrNo),
  small: optional(yesOrNo),
  webNeeds: optional(text),
  dbNeeds: optional(text),
  lists: optional(yesOrNo),
  unavailable: optional(text),
  pause: optional(text),
  takes: optional(yesOrNo),
  protected: optional(yesOrNo),
  retain: optional(yesOrNo),
  adopt: optional(yesOrNo),
  drift: optional(keyOf<Shape['drift']>({ '': true, report: true, heal: true, off: true })),
  template: optional(text),
});

type EditWith<Field extends string> = Extract<Edit, Readonly<Record<Field, unknown>>>;

/** By the field that only this kind of edit has; of two, the first decides. */
const EDITS: readonly (readonly [field: string, read: Read<Edit>])[] = [
  ['from', object<EditWith<'from'>>({ instance: text, from: text, set: shape })],
  ['set', object<Exclude<EditWith<'set'>, EditWith<'from'>>>({ instance: text, set: shape })],
  ['name', object<EditWith<'name'>>({ instance: text, name: text })],
  ['spoil', object<EditWith<'spoil'>>({ path: text, spoil })],
  ['folder', object<EditWith<'folder'>>({ folder: text })],
  ['value', object<EditWith<'value'>>({ path: text, value: text })],
  ['is', object<EditWith<'is'>>({ path: text, is: keyOf({ corrected: true, removed: true }) })],
];

function readEdit(value: unknown, at: string): Edit {
  const [, read] = EDITS.find(([field]) => isObject(value) && Object.hasOwn(value, field)) ?? [];
  if (read === undefined) throw new Error(`${at}: ${JSON.stringify(value)} is no edit`);
  return read(value, at);
}

const edits = list(readEdit);
const instance = text;
const instanceOrAll = orNull(text);
const changes = object<Changes>({
  place: optional(
    object<Partial<FollowedPlace>>({ url: optional(text), branch: optional(text), directory: optional(text) }),
  ),
  kind: optional(
    object<NonNullable<Changes['kind']>>({
      site: text,
      ends: keyOf<LostActionEnds>({ 'with the controller': true, 'with its call': true, 'after its deadline': true }),
    }),
  ),
});

type DeedFields<Kind extends Deed['kind']> = Omit<Extract<Deed, { readonly kind: Kind }>, 'kind'>;

const DEEDS: {
  readonly [Kind in Deed['kind']]: {
    readonly [Key in keyof DeedFields<Kind>]-?:
      | Read<Exclude<DeedFields<Kind>[Key], undefined>>
      | Optional<DeedFields<Kind>[Key]>;
  };
} = {
  commit: { edits, approves: optional(number) },
  side: { side: text, edits },
  merge: { side: text, edits, isPulled: optional(yesOrNo) },
  rewrite: { back: number, edits },
  revert: {},
  poll: {},
  start: {},
  'accept history': {},
  'approve all': {},
  stop: { loses, downMs: number, changes: optional(changes) },
  'back up': {},
  move: { directory: text },
  approve: { pick: number },
  suspend: { instance: instanceOrAll, forMs: orNull(number) },
  resume: { instance: instanceOrAll },
  retry: { instance: instanceOrAll },
  adopt: { instance: instanceOrAll },
  retain: { name: text },
  replace: { name: text },
  check: { instance },
  put: { instance, set: shape },
  delete: { instance },
  stranger: { name: text, site: text },
  vanish: { name: text, site: text },
  lease: { name: text, site: text, address: text },
  tamper: { name: text, site: text, size: text },
  proxy: { proxy: text, does: keyOf({ stop: true, cut: true }), ms: number },
  site: { site: text, mood: siteMood },
  remote: { mood: remoteMood },
  disk: { isFull: yesOrNo },
  'slow disk': { ms: number },
  clock: { ms: number },
};

const readKind = keyOf<Deed['kind']>(
  Object.fromEntries(Object.keys(DEEDS).map((kind) => [kind, true])) as Record<Deed['kind'], true>,
);

function readAction(value: unknown, at: string): Action {
  const kind = readKind(isObject(value) ? value.kind : undefined, `${at}/kind`);
  const fields: Readonly<Record<string, Read<unknown> | Optional<unknown>>> = {
    ...DEEDS[kind],
    kind: text,
    after: number,
  };
  return object(fields)(value, at) as Action;
}

const readKept = object<Kept>({
  title: text,
  seed: number,
  script: object<Script>({
    theme: text,
    ignoresCase: yesOrNo,
    outlives: yesOrNo,
    endsWithCall: optional(yesOrNo),
    drift: optional(object<NonNullable<Script['drift']>>({ north: driftPolicy, south: driftPolicy })),
    proxies: optional(yesOrNo),
    approvesAtEnd: yesOrNo,
    actions: list(readAction),
  }),
});

/** Returns the kept script that `json` holds. Throws where a field is unknown, missing or of another type. */
export function parseKept(json: string, file: string): Kept {
  return readKept(JSON.parse(json), file);
}

/** Returns a kept script as the text of its file. */
export function printKept(kept: Kept): string {
  return readableJson(kept);
}

/** Returns the kept scripts in the order of their seeds. */
export function loadKept(): readonly Kept[] {
  return globSync('*.json', { cwd: FOLDER })
    .map((name) => parseKept(readFileSync(join(FOLDER, name), 'utf8'), name))
    .sort((a, b) => a.seed - b.seed);
}
