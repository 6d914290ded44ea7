// JSON for files that people review: whatever fits on a line stands on one.

const WIDTH = 180;

/** Returns a value as JSON that ends with a line break. Keys keep their order; those without a value are left out. */
export function readableJson(value: unknown): string {
  return `${render(value, '')}\n`;
}

function render(value: unknown, indent: string): string {
  const line = onOneLine(value);
  if (typeof value !== 'object' || value === null || indent.length + line.length <= WIDTH) return line;
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  const items = itemsOf(value).map(([label, item]) => `${indent}  ${label}${render(item, `${indent}  `)}`);
  return `${open}\n${items.join(',\n')}\n${indent}${close}`;
}

function onOneLine(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const items = itemsOf(value).map(([label, item]) => `${label}${onOneLine(item)}`);
  if (Array.isArray(value)) return `[${items.join(', ')}]`;
  return items.length === 0 ? '{}' : `{ ${items.join(', ')} }`;
}

/** What a list or map holds, each item with what is written before it. */
function itemsOf(value: object): readonly (readonly [label: string, item: unknown])[] {
  if (Array.isArray(value)) return value.map((item: unknown) => ['', item]);
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  return entries.map(([key, item]) => [`${JSON.stringify(key)}: `, item]);
}
