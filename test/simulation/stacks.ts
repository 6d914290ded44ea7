// The small vocabulary of stacks that simulated people write: what each file says, and which servers it means. Says the
// latter by itself, so that the controller is measured by something that is not the controller.
import { createHash } from 'node:crypto';
import type { DriftPolicy } from '../../src/model/objects.ts';
import type { FileMode } from '../../src/model/snapshot.ts';

/** What an instance's file says. */
export interface Shape {
  /** Server names begin with it. */
  readonly prefix: string;
  /** Members of the group `web`. */
  readonly web: number;
  readonly db: boolean;
  /** Two servers, `link-1` and `link-2`; member n of `web` needs link-n, and link-2 needs member 1. */
  readonly links: boolean;
  readonly size: string;
  readonly site: string;
  /** Whether `web` is in the environment `lab`, a layer. */
  readonly lab: boolean;
  /** Whether `web` has the shape `small`, a provisioning layer. */
  readonly small: boolean;
  /** What `web` depends on: nothing, `db`, or a server of another instance. */
  readonly webNeeds: string;
  /** What `db` depends on: nothing, `web`, or a server of another instance. */
  readonly dbNeeds: string;
  /** Whether `web` lists `db`. */
  readonly lists: boolean;
  /** Whether `web` takes the address that `db` reports. */
  readonly takes: boolean;
  readonly unavailable: string;
  readonly pause: string;
  readonly protected: boolean;
  readonly retain: boolean;
  readonly adopt: boolean;
  /** What happens to drift; empty: as the provider entry says. */
  readonly drift: '' | DriftPolicy;
  readonly template: string;
}

export const PLAIN: Shape = {
  prefix: 'a',
  web: 2,
  db: false,
  links: false,
  size: '1',
  site: 'north',
  lab: true,
  small: true,
  webNeeds: '',
  dbNeeds: '',
  lists: false,
  takes: false,
  unavailable: '1',
  pause: '0',
  protected: false,
  retain: false,
  adopt: false,
  drift: '',
  template: 'stack',
};

/** A file of the repository, with what it means. */
export interface ModelFile {
  readonly mode: FileMode;
  readonly oid: string;
  readonly bytes: Uint8Array;
  /** What an instance's file says; undefined for other files and for what nobody can read. */
  readonly shape?: Shape;
  /** For the story. */
  readonly words: string;
}

export type ModelFiles = ReadonlyMap<string, ModelFile>;

export const GLOBAL = 'types/common/global.yaml';
export const LAB = 'types/environment/lab.yaml';
export const SMALL = 'types/shape/small.yaml';
export const TEMPLATE = 'stacks/templates/stack.yaml';
export const TREE = 'tree.yaml';

export const INSTANCES_FOLDER = 'stacks/instances/';

/** Returns the path of an instance's file. */
export function pathOf(instance: string): string {
  return `${INSTANCES_FOLDER}${instance}.yaml`;
}

/** How many texts are kept: what is parsed out of their bytes is kept with them. */
const TEXTS_MAX = 5_000;
const KNOWN = new Map<string, { readonly oid: string; readonly bytes: Uint8Array }>();

/** Returns a file of a text. The same text is the same bytes, in every run. */
export function textFile(text: string, words: string, mode: FileMode = '100644'): ModelFile {
  const known = KNOWN.get(text);
  if (known !== undefined) return { mode, ...known, words };
  if (KNOWN.size >= TEXTS_MAX) KNOWN.clear();
  const blob = blobOf(text);
  KNOWN.set(text, blob);
  return { mode, ...blob, words };
}

function blobOf(text: string): { readonly oid: string; readonly bytes: Uint8Array } {
  const bytes = Buffer.from(text);
  return { oid: createHash('sha1').update(`blob ${bytes.length}\0`).update(bytes).digest('hex'), bytes };
}

const INSTANCE_FILES = new Map<string, ModelFile>();

/** Returns the file of an instance. The same shape is the same bytes, in every run. */
export function instanceFile(shape: Shape): ModelFile {
  const key = JSON.stringify(shape);
  const known = INSTANCE_FILES.get(key);
  if (known !== undefined) return { ...known };
  if (INSTANCE_FILES.size >= TEXTS_MAX) INSTANCE_FILES.clear();
  const file = { ...textFile(JSON.stringify(fieldsOf(shape)), wordsOf(shape)), shape };
  INSTANCE_FILES.set(key, file);
  return { ...file };
}

/** Returns the files that every repository begins with. */
export function firstFiles(): ModelFiles {
  return new Map([
    [TREE, textFile('name: global\ntype: common\nchildren: [{ name: lab, type: environment }]\n', 'the tree')],
    [TEMPLATE, templateFile('1')],
    [GLOBAL, layerFile('common', '1')],
    [LAB, layerFile('environment', '1')],
    [SMALL, layerFile('shape', '1')],
    ['clients/A1.yaml', textFile('role: administrator\n', 'an administrator')],
    ['clients/B1.yaml', textFile('role: proxy\ntags: [east]\n', 'a proxy')],
    ['clients/B2.yaml', textFile('role: proxy\ntags: [east]\n', 'a proxy')],
    ['clients/B3.yaml', textFile('role: proxy\ntags: [west]\n', 'a proxy')],
  ]);
}

/** Returns the template. A grade changes every server. */
export function templateFile(grade: string): ModelFile {
  return textFile(`parameters: { size: "1", grade: "${grade}" }\nresources: {}\n`, `grade ${grade}`);
}

/** Returns a layer's object: one key that says which layer it is. */
export function layerFile(type: string, value: string): ModelFile {
  return textFile(`from_${type}: "${type} ${value}"\n`, `${type} ${value}`);
}

/** Returns the fields of an instance, as the interface has them. */
export function fieldsOf(shape: Shape): Record<string, unknown> {
  const { prefix } = shape;
  const tag = shape.site === 'east' || shape.site === 'west' ? { ProxyTag: shape.site } : {};
  const common = { size: '<<size>>', grade: '<<grade>>', site: shape.site, ...tag };
  const resources: Record<string, unknown> = {};
  if (shape.db) {
    const needs = shape.dbNeeds === '' ? {} : { depends_on: shape.dbNeeds };
    resources.db = { type: 'Platform::Server', properties: { name: `${prefix}-db`, ...common, ...needs } };
  }
  if (shape.links) {
    for (const number of ['1', '2']) {
      const needs = number === '2' ? { depends_on: `${prefix}-web-1` } : {};
      const properties = { name: `${prefix}-link-${number}`, ...common, ...needs };
      resources[`link${number}`] = { type: 'Platform::Server', properties };
    }
  }
  resources.web = {
    type: 'Platform::ResourceGroup',
    properties: {
      count: String(shape.web),
      max_unavailable: shape.unavailable,
      pause_seconds: shape.pause,
      resource_def: { properties: { name: `${prefix}-web-<<index>>`, ...common, ...webProperties(shape) } },
    },
  };
  return {
    description: wordsOf(shape),
    stackTemplate: shape.template,
    parameters: { size: shape.size },
    stackTemplateAdditions: { resources },
    ...(shape.protected ? { protected: true } : {}),
    ...(shape.retain ? { deletion: 'retain' } : {}),
    ...(shape.adopt ? { adopt: true } : {}),
    ...(shape.drift === '' ? {} : { drift: shape.drift }),
  };
}

/** The property that takes the address of `db`. */
export const PEER = 'peer';

function webProperties({ prefix, lab, small, webNeeds, links, lists, takes, db }: Shape): Record<string, unknown> {
  const needs = [webNeeds, links ? `${prefix}-link-<<index>>` : ''].filter((need) => need !== '');
  return {
    ...(lab ? { environment: 'lab' } : {}),
    ...(small ? { shape: 'small' } : {}),
    ...(needs.length > 0 ? { depends_on: needs } : {}),
    ...(lists && db ? { peers: "<<(Array)['db']['name']>>" } : {}),
    ...(takes && db ? { [PEER]: "<<(Output)['db']['address']>>" } : {}),
  };
}

/** Returns the names of the servers that a shape means. */
export function serversOf({ prefix, web, db, links }: Shape): readonly string[] {
  const names = Array.from({ length: web }, (_, index) => `${prefix}-web-${index + 1}`);
  if (db) names.push(`${prefix}-db`);
  if (links) names.push(`${prefix}-link-1`, `${prefix}-link-2`);
  return names;
}

/** Returns the servers that a shape's servers need outside of it. */
export function outsideNeeds(shape: Shape): readonly string[] {
  const web = shape.web > 0 && shape.webNeeds !== 'db' ? [shape.webNeeds] : [];
  const db = shape.db && shape.dbNeeds !== 'web' ? [shape.dbNeeds] : [];
  // Without members, the name that link-2 needs may be that of another instance's server.
  const links = shape.links && shape.web === 0 ? [`${shape.prefix}-web-1`] : [];
  return [...web, ...db, ...links].filter((need) => need !== '');
}

/** Returns true where nothing in the file itself is wrong. */
export function isValidShape(shape: Shape): boolean {
  const hasDb = shape.db || shape.web === 0 || shape.webNeeds !== 'db';
  // A third member needs a link that no instance has.
  const hasLinks = !shape.links || shape.web <= 2;
  return isDerivable(shape) && hasDb && hasLinks;
}

/** Returns true where the servers of a file are known, although one that they depend on may be missing. */
export function isDerivable(shape: Shape): boolean {
  const hasTemplate = shape.template === 'stack';
  // A circle of resources as they are written, also where one of them has no members.
  const hasNoCircle = !(shape.db && (shape.webNeeds === 'db' || shape.takes) && shape.dbNeeds === 'web');
  return hasTemplate && hasNoCircle;
}

function wordsOf(shape: Shape): string {
  const words = Object.entries(shape)
    .filter(([key, value]) => value !== PLAIN[key as keyof Shape] || key === 'prefix' || key === 'web')
    .map(([key, value]) => (value === true ? key : `${key} ${value === '' ? 'none' : value}`));
  return words.join(', ');
}
