// Builds git's configuration and environment for one repository: credentials, certificate authorities, proxies and ssh.
// The user's and the system's configuration do not apply.
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isLoopback } from '../base/http-request.ts';
import { hideSecrets, proxySecrets, readSecretFile, readSettingFile } from '../base/secrets.ts';
import { reasonOf } from '../base/wording.ts';
import type { RepositoryAccess, SecretPlace } from '../model/settings.ts';
import type { RepositoryUrl } from './repository-url.ts';
import { GitError, inherit } from './run-git.ts';

interface AccessOptions {
  readonly place: RepositoryUrl;
  readonly access: RepositoryAccess;
  /** The file to write; only the owner may read it. */
  readonly configFile: string;
  readonly silenceMs: number;
}

/** Anonymous access. */
export const NO_ACCESS: RepositoryAccess = { username: null, password: null, caFile: null };

/** Hosts that check only the password accept any name. GitHub documents this one. */
const USERNAME_DEFAULT = 'x-access-token';
const CA_BYTES_MAX = 4 * 1024 * 1024;
const PROXY_VARIABLES = ['http_proxy', 'https_proxy', 'HTTPS_PROXY', 'all_proxy', 'ALL_PROXY', 'no_proxy', 'NO_PROXY'];
const SSH_VARIABLES = ['SSH_AUTH_SOCK', 'KRB5CCNAME', 'GIT_SSH_COMMAND', 'GIT_SSH_VARIANT'];
/** Variables that pass secrets of the environment to the helper. Git's hooks never get them. */
const HELPER_VARIABLES = { username: 'TREELINE_HELPER_USERNAME', password: 'TREELINE_HELPER_PASSWORD' } as const;
const ALIVE_CHECKS = 4;
/** Configuration that hooks of a local repository also read. The repository may belong to another user. */
const CONFIG = '[safe]\n\tdirectory = *\n';

/** The access to one repository. */
export class Access {
  readonly configFile: string;
  /** The first arguments of git. */
  readonly config: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly #options: AccessOptions;
  #writing: Promise<void> | undefined;
  /** All sent secrets: after a rotation, an answer may still quote the old password. */
  #sent: readonly string[] = [];

  constructor(options: AccessOptions) {
    this.configFile = options.configFile;
    this.config = configFor(options);
    this.environment = environmentFor(options);
    this.#options = options;
  }

  /** Where name and password are configured, for messages; undefined for anonymous access. */
  get places(): string | undefined {
    const { username, password } = this.#options.access;
    const places = [username, password].filter((place) => place !== null).map(placeOf);
    return places.length === 0 ? undefined : places.join(' and ');
  }

  /**
   * Writes the configuration if it is missing, and checks the files of secrets. Throws GitError that names the
   * setting.
   */
  async prepare(): Promise<void> {
    if (!existsSync(this.configFile)) this.#writing = undefined;
    this.#writing ??= this.#write();
    await this.#writing.catch((error: unknown) => {
      this.#writing = undefined;
      throw error;
    });
    const { place, access } = this.#options;
    if (place.kind !== 'http') return;
    if (access.caFile !== null) await readSetting(readSettingFile(access.caFile, 'repository.caFile', CA_BYTES_MAX));
    const login = await readLogin(access);
    const basic = login === undefined ? [] : [login.password, `${login.username}:${login.password}`];
    this.#sent = [...new Set([...this.#sent.slice(-SENT_MAX), ...basic, ...proxySecrets()])];
  }

  /** Returns a text without the secrets that were sent. */
  readonly redact = (text: string): string => hideSecrets(text, this.#sent);

  async #write(): Promise<void> {
    const folder = dirname(this.configFile);
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await writeFile(this.configFile, CONFIG, { mode: 0o600 });
    } catch (error) {
      throw new GitError(`git's configuration in ${folder} cannot be written: ${reasonOf(error)}`, { cause: error });
    }
  }
}

const SENT_MAX = 8;

function environmentFor({ place, access, silenceMs, configFile }: AccessOptions): Readonly<Record<string, string>> {
  switch (place.kind) {
    case 'local':
      return {};
    case 'ssh':
      return { GIT_ALLOW_PROTOCOL: 'ssh', GIT_SSH_COMMAND: sshCommand(silenceMs), ...inherit(SSH_VARIABLES) };
    case 'http': {
      const secrets = Object.entries(HELPER_VARIABLES).flatMap(([key, variable]) => {
        const secret = access[key as keyof typeof HELPER_VARIABLES];
        return secret?.kind === 'variable' ? [[variable, process.env[secret.name] ?? ''] as const] : [];
      });
      // curl reads only the lower-case name, because web servers set the other name for scripts.
      const proxy = process.env.HTTP_PROXY === undefined ? {} : { http_proxy: process.env.HTTP_PROXY };
      // Without this HOME, a .netrc of an operator could add a password.
      const fixed = { GIT_ALLOW_PROTOCOL: new URL(place.url).protocol.slice(0, -1), HOME: dirname(configFile) };
      return { ...fixed, ...proxy, ...inherit(PROXY_VARIABLES), ...Object.fromEntries(secrets) };
    }
  }
}

function sshCommand(silenceMs: number): string {
  const seconds = Math.max(1, Math.ceil(silenceMs / 1000));
  const interval = Math.max(1, Math.ceil(seconds / ALIVE_CHECKS));
  const alive = `-oServerAliveInterval=${interval} -oServerAliveCountMax=${ALIVE_CHECKS}`;
  return `ssh -oBatchMode=yes -oConnectTimeout=${seconds} ${alive}`;
}

/** Returns the configuration for runs with a remote, as arguments. It contains places of secrets, but no secrets. */
function configFor({ place, access, silenceMs }: AccessOptions): readonly string[] {
  if (place.kind !== 'http') return [];
  const { protocol, origin, hostname } = new URL(place.url);
  const { username, password, caFile } = access;
  const values = {
    'http.followRedirects': 'false',
    'http.lowSpeedLimit': '1',
    'http.lowSpeedTime': String(Math.max(1, Math.ceil(silenceMs / 1000))),
    ...(caFile === null ? {} : { 'http.sslCAInfo': caFile }),
    // A proxy would see the password, which may be sent unencrypted to a loopback address.
    ...(protocol === 'http:' && isLoopback(hostname) ? { [`http.${origin}.proxy`]: '' } : {}),
    ...(username === null && password === null ? {} : { [`credential.${origin}.helper`]: helperFor(access) }),
  };
  return Object.entries(values).flatMap(([key, value]) => ['-c', `${key}=${value}`]);
}

/** Returns the credential helper, which git runs in a shell for each request that needs credentials. */
function helperFor({ username, password }: RepositoryAccess): string {
  const name = username === null ? quoted(USERNAME_DEFAULT) : printed(username, HELPER_VARIABLES.username);
  const secret = password === null ? quoted('') : printed(password, HELPER_VARIABLES.password);
  return `!f() { test "$1" = get && printf 'username=%s\\npassword=%s\\n' ${name} ${secret}; }; f`;
}

/** Returns a shell word that prints a secret without its newline. */
function printed(place: SecretPlace, variable: string): string {
  if (place.kind === 'variable') return `"$${variable}"`;
  return `"$(head -n 1 ${quoted(place.path)} | tr -d '\\r')"`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

interface Login {
  readonly username: string;
  readonly password: string;
}

async function readLogin({ username, password }: RepositoryAccess): Promise<Login | undefined> {
  if (username === null && password === null) return undefined;
  const name = username === null ? USERNAME_DEFAULT : await readSecret(username, 'repository.usernameFile');
  if (name.includes(':')) {
    throw new GitError(`the user name in ${placeOf(username)} contains a ":", which no user name can: correct it`);
  }
  const secret = password === null ? '' : await readSecret(password, 'repository.passwordFile');
  return { username: name, password: secret };
}

async function readSecret(place: SecretPlace, setting: string): Promise<string> {
  const text =
    place.kind === 'file' ? await readSetting(readSecretFile(place.path, setting)) : (process.env[place.name] ?? '');
  if (/[\r\n\0]/.test(text)) {
    throw new GitError(`${placeOf(place)} has more than one line: write only the secret for the repository into it`);
  }
  return text;
}

async function readSetting(reading: Promise<Buffer>): Promise<string> {
  try {
    return (await reading).toString();
  } catch (error) {
    throw new GitError(reasonOf(error), { cause: error });
  }
}

function placeOf(place: SecretPlace | null): string {
  if (place === null) return 'nothing';
  return place.kind === 'file' ? place.path : `the environment variable ${place.name}`;
}
