// The settings of a proxy, complete and with absolute paths. Loading checks them against
// schemas/proxy-settings.schema.json, fills in defaults, and reports all mistakes together.
import schema from '../../schemas/proxy-settings.schema.json' with { type: 'json' };
import { compileSchema } from '../catalog/schemas.ts';
import type { LogLevel, ProviderSettings } from '../model/settings.ts';
import { faultsOfProviders, fillInProvider, type WrittenProvider } from '../settings/load-providers.ts';
import { readSettings } from '../settings/load-settings.ts';

/** The settings of a proxy. */
export interface ProxySettings {
  /** Address of the controller, without a trailing slash. */
  readonly server: string;
  /** Paths of PEM files. */
  readonly tls: ProxyTlsFiles;
  readonly directory: string;
  /** Concurrent actions and checks. */
  readonly concurrency: number;
  /** The first match wins. All entries run programs. */
  readonly providers: readonly ProviderSettings[];
  /** How long a stop waits for running actions. */
  readonly shutdownSeconds: number;
  readonly log: { readonly level: LogLevel };
}

/** The paths of the certificate, its key, and the authority of the controller. */
export interface ProxyTlsFiles {
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
}

/** The shape that the completed schema guarantees. */
interface Written extends Omit<ProxySettings, 'providers'> {
  readonly providers: readonly Omit<WrittenProvider, keyof typeof OF_PROXY>[];
}

const checkShape = compileSchema(schema);
/** A proxy does not retry; the controller does. */
const NO_RETRY = { attempts: 1, firstSeconds: 1, maxSeconds: 1, failedSeconds: 1 };
/** Fields that the controller decides, or that are equal for all entries. */
const OF_PROXY = { provider: 'exec', checkSeconds: 300, drift: 'report', retry: null } as const;

/**
 * Returns the settings of a file, complete and with absolute paths. Throws SettingsError if the file cannot be read,
 * violates its schema, or names a program that cannot be executed.
 */
export async function loadProxySettings(
  file: string,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Promise<ProxySettings> {
  return await readSettings<Written, ProxySettings>(file, {
    schema,
    checkShape,
    fillIn: (written, { base }) => fillIn(written, base, environment.PATH),
    faultsOf: async (_, settings) => {
      const faults = await faultsOfProviders(settings?.providers ?? []);
      return faults.map(({ pointer, fault }) => ({ pointer: pointer.replace('/execution', ''), fault }));
    },
  });
}

async function fillIn(written: Written, base: string, searchPath: string | undefined): Promise<ProxySettings> {
  const { server, directory, concurrency } = written;
  const inherited = { base, directory, concurrency, retry: NO_RETRY, searchPath };
  const providers = written.providers.map((entry) =>
    fillInProvider({ ...OF_PROXY, ...entry, concurrency: entry.concurrency ?? concurrency }, inherited),
  );
  return { ...written, server: server.replace(/\/+$/, ''), providers: await Promise.all(providers) };
}
