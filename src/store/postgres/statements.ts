// Contains the SQL of the store on PostgreSQL, for versions 14 to 18; migrate.ts has the SQL of the schema. No
// statement relies on a session: settings are LOCAL, and there are no prepared statements, so a pooler may use another
// connection for each transaction.
import { EVENTS_MAX } from '../event-table.ts';

/** The schema of all tables. */
export const SCHEMA = 'treeline';

/** The oldest supported PostgreSQL, as `server_version_num`. */
export const SERVER_VERSION_MIN = 140_000;

/** The server's time limits for steps of a transaction, in milliseconds. */
export interface ServerLimits {
  readonly statementMs: number;
  readonly lockMs: number;
  /** Between two statements, so that a hanging process does not keep its locks. */
  readonly idleMs: number;
}

/** Facts about the server: version, whether it is a standby, encoding. */
export const SERVER_FACTS = `
  SELECT current_setting('server_version_num')::int, current_setting('server_version'), pg_is_in_recovery(),
    current_setting('server_encoding')`;

/** The relations in the schema, if it exists. */
export const RELATIONS = `
  SELECT n.oid IS NOT NULL, coalesce(array_agg(c.relname::text) FILTER (WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')), '{}')
  FROM (SELECT 1) AS one LEFT JOIN pg_namespace n ON n.nspname = '${SCHEMA}' LEFT JOIN pg_class c ON c.relnamespace = n.oid
  GROUP BY n.oid`;

/** The first table for which this user lacks the rights of a replica. */
export const TABLE_WITHOUT_RIGHTS = `
  SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = '${SCHEMA}' AND c.relkind IN ('r', 'p') AND c.relname <> 'migrations'
    AND NOT (has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'UPDATE')
      AND (c.relname IN ('state', 'lease') OR has_table_privilege(c.oid, 'INSERT') AND has_table_privilege(c.oid, 'DELETE')))
  ORDER BY c.relname LIMIT 1`;

/** Begins a read-only transaction with a consistent snapshot. */
export function beginReading(limits: ServerLimits): string {
  return `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; ${limit(limits)}`;
}

/** Begins a transaction that may write. */
export function beginWriting(limits: ServerLimits): string {
  // A commit must survive a power cut, regardless of the settings of role and database. Stronger settings stay.
  return (
    `BEGIN ISOLATION LEVEL READ COMMITTED; ${limit(limits)}; ` +
    `SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off'`
  );
}

function limit({ statementMs, lockMs, idleMs }: ServerLimits): string {
  return (
    `SET LOCAL statement_timeout = ${statementMs}; SET LOCAL lock_timeout = ${lockMs}; ` +
    `SET LOCAL idle_in_transaction_session_timeout = ${idleMs}`
  );
}

/** The state: revision, newest event, installation, fencing number, and up to which revision marks may be gone. */
export const STATE = `
  SELECT revision, (SELECT coalesce(max(id), 0) FROM ${SCHEMA}.events), installation, fencing, forgotten
  FROM ${SCHEMA}.state`;

/** The state, with a lock: waits for a running commit, and prevents further ones until this transaction ends. */
export const LOCKED_STATE = `${STATE} FOR UPDATE`;

/** The rows after revision $1. */
export const CHANGED_ROWS = `
  SELECT kind, name, value, revision FROM ${SCHEMA}.rows WHERE revision > $1`;

/** Writes rows ($1 kinds, $2 names, $3 values; without duplicates) with revision $4. */
export const SAVE_ROWS = `
  INSERT INTO ${SCHEMA}.rows (kind, name, value, revision)
  SELECT kind, name, value, $4::bigint FROM unnest($1::text[], $2::text[], $3::text[]) AS given (kind, name, value)
  ON CONFLICT (kind, name)
  DO UPDATE SET value = excluded.value, revision = excluded.revision, changed_at = excluded.changed_at`;

/** Writes events ($1 ids, $2 instances, $3 values). */
export const ADD_EVENTS = `
  INSERT INTO ${SCHEMA}.events (id, instance, value) SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[])`;

/**
 * Returns the statement for at most $2 events after id $1, of instances ($3; null: all), whether the range has removed
 * events, and the id of the newest event. With `isBefore`: the newest events before id $4; otherwise the oldest events.
 */
export const eventsStatement = (isBefore: boolean): string => `
  SELECT
    ARRAY(
      SELECT json_build_array(id, instance, value) FROM ${SCHEMA}.events
      WHERE id > $1::bigint AND ($3::text[] IS NULL OR instance = ANY($3))
      ${isBefore ? 'AND id < $4::bigint ORDER BY id DESC' : 'ORDER BY id'} LIMIT $2),
    EXISTS (
      SELECT FROM ${SCHEMA}.trimmed WHERE id > $1::bigint AND ($3::text[] IS NULL OR instance = ANY($3))),
    (SELECT coalesce(max(id), 0) FROM ${SCHEMA}.events)`;

/** Removes events beyond the limits, and records the newest removed one of each instance. */
export const TRIM_EVENTS = `
  WITH numbered AS (
    SELECT id, row_number() OVER (ORDER BY id DESC) AS nth,
      row_number() OVER (PARTITION BY instance ORDER BY id DESC) AS nth_of_instance
    FROM ${SCHEMA}.events
  ), removed AS (
    DELETE FROM ${SCHEMA}.events e USING numbered n
    WHERE e.id = n.id AND (nth > ${EVENTS_MAX.ofAll} OR nth_of_instance > ${EVENTS_MAX.ofInstance})
    RETURNING e.instance, e.id
  )
  INSERT INTO ${SCHEMA}.trimmed (instance, id) SELECT instance, max(id) FROM removed GROUP BY instance
  ON CONFLICT (instance) DO UPDATE SET id = excluded.id`;

/** Ends a commit with revision $1. */
export const FINISH = `UPDATE ${SCHEMA}.state SET revision = $1::bigint`;

/** The fencing number of the leader of the commit $1. */
export const TERM = `
  SELECT fencing FROM ${SCHEMA}.terms WHERE first_revision <= $1::bigint ORDER BY fencing DESC LIMIT 1`;

/** The lease: holder, fencing number, since when, and how many seconds are left. */
export const LEASE = `
  SELECT holder, fencing, ${momentOf('since')}, extract(epoch FROM expires_at - clock_timestamp())::float8 FROM ${SCHEMA}.lease`;

/**
 * Acquires the lease for $1, for $2 seconds, if it was released or has expired. Returns the new fencing number, which
 * is also greater than $3, and its start.
 */
export const ACQUIRE_LEASE = `
  UPDATE ${SCHEMA}.lease
  SET holder = $1::text, fencing = greatest(fencing, $3::bigint) + 1, since = clock_timestamp(), expires_at = ${after('$2')}
  WHERE holder IS NULL OR expires_at <= clock_timestamp() RETURNING fencing, ${momentOf('since')}`;

/** Allows only commits with the fencing number $1, and begins its term. Waits for a running commit. */
export const FENCE = `
  WITH fenced AS (UPDATE ${SCHEMA}.state SET fencing = $1::bigint RETURNING revision)
  INSERT INTO ${SCHEMA}.terms (fencing, first_revision) SELECT $1::bigint, revision + 1 FROM fenced`;

/**
 * Renews the lease of $1 with the fencing number $2 for $3 seconds. Returns no row if another process has the lease.
 */
export const RENEW_LEASE = `
  UPDATE ${SCHEMA}.lease SET expires_at = ${after('$3')} WHERE holder = $1::text AND fencing = $2::bigint RETURNING fencing`;

/** Releases the lease of $1 with the fencing number $2. */
export const RELEASE_LEASE = `
  UPDATE ${SCHEMA}.lease SET holder = NULL, expires_at = clock_timestamp() WHERE holder = $1::text AND fencing = $2::bigint`;

/**
 * Records the replica $1 with its process $2, settings $3, address $4 and certificate $5. Returns the process that was
 * recorded before.
 */
export const REPORT_REPLICA = `
  WITH former AS (SELECT process FROM ${SCHEMA}.replicas WHERE name = $1::text)
  INSERT INTO ${SCHEMA}.replicas (name, process, seen_at, settings, address, certificate)
  VALUES ($1::text, $2::uuid, clock_timestamp(), $3::text, $4::text, $5::text)
  ON CONFLICT (name) DO UPDATE SET process = excluded.process, seen_at = excluded.seen_at, settings = excluded.settings,
    address = excluded.address, certificate = excluded.certificate
  RETURNING (SELECT process FROM former)`;

/** Removes the replica $1, if it is the process $2. */
export const REMOVE_REPLICA = `DELETE FROM ${SCHEMA}.replicas WHERE name = $1::text AND process = $2::uuid`;

/** Removes replicas that were silent for a day. */
export const REMOVE_SILENT_REPLICAS = `DELETE FROM ${SCHEMA}.replicas WHERE seen_at < clock_timestamp() - interval '1 day'`;

/** The address of each replica for the others, and the SHA-256 of its certificate. */
export const PEERS = `SELECT name, address, certificate FROM ${SCHEMA}.replicas WHERE certificate IS NOT NULL`;

/** The name and the settings of each running replica except $1. */
export const OTHER_REPLICAS = `
  SELECT name, settings FROM ${SCHEMA}.replicas
  WHERE name <> $1::text AND seen_at > clock_timestamp() - interval '1 minute' ORDER BY name`;

/** Marks are kept for a day. A replica that was away for longer reads all rows. */
const ROW_MARKS = `
  SELECT kind, name FROM ${SCHEMA}.rows WHERE value IS NULL AND changed_at < clock_timestamp() - interval '1 day'`;
/** The limit of marks that are removed in one transaction, which locks the state. */
const MARKS_MAX = 10_000;

/** Returns whether there are old marks. */
export const HAS_OLD_MARKS = `SELECT EXISTS (${ROW_MARKS})`;

/** Removes old marks, the oldest first. */
export const REMOVE_MARKS = `
  WITH gone AS (
    DELETE FROM ${SCHEMA}.rows r USING (${ROW_MARKS} ORDER BY revision LIMIT ${MARKS_MAX}) AS mark
    WHERE r.kind = mark.kind AND r.name = mark.name RETURNING r.revision
  )
  UPDATE ${SCHEMA}.state SET forgotten = greatest(forgotten, newest.revision)
  FROM (SELECT max(revision) AS revision FROM gone) AS newest
  WHERE newest.revision IS NOT NULL`;

function after(seconds: string): string {
  return `clock_timestamp() + make_interval(secs => ${seconds}::float8)`;
}

function momentOf(column: string): string {
  return `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}
