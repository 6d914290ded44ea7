// Lists recorded servers in pages, with filters, and describes one with its wanted and applied properties. See
// docs/rest.md, operations.
import { toRfc3339 } from '../../base/wording.ts';
import { compileSecrets, SECRET_VALUE } from '../../hiera/secrets.ts';
import { shortenedValue } from '../../machine/drift.ts';
import { fieldOf, type Json, type JsonMap } from '../../model/json.ts';
import { compareNames } from '../../model/names.ts';
import type { Hierarchy } from '../../model/objects.ts';
import type { ServerRow } from '../../model/rows.ts';
import { ServiceError } from '../../model/service-error.ts';
import type { State } from '../../model/state.ts';
import type { ListedServer, ServerDetails, ServerPage, ServerProperty } from '../answers.ts';
import { type Facts, seenRow } from './facts.ts';
import { describeServer } from './server-items.ts';

/** The requested servers. */
export interface ServerQuery {
  /** Null: every instance. */
  readonly instance: string | null;
  /** Empty: in every state. */
  readonly states: readonly State[];
  /** A part of the server's or its instance's name, case-insensitive; empty: all. */
  readonly search: string;
  /** Only names after this one. */
  readonly after: string;
  /** The maximum number of servers to return. */
  readonly limit: number;
}

/** Returns a page of the servers that the client sees, sorted by name. */
export function findServers(query: ServerQuery, facts: Facts): ServerPage {
  const { rows } = facts.view;
  const { instance, after, limit } = query;
  const isMatch = matcherOf(query);
  const matching = [...(instance === null ? rows.list('server').keys() : rows.index.serversOf(instance))].filter(
    (name) => {
      const row = seenRow(name, facts);
      return row !== undefined && isMatch(name, row);
    },
  );
  const later = matching.filter((name) => compareNames(name, after) > 0).sort(compareNames);
  const page = later.slice(0, limit);
  const servers = page.flatMap((name) => {
    const row = seenRow(name, facts);
    return row === undefined ? [] : [listedServer(name, row, facts)];
  });
  return { servers, total: matching.length, next: later.length > page.length ? (page.at(-1) ?? null) : null };
}

function matcherOf({ states, search }: ServerQuery): (name: string, row: ServerRow) => boolean {
  const part = search.toLowerCase();
  const isFound = (name: string, instance: string): boolean =>
    part === '' || name.toLowerCase().includes(part) || instance.toLowerCase().includes(part);
  const wanted = new Set(states);
  return (name, { state, instance }) => (wanted.size === 0 || wanted.has(state)) && isFound(name, instance);
}

function listedServer(name: string, row: ServerRow, facts: Facts): ListedServer {
  const { instance, key, state, since, attempt, wanted, applied } = row;
  const { reason, until, action } = describeServer(name, row, facts) ?? { reason: null, until: null, action: null };
  const dependsOn = ((wanted ?? applied)?.dependsOn ?? []).filter((other) => seenRow(other, facts) !== undefined);
  return {
    name,
    instance,
    group: key,
    state,
    since,
    reason,
    attempt,
    until,
    action,
    ...(dependsOn.length > 0 && { dependsOn }),
    ...(wanted === null && { removal: row.policy.deletion }),
    ...(row.replacing && { removal: 'replace' as const }),
  };
}

/**
 * Returns one server with all of its properties. Withholds the values of keys that `hierarchy` declares secret, or all
 * values if `hierarchy` is unknown. Omits the properties if the client may not see values. Throws `not_found` for an
 * unknown server.
 */
export function describeOne(name: string, facts: Facts, hierarchy: Hierarchy | undefined): ServerDetails {
  const row = seenRow(name, facts);
  if (row === undefined) throw new ServiceError('not_found', `There is no server "${name}"`);
  const { commit, generation, provider } = row;
  const isSecret = hierarchy === undefined ? () => true : compileSecrets(hierarchy).isSecret;
  const showsValues = !facts.scope.isProxy;
  const outputs = Object.fromEntries(
    Object.entries(row.outputs).map(([key, value]) => [key, isSecret(key) ? SECRET_VALUE : value]),
  );
  const isAfter = (other: string): boolean => seenRow(other, facts)?.wanted?.dependsOn.includes(name) === true;
  const check = facts.noticed?.lastCheckOf(name);
  const neededBy = facts.view.rows.index.serversOf(row.instance).filter(isAfter).sort(compareNames);
  return {
    ...listedServer(name, row, facts),
    commit,
    generation,
    provider,
    properties: showsValues ? allProperties(row, isSecret) : [],
    ...(showsValues && { outputs }),
    ...(check && { checked: { time: toRfc3339(check.ended.wall), outcome: check.outcome } }),
    ...(neededBy.length > 0 && { neededBy }),
  };
}

function allProperties(
  { wanted, applied, observed }: ServerRow,
  isSecret: (key: string) => boolean,
): readonly ServerProperty[] {
  const sides = [wanted?.properties ?? {}, applied?.properties ?? {}, observed ?? {}] as const;
  const [asked, made, seen] = sides;
  const names = new Set(sides.flatMap((side) => Object.keys(side)));
  return [...names].sort(compareNames).map((property) => {
    const shown = (side: JsonMap): Json => {
      const value = fieldOf(side, property) ?? null;
      return value !== null && isSecret(property) ? SECRET_VALUE : shortenedValue(value);
    };
    const found = fieldOf(seen, property) === undefined ? {} : { observed: shown(seen) };
    return { property, wanted: shown(asked), applied: shown(made), ...found };
  });
}
