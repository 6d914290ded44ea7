// Defines the operator's settings as the program uses them: complete, checked, all paths absolute.
import type { DriftPolicy, PropertyValue, ReadScope } from './objects.ts';

/** The operator's settings. */
export interface Settings {
  /** The name of this controller. */
  readonly id: string;
  /** The full id of a commit whose history the operator of the host accepts with this start. Not a key of the file. */
  readonly acceptedHistory?: string | undefined;
  readonly api: {
    readonly host: string;
    /** 0: any free port. */
    readonly port: number;
    /** What a proxy reads if its client file does not set `reads`. */
    readonly proxyReads: ReadScope;
    /** The limit of one client; 0: no limit. */
    readonly requestsPerSecond: number;
    /** Paths. */
    readonly tls: {
      readonly key: string;
      readonly cert: string;
      readonly clientCa: string;
      readonly crl: string | null;
    };
  };
  readonly management: {
    readonly host: string;
    readonly port: number;
    /** The page is also served here, without a certificate; `host` is an address of this machine. */
    readonly dashboard: boolean;
  };
  /** Null: push hooks are disabled. `secretFile` is a path. */
  readonly webhook: { readonly host: string; readonly port: number; readonly secretFile: string } | null;
  readonly page: PageSettings;
  readonly repository: RepositorySettings;
  /** Null: no commit statuses are sent. */
  readonly statuses: StatusesSettings | null;
  /** Names are distinct. */
  readonly notifications: readonly NotificationTarget[];
  readonly store: StoreSettings;
  readonly replica: ReplicaSettings;
  readonly execution: ExecutionSettings;
  /** How long a stop waits for running actions. */
  readonly shutdownSeconds: number;
  readonly log: { readonly level: LogLevel };
  /** Null: nothing is audited. `file` is a path. */
  readonly audit: { readonly file: string } | null;
  /** The files that the settings name, except programs; also the settings file if it contains a password. */
  readonly files: readonly SettingsFile[];
}

/** A file that the settings name. */
export interface SettingsFile {
  /** The key of the settings that names the file. */
  readonly setting: string;
  /** RFC 6901. */
  readonly pointer: string;
  readonly path: string;
  readonly isSecret: boolean;
}

/** How the page marks this controller, and where it links. */
export interface PageSettings {
  /** `#rgb` or `#rrggbb`, such as red for production; null: none. */
  readonly colour: string | null;
  /** Addresses with `{commit}`, `{path}` and `{line}`; null: there is no link. */
  readonly links: { readonly commit: string | null; readonly file: string | null };
}

/** Where rows are stored: in the directory, or in a database that several replicas share. */
export type StoreSettings = {
  /**
   * A path. Belongs to one process, even with a database: it contains the local copy of the repository and the records
   * of running programs.
   */
  readonly directory: string;
} & ({ readonly kind: 'lowdb' } | ({ readonly kind: 'postgres' } & DatabaseSettings));

/** A PostgreSQL database. */
export interface DatabaseSettings {
  /** Where its URL is. `settings`: in the settings file `file`. */
  readonly url: SecretPlace | { readonly kind: 'settings'; readonly url: string; readonly file: string };
  /** Path of the trusted certificate authorities, PEM; null: those that Node trusts. */
  readonly caFile: string | null;
  /** The most connections of this process, in addition to those of the lease and the replicas. */
  readonly poolSize: number;
}

/** The settings of this replica. */
export interface ReplicaSettings {
  /** At most 63 characters. */
  readonly name: string;
  /** Host, and port if fixed, at which other replicas reach this one; null: the address that reaches the database. */
  readonly address: string | null;
  /** How long the leader may be silent before another replica takes over. */
  readonly leaseSeconds: number;
}

/** The followed repository. */
export interface RepositorySettings {
  /** A URL, or an absolute path. */
  readonly url: string;
  readonly branch: string;
  /** The directory of the layout in the repository, with forward slashes; `.` for its root. */
  readonly directory: string;
  readonly pollSeconds: number;
  /** What a write through the REST interface does; `off`: it is refused. */
  readonly writes: 'commit' | 'propose' | 'off';
  readonly access: RepositoryAccess;
  /** Null: commits need no signature. */
  readonly verify: VerifySettings | null;
  /** The ssh key that signs the commits of the REST interface; null: they are not signed. `sshKeyFile` is a path. */
  readonly sign: { readonly sshKeyFile: string } | null;
}

/** The keys of accepted signatures. Paths; at least one is not null. */
export interface VerifySettings {
  /** The keys of ssh signatures, in the format of `ssh-keygen`'s allowed signers. */
  readonly allowedSigners: string | null;
  /** Public GPG keys, as `gpg --export` writes them. */
  readonly keyring: string | null;
}

/** Commit statuses, and the forge that they are sent to. */
export interface StatusesSettings {
  /** The API that the forge speaks; `gitea` also for Forgejo. */
  readonly kind: 'github' | 'gitlab' | 'gitea';
  /** The address of the API, without a slash at its end. */
  readonly apiUrl: string;
  /** `owner/name`; at GitLab a path of any depth, or a number. */
  readonly project: string;
  /** The followed branch. */
  readonly branch: string;
  /** A path. The token is read for each request. */
  readonly tokenFile: string;
  /** Path of the trusted certificate authorities, PEM; null: those that Node trusts. */
  readonly caFile: string | null;
  /** The page that a status links to; null: none. */
  readonly targetUrl: string | null;
}

/** What a subscriber can be notified of. */
export const NOTIFICATION_KINDS = ['attention', 'held', 'drift', 'commit', 'done'] as const;
/** A kind of events; see docs/install.md, notifications. */
export type NotificationKind = (typeof NOTIFICATION_KINDS)[number];

/** A subscriber, and the events that it is notified of. */
export interface NotificationTarget {
  readonly name: string;
  /** `https://`, or `http://` of this machine. */
  readonly url: string;
  /** Path of the secret that signs: `whsec_` and base64. Read for each request. */
  readonly secretFile: string;
  /** Path of the trusted certificate authorities, PEM; null: those that Node trusts. */
  readonly caFile: string | null;
  /** Patterns of names, in which `*` stands for any characters. */
  readonly instances: readonly string[];
  readonly kinds: readonly NotificationKind[];
}

/** Access to a repository at an `http(s)://` URL. Contains the places of secrets, not the secrets. */
export interface RepositoryAccess {
  readonly username: SecretPlace | null;
  readonly password: SecretPlace | null;
  /** Path of the trusted certificate authorities, PEM; null: those that Node trusts. */
  readonly caFile: string | null;
}

/** Where a secret is read on each use: a file by its path, or an environment variable. */
export type SecretPlace =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'variable'; readonly name: string };

/** The levels of the log, most detailed first. */
export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
/** A level of the log; `silent` writes nothing. */
export type LogLevel = (typeof LOG_LEVELS)[number];

/** When a failed step is tried again. */
export interface RetryPolicy {
  /** Tries before giving up for `failedSeconds`. */
  readonly attempts: number;
  readonly firstSeconds: number;
  readonly maxSeconds: number;
  readonly failedSeconds: number;
}

/**
 * How many servers may be deleted or replaced without approval: a percentage of all created servers, within two bounds.
 */
export interface DeleteBudget {
  readonly percent: number;
  /** Null: 5, but no more than a third of the servers, and at least 1. docs/decisions/0010. */
  readonly least: number | null;
  readonly most: number;
}

/** Calls to providers, their retries and limits. */
export interface ExecutionSettings {
  /** Concurrent actions and checks over all providers. */
  readonly concurrency: number;
  readonly retry: RetryPolicy;
  readonly deleteBudget: DeleteBudget;
  /** Added to a deadline before a lost action counts as ended. */
  readonly graceSeconds: number;
  /** In order: the first match wins. Names are distinct. */
  readonly providers: readonly ProviderSettings[];
  /** The entry of servers that no provider matches: proxies manage them. */
  readonly proxied: ProxiedSettings;
}

/** An entry of `execution.providers`. */
export type ProviderSettings = EntrySettings & ImplementationSettings;

/** Settings of the entry of proxies; its name is `proxied`. */
export type ProxiedSettings = Omit<EntrySettings, 'match'>;

/** The settings that every entry has. */
export interface EntrySettings {
  readonly name: string;
  /** Kind null matches any kind. A server must have all the properties. */
  readonly match: { readonly kind: string | null; readonly properties: Readonly<Record<string, PropertyValue>> };
  readonly timeoutSeconds: number;
  readonly checkSeconds: number;
  readonly drift: DriftPolicy;
  /** Concurrent actions and checks of this entry. */
  readonly concurrency: number;
  readonly retry: RetryPolicy;
}

/** The settings of each implementation of a provider. */
export type ImplementationSettings =
  | { readonly implementation: 'simulated'; readonly options: SimulatedSettings }
  | ({ readonly implementation: 'exec' } & ProgramSettings)
  | ({ readonly implementation: 'http' } & ServiceSettings);

/** The options of a provider that runs a program. */
export interface ProgramSettings {
  /** The absolute path of the program, and its arguments. */
  readonly command: readonly [string, ...string[]];
  /** The working directory: that of the settings file. */
  readonly directory: string;
  /** The whole environment of the program. */
  readonly environment: Readonly<Record<string, string>>;
}

/** The options of a provider that asks a service. */
export interface ServiceSettings {
  /** The URL to which calls are posted. Polls must have the same origin. */
  readonly url: string;
  /** Path of the secret that signs requests. */
  readonly secretFile: string;
  /** Path of the trusted certificate authorities, PEM; null: those that Node trusts. */
  readonly caFile: string | null;
}

/** The options of a simulated provider. */
export interface SimulatedSettings {
  /** The file of simulated servers. */
  readonly file: string;
  readonly createMs: number;
  readonly updateMs: number;
  readonly deleteMs: number;
  readonly checkMs: number;
  readonly failRate: number;
  readonly seed: number;
}
