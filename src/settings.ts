// The operator's settings as the rest of the program sees them: complete, checked, every path absolute.

import type { LogLevel } from './log.ts';
import type { RetryPolicy } from './machine/backoff.ts';
import type { DeleteBudget } from './machine/removals.ts';
import type { DriftPolicy, PropertyValue } from './model/objects.ts';

export interface Settings {
  /** Names this controller. */
  readonly id: string;
  readonly api: {
    readonly host: string;
    /** 0: any free port. */
    readonly port: number;
    /** Paths. */
    readonly tls: {
      readonly key: string;
      readonly cert: string;
      readonly clientCa: string;
      readonly crl: string | null;
    };
  };
  readonly management: { readonly host: string; readonly port: number };
  /** Null: no push hooks are taken. `secretFile` is a path. */
  readonly webhook: { readonly host: string; readonly port: number; readonly secretFile: string } | null;
  readonly repository: RepositorySettings;
  readonly store: { readonly kind: 'lowdb'; readonly directory: string };
  readonly execution: ExecutionSettings;
  /** How long a stop waits for actions that run. */
  readonly shutdownSeconds: number;
  readonly log: { readonly level: LogLevel };
}

export interface RepositorySettings {
  /** A URL, or an absolute path. */
  readonly url: string;
  readonly branch: string;
  /** Where in the repository the layout begins, with forward slashes; `.` for its root. */
  readonly directory: string;
  readonly pollSeconds: number;
  /** What a write through the REST interface becomes; `off`: it is refused. */
  readonly writes: 'commit' | 'propose' | 'off';
  readonly access: RepositoryAccess;
}

/** What a repository at an `http(s)://` URL asks for. It names where secrets are and holds none. */
export interface RepositoryAccess {
  readonly username: SecretPlace | null;
  readonly password: SecretPlace | null;
  /** Path of the authorities that the server's certificate may come from, PEM; null: those that Node trusts. */
  readonly caFile: string | null;
}

/** Where a secret is read each time that it is needed: a file by its path, or a variable of the environment. */
export type SecretPlace =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'variable'; readonly name: string };

export interface ExecutionSettings {
  /** How many actions and checks run at once, whoever carries them out. */
  readonly concurrency: number;
  readonly retry: RetryPolicy;
  readonly deleteBudget: DeleteBudget;
  /** Added to a deadline before a lost action counts as ended. */
  readonly graceSeconds: number;
  /** In order: the first match wins. Their names differ. */
  readonly providers: readonly ProviderSettings[];
}

export interface ProviderSettings {
  readonly name: string;
  /** A kind of null is any kind. A server matches where it has every one of the properties. */
  readonly match: { readonly kind: string | null; readonly properties: Readonly<Record<string, PropertyValue>> };
  readonly implementation: 'simulated';
  readonly options: SimulatedSettings;
  readonly timeoutSeconds: number;
  readonly checkSeconds: number;
  readonly drift: DriftPolicy;
  /** How many of its actions and checks run at once. */
  readonly concurrency: number;
  readonly retry: RetryPolicy;
}

export interface SimulatedSettings {
  /** The file of what exists. */
  readonly file: string;
  readonly createMs: number;
  readonly updateMs: number;
  readonly deleteMs: number;
  readonly checkMs: number;
  readonly failRate: number;
  readonly seed: number;
}
