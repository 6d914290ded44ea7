// Defines the settings of a proxy as the program uses them: complete, checked, all paths absolute.
import type { LogLevel, ProviderSettings } from '../model/settings.ts';

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
