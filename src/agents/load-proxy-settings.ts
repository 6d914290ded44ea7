// The settings of a proxy, complete and with absolute paths. Loading checks them against
// schemas/proxy-settings.schema.json, fills in defaults, and reports all mistakes at once.
import { resolve } from 'node:path';
import schema from '../../schemas/proxy-settings.schema.json' with { type: 'json' };
import { compileSchema } from '../catalog/schemas.ts';
import type { LogLevel, ProviderSettings } from '../model/settings.ts';
import { faultsOfProviders, fillInProvider, type WrittenProvider } from '../settings/load-providers.ts';
import { readSettings } from '../settings/load-settings.ts';

/** The settings of a proxy. */
export interface ProxySettings {
  /** Address of the controller, without a slash at its end. */
  readonly server: string;
  /** Paths of PEM files. */
  readonly tls: ProxyTlsFiles;
  readonly directory: string;
  /** Concurrent actions and checks. */
  readonly concurrency: number;
  /** In order: the first match wins. All of them run programs. */
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
  return await readSettings<Written, ProxySettings>(file, {
    checkShape,
    fillIn: (written, { base }) => fillIn(written, base, environment.PATH),
    faultsOf: async (_, settings) => {
      const faults = await faultsOfProviders(settings?.providers ?? []);
      return faults.map(({ pointer, fault }) => ({ pointer: pointer.replace('/execution', ''), fault }));
    },
  });
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
    directory,
    concurrency,
    shutdownSeconds,
    providers: await Promise.all(providers),
    log: { level: log?.level ?? 'info' },
  };
}
