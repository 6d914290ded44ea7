// Prepares once, before the first test, what many tests start: a database, and the program as a compiled bundle. From
// a bundle the program starts in a third of the time, which goes into finding and reading its 500 modules. Processes that are killed
// would not leave their compiled form behind, and in a fresh clone each one would compile the program again.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Plugin, rolldown } from 'rolldown';
import { BUNDLED, CACHE, ROOT, SOURCE } from './command-line.ts';

/** The folder in which Node keeps compiled modules during the tests. */
export const COMPILED = `${CACHE}/compiled`;

const DAY_MS = 86_400_000;

/** Modules find their neighbours, such as helper processes and schemas, from where their source is. */
const IN_PLACE: Plugin = {
  name: 'in-place',
  transform: (code, id) =>
    code
      .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id)))
      .replaceAll('import.meta.filename', JSON.stringify(id))
      .replaceAll('import.meta.dirname', JSON.stringify(dirname(id))),
};

/** Vitest calls it before the first test. */
export async function setup(): Promise<void> {
  await (await import('./postgres-server.ts')).preparedData();
  const isNew = await bundle();
  const isCompiled = existsSync(COMPILED) && readdirSync(COMPILED).some((name) => name.startsWith(process.version));
  if (isCompiled && !isNew) return;
  const env = { ...process.env, NODE_COMPILE_CACHE: COMPILED };
  for (const program of [BUNDLED, SOURCE]) {
    // What a module has called by then is compiled with it. The help loads every command.
    for (const args of [['validate', `${ROOT}/sample-repo`], ['--help']]) {
      execFileSync(process.execPath, [program, ...args], { env, stdio: 'ignore' });
    }
  }
}

/** Writes the bundle, beside one that another run of the tests uses; returns whether it has changed. */
async function bundle(): Promise<boolean> {
  const build = await rolldown({ input: SOURCE, cwd: ROOT, platform: 'node', plugins: [IN_PLACE] });
  const { output } = await build.generate({ chunkFileNames: '[name]-[hash].js', entryFileNames: '[name].js' });
  await build.close();
  const folder = dirname(BUNDLED);
  mkdirSync(folder, { recursive: true });
  const files = new Map(output.map((file) => [join(folder, file.fileName), 'code' in file ? file.code : file.source]));
  // Node would parse each file once more to see that it is a module.
  files.set(join(folder, 'package.json'), '{ "type": "module" }\n');
  const written = [...files].filter(([path]) => path !== BUNDLED && !existsSync(path));
  // The entry comes last: it names the others, whose names tell their content.
  for (const [path, text] of [...written, [BUNDLED, files.get(BUNDLED) ?? ''] as const]) {
    writeFileSync(`${path}.${process.pid}`, text);
    renameSync(`${path}.${process.pid}`, path);
  }
  for (const path of readdirSync(folder).map((name) => join(folder, name))) {
    if (!files.has(path) && Date.now() - statSync(path).mtimeMs > DAY_MS) rmSync(path, { force: true });
  }
  return written.length > 0;
}
