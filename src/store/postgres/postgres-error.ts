// Tells the operator what failed between Treeline and PostgreSQL: which database, why, and what to do. Knows the codes
// of PostgreSQL, Node and OpenSSL; never shows a password.
import { reasonOf } from '../../base/wording.ts';
import { codeOf, StoreError, StoreUnavailable } from '../store-error.ts';

/** A database, as messages name it. */
export interface DatabaseAddress {
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
}

/** The connection was lost while the server committed: it may have, or not. */
export class LostCommit extends StoreError {}

/** What happened, and what to do. */
interface Failure {
  readonly why: string;
  readonly remedy: string;
  /** To wait and to try again helps, so Treeline does. */
  readonly isPassing?: boolean;
}

const CONTINUES = 'Treeline continues by itself as soon as it can.';
const LOOK_AT_SERVER = 'See whether PostgreSQL runs there and its log.';
const LOOK_AT_ADDRESS =
  'See that host and port in the URL are right, that PostgreSQL runs there, and the firewalls between.';
/** After a takeover of PostgreSQL the same address may be that of the primary again. */
export const NAME_PRIMARY = 'Name the primary in the URL.';
const PERCENT_ENCODED = 'Correct user and password in the URL; characters such as @ / # % are written percent-encoded.';
const TLS_REMEDY =
  "Give the certificate of the server's authority (caFile), and use the name in the URL that the server's certificate has.";

/** By the code of Node, of OpenSSL, or of PostgreSQL (SQLSTATE). The text of any other error is shown as it is. */
const FAILURES: Readonly<Record<string, (at: DatabaseAddress, said: string) => Failure>> = {
  ECONNREFUSED: unreachable('refuses connections'),
  ETIMEDOUT: unreachable('does not answer'),
  EHOSTUNREACH: unreachable('cannot be reached'),
  ENOTFOUND: ({ host }) => ({
    why: `has an unknown host name, "${host}"`,
    remedy: 'Correct the URL, or the name service.',
    isPassing: true,
  }),
  '42703': () => ({
    why: 'has tables of another version of Treeline',
    remedy: 'Name an empty database, and fill it with "treeline store restore" if there is a backup.',
  }),
  '28P01': ({ user }) => ({
    why: `refuses the password of "${user}"`,
    remedy: PERCENT_ENCODED,
  }),
  '28000': ({ user }, said) => ({
    why: `does not let "${user}" in: ${said}`,
    remedy: said.endsWith('no encryption')
      ? 'If it wants TLS, add ?sslmode=verify-full to the URL, and caFile to the settings; else correct pg_hba.conf on the server.'
      : 'Correct the user in the URL, or pg_hba.conf on the server.',
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
  '3F000': schemaMissing,
  '42P01': schemaMissing,
  DEPTH_ZERO_SELF_SIGNED_CERT: untrusted,
  SELF_SIGNED_CERT_IN_CHAIN: untrusted,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
  ERR_TLS_CERT_ALTNAME_INVALID: untrusted,
  CERT_HAS_EXPIRED: untrusted,
};

/** By the driver's text, for errors without a code. */
const SAYINGS: readonly (readonly [RegExp, Failure])[] = [
  // The text of PgBouncer.
  [/^SASL authentication failed$/, { why: 'refuses the user or its password', remedy: PERCENT_ENCODED }],
  [
    /does not support SSL/,
    {
      why: 'has no TLS',
      remedy:
        'Set ssl = on at the server. Over a network that nobody else can read, add ?sslmode=disable to the URL instead.',
    },
  ],
  [/password must be a (non-empty )?string/, { why: 'asks for a password', remedy: 'The URL has none: add it.' }],
];

function unreachable(why: string): () => Failure {
  return () => ({ why, remedy: LOOK_AT_ADDRESS, isPassing: true });
}

function schemaMissing(_at: DatabaseAddress, said: string): Failure {
  return {
    why: `does not have the tables of Treeline: ${said}`,
    remedy: 'Start Treeline as the owner of the database, which makes them, or restore the database.',
  };
}

function untrusted(_at: DatabaseAddress, said: string): Failure {
  // Node adds advice for those who start it.
  const [why] = said.split('; if the root CA');
  return { why: `shows a certificate that is not trusted: ${why}`, remedy: TLS_REMEDY };
}

/** Returns how messages name a database. */
export function nameOf({ database, host, port }: DatabaseAddress): string {
  return `the database "${database}" at ${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** Returns an error about a database: why, and what to do. */
export function databaseError(at: DatabaseAddress, { why, remedy, isPassing }: Failure, cause?: unknown): StoreError {
  const name = nameOf(at);
  const message = `${name[0]?.toUpperCase()}${name.slice(1)} ${why}. ${remedy}`;
  return isPassing === true
    ? new StoreUnavailable(`${message} ${CONTINUES}`, { cause })
    : new StoreError(message, { cause });
}

/** Returns the error for what the driver threw. */
export function explainFailure(error: unknown, at: DatabaseAddress): StoreError {
  if (error instanceof StoreError) return error;
  const said = reasonOf(error);
  const byCode = FAILURES[codeOf(error) ?? '']?.(at, said);
  const known = byCode ?? SAYINGS.find(([pattern]) => pattern.test(said))?.[1];
  const code = codeOf(error);
  const unknown = {
    why: `has failed: ${said}${code === undefined ? '' : ` (${code})`}`,
    remedy: LOOK_AT_SERVER,
    isPassing: true,
  };
  return databaseError(at, known ?? unknown, error);
}

/** Returns true unless the server itself has refused: then what it was asked last may have been done. */
export function isLost(error: unknown): boolean {
  const code = codeOf(error);
  // A SQLSTATE is five characters. Class 08 is the connection, class 57 the operator who ends it.
  return code === undefined || !/^[0-9A-Z]{5}$/.test(code) || code === 'EPIPE' || /^(08|57|25P03)/.test(code);
}
