// Decides which servers, instances, objects, clients, events and problems a client sees. Code that builds a list or an
// object calls it. It does not filter texts: a client that sees a server also sees the messages of that server.
// docs/rest.md, least rights; docs/decisions/0028.
import type { DesiredState } from '../desired/desired-state.ts';
import { nodeAtMoment, unitOfNode } from '../desired/node-records.ts';
import { entryAtAddress } from '../desired/tracked-reads.ts';
import { fitsProxy, proxyTagsOf, responsibleTags } from '../machine/responsibility.ts';
import { EVERY_INSTANCE } from '../machine/suspension.ts';
import { addressOf, instanceAddress, splitAddress } from '../model/address.ts';
import type { ListedEvent } from '../model/instance-event.ts';
import { PROXY_TAG } from '../model/keys.ts';
import { type ReadLimits, readLimitsOf, tenantOf } from '../model/least-rights.ts';
import type { Client } from '../model/objects.ts';
import type { Problem } from '../model/problem.ts';
import type { PresentRows } from './views.ts';

/** The sources of a scope. They are read at each call, so a scope may outlive a commit. */
interface ScopeSources {
  readonly desired?: (() => DesiredState | undefined) | undefined;
  readonly rows?: PresentRows | undefined;
}

const WHOLE: ReadLimits = { key: '', tenant: '', tags: undefined, node: undefined };

/**
 * The part of the desired state and of the rows that a client sees. A limited client does not see nonexistent names.
 */
export class Scope {
  readonly #sources: ScopeSources;
  readonly #limits: ReadLimits;
  readonly #serial: string | undefined;
  /** True if the client sees everything. */
  readonly isWhole: boolean;
  /** True for a proxy: it sees no values, no content of files, and no other clients. */
  readonly isProxy: boolean;

  /**
   * `by`: undefined for a caller inside the controller, which sees everything. Omitted sources are empty.
   */
  constructor(by?: Client, sources: ScopeSources = {}) {
    const limits = by && readLimitsOf(by);
    this.#sources = sources;
    this.#limits = limits ?? WHOLE;
    this.#serial = by?.serial;
    this.isWhole = limits === undefined;
    this.isProxy = by?.role === 'proxy';
  }

  /** True if the client sees other clients and authors. Proxies and limited clients see only themselves. */
  get seesClients(): boolean {
    return this.isWhole && !this.isProxy;
  }

  /** Returns true if the client sees the identity of the client with this serial. */
  seesPerson(serial: string | null): boolean {
    return this.seesClients || (serial !== null && serial === this.#serial);
  }

  /** Returns the names that an error may suggest. None for a limited client: it may not see some of them. */
  suggested(names: Iterable<string>): Iterable<string> {
    return this.isWhole ? names : [];
  }

  /** Returns true for a server of the client's tenant and site. A client of one node sees no server. */
  seesServer(name: string): boolean {
    return this.isWhole || (this.#limits.node === undefined && this.#isWithinLimits(name));
  }

  /** Returns true for a node whose record the client sees: its own node, or any server or clientcert that it sees. */
  seesNode(name: string): boolean {
    const { node } = this.#limits;
    return node === undefined ? this.seesServer(name) : name === node && this.#isOfTenant(name);
  }

  /**
   * Returns true for an instance of the client's tenant. A client of a site must also see all servers of the instance.
   */
  seesInstance(name: string): boolean {
    if (this.isWhole) return true;
    const { node, tags } = this.#limits;
    if (node !== undefined || !this.#isInstanceOfTenant(name)) return false;
    const servers = tags === undefined ? [] : this.#serversOf(name);
    return tags === undefined || (servers.length > 0 && servers.every((server) => this.seesServer(server)));
  }

  /** Returns true for an object by its address: `tree`, `hierarchy`, or `<type>/<name>`, `client/<serial>` included. */
  seesObject(address: string): boolean {
    if (this.isWhole) return true;
    const { node, tags } = this.#limits;
    const [type, name] = splitAddress(address);
    if (type === 'client') return this.seesClient(name);
    if (node !== undefined) return false;
    if (type === 'stack-instance') return this.seesInstance(name);
    if (address === 'tree' || address === 'hierarchy') return tags === undefined;
    if (!this.#fitsAll(this.#versionsOf(address), type === 'stack-template')) return false;
    const isNode = type === 'clientcert' && (this.#ownerOf(name) ?? this.#sources.rows?.server(name)) !== undefined;
    return isNode ? this.seesServer(name) : tags === undefined;
  }

  /**
   * Returns true for a client of the client's tenant (for a client of a site: only with one of its tags), and always
   * for itself. A proxy sees no other client.
   */
  seesClient(serial: string): boolean {
    if (serial === this.#serial) return true;
    if (this.isProxy || this.isWhole) return !this.isProxy;
    const { node, tags } = this.#limits;
    const desired = this.#sources.desired?.();
    const versions = [desired?.clients.get(serial)?.entry, desired?.catalog.clients.get(serial)];
    const clients = versions.flatMap((entry) => (entry === undefined ? [] : [entry.object]));
    if (node !== undefined || !this.#fitsAll(clients)) return false;
    return tags === undefined || clients.some((client) => client?.tags?.some((tag) => tags.includes(tag)) === true);
  }

  /**
   * Returns true for a problem of a file that the client sees, if it concerns no instance or one that the client sees.
   */
  seesProblem({ file, instances = [] }: Problem): boolean {
    if (this.isWhole) return true;
    const { type = null, name = '' } = this.#sources.desired?.()?.catalog.files.get(file) ?? {};
    const address = type === 'tree' || type === 'hierarchy' ? type : type && addressOf(type, name);
    if (address === null || !this.seesObject(address)) return false;
    return instances.length === 0 || instances.some((instance) => this.seesInstance(instance));
  }

  /**
   * Returns true if an instance (or `*`, for all) may have events for the client. {@link seesEvent} decides on each
   * event.
   */
  mayHaveEvents(instance: string): boolean {
    const { node } = this.#limits;
    if (this.isWhole) return true;
    if (node !== undefined) return this.seesNode(node) && this.#sources.rows?.server(node)?.instance === instance;
    return instance === EVERY_INSTANCE || this.#isInstanceOfTenant(instance);
  }

  /** Returns true for an event of a server or an instance that the client sees, or of all instances. */
  seesEvent({ instance, event: { resource } }: ListedEvent): boolean {
    if (this.isWhole) return true;
    if (!this.mayHaveEvents(instance)) return false;
    const { node, tags } = this.#limits;
    if (node !== undefined) return resource === node;
    if (resource === null) return instance === EVERY_INSTANCE || this.seesInstance(instance);
    const isKnown = (this.#sources.rows?.server(resource) ?? this.#ownerOf(resource)) !== undefined;
    return isKnown ? this.seesServer(resource) : tags === undefined;
  }

  /**
   * Returns true for an instance that the client may operate and write. A client with a tenant does not own instances
   * without one.
   */
  owns(instance: string): boolean {
    return this.ownsObject(instanceAddress(instance));
  }

  /**
   * Returns true for an existing object, including a file that is not active and an instance that is being removed.
   */
  exists(address: string): boolean {
    return this.#versionsOf(address).length > 0;
  }

  /** Returns true if every version of an object belongs to the client's tenant. */
  ownsObject(address: string): boolean {
    const { tenant } = this.#limits;
    return tenant === '' || this.#versionsOf(address).every((object) => tenantOf(object) === tenant);
  }

  /**
   * Hides objects of another tenant. The tenant of an unreadable file is unknown, unless its type has no tenant.
   */
  #fitsAll(versions: readonly unknown[], hasNoTenant = false): boolean {
    const { tenant } = this.#limits;
    if (tenant === '' || hasNoTenant) return versions.length > 0;
    return (
      versions.some((object) => object != null) && versions.every((object) => ['', tenant].includes(tenantOf(object)))
    );
  }

  #isInstanceOfTenant(name: string): boolean {
    return this.#fitsAll(this.#versionsOf(instanceAddress(name)));
  }

  /**
   * Returns the active and the newest version of an object, and the last version of an instance that is being
   * removed.
   */
  #versionsOf(address: string): readonly unknown[] {
    const desired = this.#sources.desired?.();
    const [type, name] = splitAddress(address);
    const entries = [
      desired?.units.get(address)?.entry,
      desired?.objects.get(address)?.entry,
      // The clientcert of a stack's server belongs to the instance.
      type === 'clientcert' ? this.#ownerOf(name)?.entry : undefined,
      type === 'client' ? desired?.clients.get(name)?.entry : undefined,
      desired?.catalog.unreadable.get(address),
      desired && entryAtAddress(desired.catalog, address),
      type === 'stack-instance' ? this.#sources.rows?.read('terminating', name) : undefined,
    ];
    return entries.flatMap((entry) => (entry === undefined ? [] : [entry.object]));
  }

  #ownerOf(name: string) {
    const desired = this.#sources.desired?.();
    return desired && unitOfNode(desired, name);
  }

  #serversOf(instance: string): readonly string[] {
    const wanted = this.#sources.desired?.()?.units.get(instanceAddress(instance))?.servers.keys() ?? [];
    return [...new Set([...wanted, ...(this.#sources.rows?.index.serversOf(instance) ?? [])])];
  }

  #isWithinLimits(name: string): boolean {
    const exists = (this.#sources.rows?.server(name) ?? this.#ownerOf(name)) !== undefined;
    return exists && this.#isOfTenant(name) && this.#isOfSite(name);
  }

  /** A node has the tenant of its instance, or of its file. During a hand-over, both instances must have the tenant. */
  #isOfTenant(name: string): boolean {
    if (this.#limits.tenant === '') return true;
    const row = this.#sources.rows?.server(name);
    const unit = this.#ownerOf(name);
    const owners = [row && instanceAddress(row.instance), unit && addressOf(unit.type, unit.name)];
    return owners.every((owner) => owner === undefined || this.#fitsAll(this.#versionsOf(owner)));
  }

  #isOfSite(name: string): boolean {
    const { tags } = this.#limits;
    const desired = this.#sources.desired?.();
    const { rows } = this.#sources;
    if (tags === undefined || desired === undefined || rows === undefined) return tags === undefined;
    const value = nodeAtMoment({ desired, rows }, name)?.value(PROXY_TAG)?.value ?? '';
    const present = proxyTagsOf({ [PROXY_TAG]: value });
    const row = rows.server(name);
    return fitsProxy((row && responsibleTags(row, present)) ?? present, tags);
  }
}

/** The scope of the controller itself. */
export const EVERYTHING = new Scope();
