// Defines what a client's file takes away of its role: what it sees, and that it writes nothing. Defines whose an
// object is. docs/rest.md, least rights.
import { createHash } from 'node:crypto';
import { isMap } from './json.ts';
import type { Client, ReadScope } from './objects.ts';

/** The limits of what a client sees. */
export interface ReadLimits {
  /** Equal for clients that are answered the same, but for their own client records. */
  readonly key: string;
  /** Empty: objects of every tenant. */
  readonly tenant: string;
  /** Servers that a proxy with these tags manages; undefined: whatever their tags. */
  readonly tags: readonly string[] | undefined;
  /** The record of this node, and nothing else; undefined: of any. */
  readonly node: string | undefined;
}

type Limits = Partial<Pick<Client, 'tenant' | 'node' | 'reads' | 'writes'>>;

/** Returns true if a client does not see everything. */
export function isNarrow({ tenant = '', node, reads }: Limits): boolean {
  return tenant !== '' || node !== undefined || reads === 'site';
}

/** Returns true if a client only reads, whatever its role. */
export function isReadOnly({ node, writes }: Limits): boolean {
  return node !== undefined || writes === 'none';
}

/** Returns true for an administrator who may do all that one may: a registry needs one. */
export function isFullAdministrator(client: Client | null): boolean {
  return client?.role === 'administrator' && !isReadOnly(client) && client.tenant === '';
}

/** Returns true for a proxy that may have work. */
export function isWorking(client: Client | null | undefined): client is Client {
  return client?.role === 'proxy' && !isReadOnly(client);
}

/** Returns true if both may see and do the same. */
export function haveSameRights(a: Client, b: Client): boolean {
  return a.role === b.role && isReadOnly(a) === isReadOnly(b) && readLimitsOf(a)?.key === readLimitsOf(b)?.key;
}

const limitsByClient = new WeakMap<Client, ReadLimits>();

/** Returns the limits of what a client sees; undefined: it sees everything. */
export function readLimitsOf(client: Client): ReadLimits | undefined {
  if (!isNarrow(client)) return undefined;
  const known = limitsByClient.get(client);
  if (known !== undefined) return known;
  const { tenant, node, reads, tags = [] } = client;
  // The one record of a client of a node is its own, whatever site that is at.
  const site = reads === 'site' && node === undefined ? [...new Set(tags)].sort() : undefined;
  const text = JSON.stringify([tenant, node ?? null, site ?? null]);
  const key = createHash('sha256').update(text).digest('base64url').slice(0, 22);
  const limits = { key, tenant, tags: site, node };
  limitsByClient.set(client, limits);
  return limits;
}

const withDefaults = new WeakMap<Client, Client>();

/** Returns a client with what it reads where its file does not say: `proxyReads` if it is a proxy. */
export function withReads(client: Client, proxyReads: ReadScope): Client {
  if (client.role !== 'proxy' || client.reads !== undefined || proxyReads === 'all') return client;
  const known = withDefaults.get(client) ?? { ...client, reads: proxyReads };
  withDefaults.set(client, known);
  return known;
}

/** Returns the tenant of an object, empty where it has none. */
export function tenantOf(object: unknown): string {
  const tenant = isMap(object) && Object.hasOwn(object, 'tenant') ? object.tenant : '';
  return typeof tenant === 'string' ? tenant : '';
}
