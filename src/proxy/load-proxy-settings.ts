// Loads the settings of a proxy: checks them against schemas/proxy-settings.schema.json, and fills in defaults. Reports
// all mistakes at once.
import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import schema from '../../schemas/proxy-settings.schema.json' with { type: 'json' };
import { problemFrom } from '../catalog/fault.ts';
import { compileSchema } from '../catalog/schemas.ts';
import { parseYaml } from '../catalog/yaml.ts';
import { faultsOfProviders, fillInProvider, type WrittenProvider } from '../load-providers.ts';
import { SettingsError } from '../load-settings.ts';
import type { LogLevel } from '../log.ts';
import { hasNoErrors, type Problem, sortProblems } from '../model/problem.ts';
import { reasonOf } from '../model/quote.ts';
import type { ProxySettings, ProxyTlsFiles } from './proxy-settings.ts';

/** The shape that the schema allows. */
interface Written {
  readonly server: string;
  readonly tls: ProxyTlsFiles;
  readonly directory?: string;
  readonly concurrency?: number;
  readonly providers: readonly Omit<WrittenProvider, 'provider'>[];
  readonly shutdownSeconds?: number;
  readonly log?: { readonly level?: LogLevel };
}

const checkShape = compileSchema(schema);
/** A proxy never tries again by itself: the controller does. */
const NO_RETRY = { attempts: 1, firstSeconds: 1, maxSeconds: 1, failedSeconds: 1 };

/**
 * Returns the settings of a file, complete and with absolute paths. Throws SettingsError if the file cannot be read,
 * violates its schema, or names a program that cannot be executed.
 */
export async function loadProxySettings(
  file: string,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Promise<ProxySettings> {
  const path = resolve(file);
  const document = parseYaml(file, await readSettings(path));
  const shape = [...document.problems, ...checkShape(file, document)];
  // The schema guarantees the shape.
  const settings = hasNoErrors(shape)
    ? await fillIn(document.value as unknown as Written, dirname(path), environment.PATH)
    : undefined;
  const faults = settings === undefined ? [] : await faultsOfProviders(settings.providers);
  const problems = sortProblems([
    ...shape,
    ...faults.map(({ pointer: inController, fault }): Problem => {
      const pointer = inController.replace('/execution', '');
      return problemFrom(fault, { ...document.locate(pointer, fault.part), file, pointer });
    }),
  ]);
  if (settings !== undefined && hasNoErrors(problems)) return settings;
  const lines = problems.map(({ line, column, message, hint }) => {
    return `${file}:${line}:${column}: ${message}${hint === null ? '' : `; ${hint}`}`;
  });
  throw new SettingsError(`The settings cannot be used:\n${lines.join('\n')}`, problems);
}

async function readSettings(path: string): Promise<Uint8Array> {
  try {
    return await readFile(path);
  } catch (error) {
    throw new SettingsError(`The settings file ${path} cannot be read: ${reasonOf(error)}`, [], { cause: error });
  }
}

async function fillIn(written: Written, base: string, searchPath: string | undefined): Promise<ProxySettings> {
  const { server, tls, concurrency = 10, shutdownSeconds = 25, log } = written;
  const directory = resolve(base, written.directory ?? 'proxy-state');
  const inherited = { base, directory, concurrency, retry: NO_RETRY, searchPath };
  const providers = written.providers.map((entry) =>
    fillInProvider({ concurrency, ...entry, provider: 'exec' }, inherited),
  );
  return {
    server: server.replace(/\/+$/, ''),
    tls: { cert: resolve(base, tls.cert), key: resolve(base, tls.key), ca: resolve(base, tls.ca) },
    ...{ directory, concurrency, shutdownSeconds, providers: await Promise.all(providers) },
    log: { level: log?.level ?? 'info' },
  };
}
