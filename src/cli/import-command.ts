// `treeline import`: writes a stacks repository from the files of another tool, and proves that every server keeps its
// configuration. Overwrites no file, and touches no server. See docs/import.md.
import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { countOf, grouped, quote } from '../base/wording.ts';
import { derive, problemsOf } from '../derive.ts';
import { placeText } from '../import/foreign-yaml.ts';
import { SELECTOR_TYPES, type SelectorType } from '../import/infer-selectors.ts';
import { ImportError, type LeftOut } from '../import/inventory.ts';
import { type Proof, proveImport } from '../import/prove-import.ts';
import { writeRepository } from '../import/write-repository.ts';
import { isError, type Problem } from '../model/problem.ts';
import type { RecordValue } from '../model/record.ts';
import { CommandFailure, EXIT_PROBLEMS, expecting } from './command-failure.ts';
import { formatProblem } from './format-problem.ts';
import { readSources, SOURCE_KINDS, type SourceKind } from './import/read-sources.ts';
import { type Format, formatOption, printAs, tableLines } from './output.ts';
import { writeSchemas } from './schemas-command.ts';
import { fromUserDirectory, readStacksDirectory } from './user-directory.ts';

interface Options {
  readonly out: string;
  readonly kind?: SourceKind;
  readonly nodes?: string;
  readonly playbooks?: string;
  readonly layer?: ReadonlyMap<SelectorType, string>;
  readonly adopt?: true;
  readonly format: Format;
}

/** The output of `--format json`. */
interface Report extends Proof {
  /** The number of files in each folder of the layout. */
  readonly files: Readonly<Record<string, number>>;
  readonly leftOut: readonly LeftOut[];
  readonly problems: readonly Problem[];
}

const HELP = `
Sources are a Hiera 5 tree (hiera.yaml, or the folder that has it), an inventory
of Ansible (a file or folder; runs ansible-inventory --list), a Terraform state,
or a table (.csv). If several give a server a key, the last one counts. Secrets
are never imported.

Exit code 0: every record has the values of the sources, except those listed as
not imported; 1: keys differ, or the files have errors; 3: could not run.

Examples:
  treeline import control-repo --nodes nodes.csv --out stacks
  treeline import inventories/production inventories/staging --out stacks
  treeline import terraform.tfstate --layer role=tags::Service --out stacks --adopt`;

/** Adds the command. Exit code 0: no key differs; 1: keys differ, or the files have errors; 3: could not run. */
export function addImportCommand(program: Command): void {
  program
    .command('import')
    .description('write a stacks repository from the files of another tool')
    .argument('<source...>', 'the files of the other tool')
    .requiredOption('--out <directory>', 'where to write: an empty or new directory')
    .addOption(new Option('--kind <kind>', 'the kind of the sources (default: detected)').choices(SOURCE_KINDS))
    .option('--nodes <file>', 'the nodes of a Hiera tree and their facts, CSV or YAML')
    .option('--playbooks <directory>', "the folder of Ansible's playbooks and their variables")
    .option('--layer <type=key>', 'a fact, group, column or key that selects a layer; repeat', addLayer)
    .option('--adopt', 'adopt existing servers instead of asking first')
    .addOption(formatOption())
    .addHelpText('after', HELP)
    .action(async (sources: readonly string[], options: Options) => {
      await expecting([ImportError], () => runImport(sources, options));
    });
}

function addLayer(
  given: string,
  layers: ReadonlyMap<SelectorType, string> = new Map(),
): ReadonlyMap<SelectorType, string> {
  const at = given.indexOf('=');
  const type = SELECTOR_TYPES.find((one) => one === given.slice(0, at));
  if (type === undefined || at === given.length - 1) {
    throw new InvalidArgumentError(`Write TYPE=KEY, with one of these types: ${SELECTOR_TYPES.join(', ')}.`);
  }
  return new Map([...layers, [type, given.slice(at + 1)]]);
}

async function runImport(sources: readonly string[], options: Options): Promise<void> {
  const directory = fromUserDirectory(options.out);
  requireEmpty(directory, options.out);
  const { kind, nodes, playbooks, layer = new Map(), adopt = false, format } = options;
  const inventory = await readSources(sources, { kind, nodes, playbooks });
  if (inventory.nodes.size === 0) {
    const reasons = leftOutLines(inventory.leftOut);
    throw new CommandFailure(['no server was found in the sources', ...reasons].join('\n'));
  }
  const { files, selections } = writeRepository(inventory, { layers: layer, adopt });
  for (const [path, text] of files) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    // `wx`: never overwrites a file, even if another process writes at the same time.
    writeFileSync(join(directory, path), text, { flag: 'wx' });
  }
  await writeSchemas(join(directory, 'schemas'));
  const derivation = derive(await readStacksDirectory(directory));
  const proof = proveImport(inventory, selections, derivation);
  const problems = problemsOf(derivation).filter(isError);
  const report = { ...proof, files: countFiles(files.keys()), leftOut: inventory.leftOut, problems };
  printAs(format, report, () => textReport(report, options.out));
  if (proof.differing > 0 || problems.length > 0) process.exitCode = EXIT_PROBLEMS;
}

function requireEmpty(directory: string, shown: string): void {
  const found = statSync(directory, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (!found.isDirectory()) throw new CommandFailure(`${shown} is a file, and --out names a folder`);
  if (readdirSync(directory).some((name) => name !== '.git')) {
    throw new CommandFailure(`${shown} is not empty, and nothing is written over: name another folder with --out`);
  }
}

function countFiles(paths: Iterable<string>): Report['files'] {
  const folders = Map.groupBy(paths, (path) => /^[^/.]+(?:\/[^/]+(?=\/))?/.exec(path)?.[0] ?? path);
  return Object.fromEntries([...folders].map(([folder, { length }]) => [folder, length] as const).sort());
}

const LINES_MAX = 200;
const VALUE_WIDTH_MAX = 60;

function textReport(report: Report, out: string): string {
  const { nodes, keys, files, leftOut, problems, differences, differing, missingNodes, missingKeys } = report;
  const wrote = tableLines(Object.entries(files).map(([folder, count]) => [folder, grouped(count)]));
  const shown = (value: RecordValue | null): string => (value === null ? '(no value)' : quote(value));
  const differ = differences.slice(0, LINES_MAX).map(({ node, key, file, line, source, record }) => {
    return [file === null ? '' : placeText({ file, line: line ?? 0 }), node, key, shown(source), shown(record)];
  });
  return [
    `wrote to ${out}:`,
    ...wrote,
    ...leftOutLines(leftOut),
    ...problems.slice(0, LINES_MAX).map((problem) => formatProblem(problem)),
    ...(differ.length === 0 ? [] : ['different (source, server, key, value in the source, value in the record):']),
    ...tableLines(differ, VALUE_WIDTH_MAX),
    `${grouped(differing)} differing ${differing === 1 ? 'key' : 'keys'} on ${countOf(nodes, 'node')}; ${countOf(keys, 'key')} compared; ` +
      `not imported: ${countOf(missingNodes, 'server')}, ${countOf(missingKeys, 'key')}`,
  ].join('\n');
}

/** A place in JSON has no line, so the text names servers. */
function serversText({ line, key, servers: [first, ...more] }: LeftOut): string {
  if (line > 0 || key === '' || first === undefined) return '';
  return more.length === 0 ? ` (${first})` : ` (${first} and ${grouped(more.length)} more)`;
}

function leftOutLines(leftOut: readonly LeftOut[]): readonly string[] {
  if (leftOut.length === 0) return [];
  const rows = leftOut.slice(0, LINES_MAX).map((one) => [placeText(one), one.key, `${one.reason}${serversText(one)}`]);
  const more = leftOut.length - rows.length;
  const last = more > 0 ? [`    and ${grouped(more)} more: --format json lists all`] : [];
  return [`not imported: ${countOf(leftOut.length, 'value')}`, ...tableLines(rows, VALUE_WIDTH_MAX), ...last];
}
