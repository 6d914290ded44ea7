// Explains failures of PostgreSQL to the operator: the database, the cause and the remedy. Never shows a password.
import { reasonOf } from '../../base/wording.ts';
import { codeOf, StoreError, StoreUnavailable } from '../store-error.ts';

/** The address of a database in messages. */
export interface DatabaseAddress {
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
}

/** The connection was lost during the commit, so its outcome is unknown. */
export class LostCommit extends StoreError {}

/** A failure and its remedy. */
interface Failure {
  readonly why: string;
  readonly remedy: string;
  /** True if the failure may pass, so Treeline retries. */
  readonly isPassing?: boolean;
}

const CONTINUES = 'Treeline continues automatically.';
/** After a failover of PostgreSQL, the same address may belong to the primary again. */
export const NAME_PRIMARY = 'Write the host of the primary into the URL.';

/** By the code of PostgreSQL (SQLSTATE). The text of any other error is shown as it is. */
const FAILURES: Readonly<Record<string, (at: DatabaseAddress, said: string) => Failure>> = {
  '28P01': ({ user }) => ({
    why: `refuses the password of "${user}"`,
    remedy: 'Correct user and password in the URL; characters such as @ / # % are written percent-encoded.',
  }),
  '28000': ({ user }, said) => ({
    why: `does not let "${user}" in: ${said}`,
    remedy: 'Correct the user in the URL, or pg_hba.conf; for TLS add ?sslmode=verify-full to the URL, and caFile.',
  }),
  '3D000': ({ database, user }) => ({
    why: 'is not there',
    remedy: `Make it: CREATE DATABASE "${database}" OWNER "${user}".`,
  }),
  '42501': ({ database, user }, said) => ({
    why: `does not let "${user}" do this: ${said}`,
    remedy: `Make that user the owner: ALTER DATABASE "${database}" OWNER TO "${user}", and so its schema treeline if it is there.`,
  }),
  '25006': () => ({
    why: 'can only be read: it is a standby, or its transactions are read-only (default_transaction_read_only)',
    remedy: `${NAME_PRIMARY} If it is the primary, end what makes it read-only.`,
    isPassing: true,
  }),
  '53300': () => ({
    why: 'has too many connections',
    remedy: 'Raise max_connections, lower the pools of its users, or put a pooler before it.',
    isPassing: true,
  }),
};

/** Messages of the driver, PgBouncer and OpenSSL without a specific code. */
const SAYINGS: readonly (readonly [RegExp, Failure])[] = [
  [
    /SASL authentication failed|password must be a/,
    { why: 'needs a user with its password', remedy: 'Correct user and password in the URL.' },
  ],
  [
    /does not support SSL/,
    { why: 'has no TLS', remedy: 'Set ssl = on at the server, or add ?sslmode=disable to the URL.' },
  ],
];
/** Codes of OpenSSL, and Node's code for a name that is not in the certificate. */
const UNTRUSTED = /CERT|LEAF_SIGNATURE/;

/** Returns the name of a database for messages. */
export function nameOf({ database, host, port }: DatabaseAddress): string {
  return `the database "${database}" at ${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** Returns an error about a database with cause and remedy. */
export function databaseError(at: DatabaseAddress, { why, remedy, isPassing }: Failure, cause?: unknown): StoreError {
  const name = nameOf(at);
  const message = `${name[0]?.toUpperCase()}${name.slice(1)} ${why}. ${remedy}`;
  return isPassing === true
    ? new StoreUnavailable(`${message} ${CONTINUES}`, { cause })
    : new StoreError(message, { cause });
}

/** Returns the error for an exception of the driver. */
export function explainFailure(error: unknown, at: DatabaseAddress): StoreError {
  if (error instanceof StoreError) return error;
  // Node tries all addresses of a host, and its error has no text of its own.
  const first = error instanceof AggregateError && error.message === '' ? error.errors[0] : error;
  return databaseError(at, failureOf(reasonOf(first), { at, code: codeOf(error) }), error);
}

function failureOf(said: string, { at, code = '' }: { at: DatabaseAddress; code: string | undefined }): Failure {
  const known = FAILURES[code]?.(at, said) ?? SAYINGS.find(([pattern]) => pattern.test(said))?.[1];
  if (known !== undefined) return known;
  if (UNTRUSTED.test(code)) {
    // Removes Node's advice, which is for developers.
    const why = `shows a certificate that is not trusted: ${said.split('; if the root CA')[0]}`;
    return {
      why,
      remedy: 'Give the certificate of its authority (caFile), and use the name that its certificate has.',
    };
  }
  const why = `has failed: ${said}${said.includes(code) ? '' : ` (${code})`}`;
  const remedy = 'Check host and port in the URL, that PostgreSQL runs there, its log, and the firewalls between.';
  return { why, remedy, isPassing: true };
}

/** Returns true unless the server refused: then the last request may have been carried out. */
export function isLost(error: unknown): boolean {
  const code = codeOf(error);
  // A SQLSTATE has five characters. Class 08: connection; class 57: operator intervention.
  return code === undefined || !/^[0-9A-Z]{5}$/.test(code) || code === 'EPIPE' || /^(08|57|25P03)/.test(code);
}
