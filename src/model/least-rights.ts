// Defines how a client's file limits its role: what the client sees, and whether it may write. Also defines the tenant
// of an object. docs/rest.md, least rights.
import { createHash } from 'node:crypto';
import { isMap } from './json.ts';
import type { Client, ReadScope } from './objects.ts';

/** The limits of what a client sees. */
export interface ReadLimits {
  /** Equal for clients that get the same answers, apart from their own client records. */
  readonly key: string;
  /** Only objects of this tenant; empty: of every tenant. */
  readonly tenant: string;
  /** Only servers that a proxy with these tags manages; undefined: all. */
  readonly tags: readonly string[] | undefined;
  /** Only the record of this node; undefined: of all nodes. */
  readonly node: string | undefined;
}

type Limits = Partial<Pick<Client, 'tenant' | 'node' | 'reads' | 'writes'>>;

/** Returns true if a client does not see everything. */
export function isNarrow({ tenant = '', node, reads }: Limits): boolean {
  return tenant !== '' || node !== undefined || reads === 'site';
}

/** Returns true if a client may only read, whatever its role. */
export function isReadOnly({ node, writes }: Limits): boolean {
  return node !== undefined || writes === 'none';
}

/** Returns true for an administrator without limits. A registry needs at least one. */
export function isFullAdministrator(client: Client | null): boolean {
  return client?.role === 'administrator' && !isReadOnly(client) && client.tenant === '';
}

/** Returns true for a proxy that may carry out actions. */
export function isWorking(client: Client | null | undefined): client is Client {
  return client?.role === 'proxy' && !isReadOnly(client);
}

/** Returns true if both have the same rights. */
export function haveSameRights(a: Client, b: Client): boolean {
  return a.role === b.role && isReadOnly(a) === isReadOnly(b) && readLimitsOf(a)?.key === readLimitsOf(b)?.key;
}

const limitsByClient = new WeakMap<Client, ReadLimits>();

/** Returns the limits of what a client sees; undefined if it sees everything. */
export function readLimitsOf(client: Client): ReadLimits | undefined {
  if (!isNarrow(client)) return undefined;
  const known = limitsByClient.get(client);
  if (known !== undefined) return known;
  const { tenant, node, reads, tags = [] } = client;
  // A client of a node sees only that node's record, so tags do not matter.
  const site = reads === 'site' && node === undefined ? [...new Set(tags)].sort() : undefined;
  const text = JSON.stringify([tenant, node ?? null, site ?? null]);
  const key = createHash('sha256').update(text).digest('base64url').slice(0, 22);
  const limits = { key, tenant, tags: site, node };
  limitsByClient.set(client, limits);
  return limits;
}

const withDefaults = new WeakMap<Client, Client>();

/** Returns the client with `reads` set: to `proxyReads` for a proxy whose file does not set it. */
export function withReads(client: Client, proxyReads: ReadScope): Client {
  if (client.role !== 'proxy' || client.reads !== undefined || proxyReads === 'all') return client;
  const known = withDefaults.get(client) ?? { ...client, reads: proxyReads };
  withDefaults.set(client, known);
  return known;
}

/** Returns the tenant of an object, or ''. */
export function tenantOf(object: unknown): string {
  const tenant = isMap(object) && Object.hasOwn(object, 'tenant') ? object.tenant : '';
  return typeof tenant === 'string' ? tenant : '';
}
