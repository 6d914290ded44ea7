// Writes docs/settings.md from the schemas of the operator's files: `npm run docs:settings`, after a change of
// schemas/settings.schema.json or schemas/proxy-settings.schema.json. A test fails if the document is not current.
import { writeFileSync } from 'node:fs';
import proxySchema from '../schemas/proxy-settings.schema.json' with { type: 'json' };
import schema from '../schemas/settings.schema.json' with { type: 'json' };
import { isMap, type JsonMap } from '../src/model/json.ts';

const INTRO = `<!-- Written by "npm run docs:settings" from schemas/settings.schema.json. Change the schema, not this file. -->

# Settings

Settings are YAML, checked against a JSON Schema at every start. Mistakes end the start with exit code 3, and each is listed with its
line. Relative paths start at the folder of the settings file. A change needs a restart, except in the files that the settings name:
Treeline reads secrets for each use, and certificates when they change. A newline at the end of a secret file is ignored. *Required* inside
an optional group means: if the group is present. [install.md](install.md) explains repositories, certificates, proxies and replicas.

\`treeline serve --check --config FILE\` prints the same mistakes and starts nothing. It also opens paths, keys, certificates, the store's
directory and a local repository. Run it as the user of the service. Exit code 0: clean, 1: errors.

\`\`\`
$ runuser -u treeline -- treeline serve --check --config /etc/treeline/treeline.yaml
0 errors, 0 warnings
\`\`\`
`;

/** Returns docs/settings.md. */
export function renderSettings(): string {
  const sections = [
    '## treeline serve',
    'Entries with `[]` are lists.',
    renderTable(schema),
    '## treeline proxy',
    renderTable(proxySchema),
  ];
  return `${[INTRO.trimEnd(), ...sections].join('\n\n')}\n`;
}

function renderTable(node: JsonMap): string {
  return ['| key | default | means |', '|---|---|---|', ...rowsOf(node, '')].join('\n');
}

/** Returns every key, including groups. A group that overrides another one has the same keys. */
function rowsOf(node: unknown, prefix: string): readonly string[] {
  if (!isMap(node) || !isMap(node.properties)) return [];
  const required: readonly unknown[] = Array.isArray(node.required) ? node.required : [];
  return Object.entries(node.properties).flatMap(([name, child]) => {
    if (!isMap(child)) return [];
    const path = `${prefix}${name}`;
    const row = `| \`${path}\` | ${defaultOf(child, required.includes(name))} | ${meaningOf(child)} |`;
    const below = String(child.description).startsWith('Overrides ') ? [] : rowsOf(child, `${path}.`);
    return [row, ...below, ...rowsOf(child.items, `${path}[].`)];
  });
}

function defaultOf({ default: value }: JsonMap, isRequired: boolean): string {
  if (isRequired) return 'required';
  return value === undefined ? '–' : `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``;
}

function meaningOf({ description, enum: choices }: JsonMap): string {
  const words = String(description).replaceAll('|', '\\|');
  const named = Array.isArray(choices) ? choices.map(String) : [];
  return named.every((choice) => words.includes(choice)) ? words : `${words} One of ${named.join(', ')}.`;
}

if (import.meta.main) {
  writeFileSync(new URL('../docs/settings.md', import.meta.url), renderSettings());
}
