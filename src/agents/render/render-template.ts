// Renders the text of a file from a template and the record of a node: the boundary to liquidjs. A template reads only
// the record (no file, clock or chance), so the same record always gives the same text.
import { Liquid, LiquidError, UndefinedVariableError } from 'liquidjs';
import { didYouMean, quote, reasonOf } from '../../base/wording.ts';
import { decodeText } from '../../catalog/decode-text.ts';
import { emptyMap, type Json, type JsonMap } from '../../model/json.ts';

/** The maximum size of a rendered text. */
export const TEXT_BYTES_MAX = 4 * 1024 * 1024;
const RENDER_MS_MAX = 1_000;
/** The limit of characters and list items that filters may create. */
const MADE_MAX = 20_000_000;
/** Tags that read files, or print a list without separators. */
const TAGS_LEFT_OUT = ['include', 'render', 'layout', 'block', 'echo'] as const;
/** Filters that print the time or a random value, or a list without separators. */
const FILTERS_LEFT_OUT = /^(?:date|date_to_.*|sample|raw)$/;

/**
 * A template cannot be rendered with a record. The message begins with the file and, if known, line and column.
 */
export class TemplateError extends Error {
  override readonly name = 'TemplateError';
}

/** A template, and the node and record to render it with. */
export interface TemplateUse {
  /** The file's name in errors. */
  readonly file: string;
  readonly bytes: Uint8Array;
  readonly node: string;
  readonly record: JsonMap;
}

const engine = createEngine();

/** Returns the rendered text. Throws TemplateError. */
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
    // An empty map replaces the file system.
    templates: {},
    renderLimit: RENDER_MS_MAX,
    memoryLimit: MADE_MAX,
    outputEscape: plainValue,
  });
  for (const name of TAGS_LEFT_OUT) delete made.tags[name];
  for (const name of Object.keys(made.filters)) if (FILTERS_LEFT_OUT.test(name)) delete made.filters[name];
  return made;
}

/** Returns a printed value as text. Refuses lists, whose items Liquid would join without separators. */
function plainValue(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value ?? '');
  const what = Array.isArray(value) ? 'a list' : 'a map';
  throw new Error(`this is ${what}: choose its form, such as | join: ", " or | json, or use {% for %}`);
}

/** The message contains no values, because it is logged and sent to the controller. */
function describe(error: LiquidError, { node, record }: Pick<TemplateUse, 'node' | 'record'>): string {
  const message = reasonOf(error.originalError ?? error).replace(/, file:.*|, line:\d+.*/s, '');
  if (!(error instanceof UndefinedVariableError)) return message;
  const name = message.replace(/^undefined variable: /, '');
  const advice = didYouMean(name, Object.keys(record)) ?? `if it may be missing, write {{ ${name} | default: "…" }}`;
  return `neither the record of ${node} nor the template defines ${quote(name)}; ${advice}`;
}
