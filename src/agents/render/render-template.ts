// Makes the text of a file from a template and the record of a node: the boundary to liquidjs. A template reads the
// record and nothing else, no file, clock or chance, so that the same record makes the same text.
import { Liquid, LiquidError, UndefinedVariableError } from 'liquidjs';
import { didYouMean, quote, reasonOf } from '../../base/wording.ts';
import { decodeText } from '../../catalog/decode-text.ts';
import { emptyMap, type Json, type JsonMap } from '../../model/json.ts';

/** The maximum size of the text that a template makes. */
export const TEXT_BYTES_MAX = 4 * 1024 * 1024;
const RENDER_MS_MAX = 1_000;
/** Characters and list items that filters may make. */
const MADE_MAX = 20_000_000;
/** They read files, or print a list without anything between its items. */
const TAGS_LEFT_OUT = ['include', 'render', 'layout', 'block', 'echo'] as const;
/** They print the time or a random value, or a list without anything between its items. */
const FILTERS_LEFT_OUT = /^(?:date|date_to_.*|sample|raw)$/;

/**
 * A template cannot be used with a record. The message begins with the file, and with line and column where there is
 * one.
 */
export class TemplateError extends Error {
  override readonly name = 'TemplateError';
}

/** A template, and whose record it is used with. */
export interface TemplateUse {
  /** As the message of an error names it. */
  readonly file: string;
  readonly bytes: Uint8Array;
  readonly node: string;
  readonly record: JsonMap;
}

const engine = createEngine();

/** Returns the text that a template makes of a record. Throws TemplateError. */
export function renderTemplate({ file, bytes, node, record }: TemplateUse): string {
  const decoded = decodeText(bytes);
  if ('fault' in decoded) throw new TemplateError(`${file}: ${decoded.fault.message}; ${decoded.fault.hint}`);
  try {
    const text = String(engine.renderSync(engine.parse(decoded.text), Object.assign(emptyMap<Json>(), record)));
    if (text.length <= TEXT_BYTES_MAX && Buffer.byteLength(text) <= TEXT_BYTES_MAX) return text;
  } catch (error) {
    if (!LiquidError.is(error)) throw new TemplateError(`${file}: ${reasonOf(error)}`, { cause: error });
    const [line, column] = error.token.getPosition();
    throw new TemplateError(`${file}:${line}:${column}: ${describe(error, { node, record })}`, { cause: error });
  }
  throw new TemplateError(`${file}: it makes more than ${TEXT_BYTES_MAX} bytes`);
}

function createEngine(): Liquid {
  const made = new Liquid({
    strictVariables: true,
    strictFilters: true,
    lenientIf: true,
    ownPropertyOnly: true,
    // Instead of the file system: there is none.
    templates: {},
    renderLimit: RENDER_MS_MAX,
    memoryLimit: MADE_MAX,
    outputEscape: plainValue,
  });
  for (const name of TAGS_LEFT_OUT) delete made.tags[name];
  for (const name of Object.keys(made.filters)) if (FILTERS_LEFT_OUT.test(name)) delete made.filters[name];
  return made;
}

/** Returns the text of a value that is printed. Liquid joins the items of a list without anything between them. */
function plainValue(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value ?? '');
  const what = Array.isArray(value) ? 'a list' : 'a map';
  throw new Error(`this is ${what}: say how it is written, such as | join: ", " or | json, or use {% for %}`);
}

/** Values are not repeated: the message goes into logs, and to the controller. */
function describe(error: LiquidError, { node, record }: Pick<TemplateUse, 'node' | 'record'>): string {
  const message = reasonOf(error.originalError ?? error).replace(/, file:.*|, line:\d+.*/s, '');
  if (!(error instanceof UndefinedVariableError)) return message;
  const name = message.replace(/^undefined variable: /, '');
  const advice = didYouMean(name, Object.keys(record)) ?? `where it may be missing, write {{ ${name} | default: "…" }}`;
  return `neither the record of ${node} nor the template has ${quote(name)}; ${advice}`;
}
