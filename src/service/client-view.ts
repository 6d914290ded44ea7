// Tells what a client sees that its file or its tenant gives a part of everything: which servers, instances, objects, clients and events.
// The one place of these rules; seen-sources.ts makes of them what answers are made of. docs/decisions/0053.
import type { DesiredState } from '../desired/desired-state.ts';
import { nodeAtMoment, unitOfNode } from '../desired/node-records.ts';
import type { Unit } from '../desired/unit.ts';
import { isTreeType } from '../hiera/tree-index.ts';
import { fitsProxy, proxyTagsOf, responsibleTags } from '../machine/responsibility.ts';
import { EVERY_INSTANCE } from '../machine/suspension.ts';
import { addressOf, instanceAddress, splitAddress } from '../model/address.ts';
import type { ListedEvent } from '../model/instance-event.ts';
import { isMap } from '../model/json.ts';
import { PROXY_TAG } from '../model/keys.ts';
import { type Scope, tenantOf } from '../model/least-rights.ts';
import { NAME_LENGTH_MAX, TYPE_NAMES } from '../model/names.ts';
import type { Client } from '../model/objects.ts';
import type { ServerRow } from '../model/rows.ts';
import type { PresentRows } from './views.ts';

/** The words in place of a text that names what a client may not see. */
const WITHHELD_NAME = 'the reason names something that this client may not see';
const NAME = /[A-Za-z0-9][A-Za-z0-9._-]*/g;
/** Texts are written by many, and searched whenever they are read. */
const SEARCHED_LENGTH_MAX = 8 * 1024;
/** What stands behind a name after a dot, and how many parts of a name are tried from its start, as of that of a host with its domain. */
const BEHIND_MAX = 5;
const PARTS_MAX = 8;

/** What was found out about a server, as long as these are the same. */
interface KnownServer {
  readonly row: ServerRow | undefined;
  readonly unit: Unit | undefined;
  readonly isSeen: boolean;
}

/** What there is: judged whenever it is asked. */
interface Everything {
  readonly desired: () => DesiredState | undefined;
  readonly rows: PresentRows;
}

/** What a client sees of everything. */
export class ClientView {
  readonly #whole: Everything;
  readonly #scope: Scope;
  /** As of one desired state: a server that is gone needs no room. */
  readonly #servers = new Map<string, KnownServer>();
  #serversOfState: DesiredState | undefined;
  readonly #foreign = new WeakMap<Unit, boolean>();
  #drawn:
    | { readonly desired: DesiredState; readonly version: number; readonly addresses: ReadonlySet<string> }
    | undefined;

  constructor(whole: Everything, scope: Scope) {
    this.#whole = whole;
    this.#scope = scope;
  }

  /** The node whose record it sees, and nothing else; undefined: it sees more. */
  get node(): string | undefined {
    return this.#scope.node;
  }

  /** Returns true if it sees servers whatever their site. */
  get isOfAllSites(): boolean {
    return this.#scope.tags === undefined && this.#scope.node === undefined;
  }

  /** Returns true for a server, or a clientcert that no stack makes, whose record the client sees. */
  seesNode(name: string): boolean {
    const { node } = this.#scope;
    return node === undefined ? this.#seesServer(name) : name === node && this.#isOfTenant(name);
  }

  /** Returns true for a server that the client sees with all that is recorded of it. */
  seesServer(name: string): boolean {
    return this.#scope.node === undefined && this.#seesServer(name);
  }

  /** Returns true for an instance that there is, and that the client sees: of a site, one with a server of it. */
  seesInstance(name: string): boolean {
    const { node, tags } = this.#scope;
    if (node !== undefined || !this.#isInstanceOfTenant(name)) return false;
    return tags === undefined || this.#serversOf(name).some((server) => this.#seesServer(server));
  }

  /** Returns true for an object, by `<type>/<name>` or `client/<serial>`, that the client sees whole. */
  sees(address: string): boolean {
    const [type, name] = splitAddress(address);
    if (type === 'client') return this.seesClient(name);
    if (type === 'stack-instance') return this.seesInstance(name) && this.seesAllOf(name);
    if (this.#scope.node !== undefined) return false;
    if (type === 'clientcert' && this.#whole.rows.server(name) !== undefined && !this.#seesServer(name)) return false;
    const desired = this.#whole.desired();
    const versions = [desired?.objects.get(address)?.entry.object, desired?.catalog.objects.get(address)?.object];
    if (!versions.every((object) => this.#fits(object))) return false;
    if (type === 'clientcert' && this.#ownerOf(name) !== undefined) return this.#seesServer(name);
    return this.#scope.tags === undefined || this.drawnAddresses().has(address);
  }

  /** Returns a text, or other words where it names something that the client does not see, or is longer than what is searched. */
  redact(text: string): string {
    if (text.length > SEARCHED_LENGTH_MAX) return WITHHELD_NAME;
    for (const [word] of text.matchAll(NAME)) {
      for (const name of namesIn(word)) if (this.#hides(name)) return WITHHELD_NAME;
    }
    return text;
  }

  /** Returns true for the tenant of an object that a client sees: its own, or none. */
  #fits(object: unknown): boolean {
    const { tenant } = this.#scope;
    return tenant === '' || tenantOf(object) === '' || tenantOf(object) === tenant;
  }

  #isInstanceOfTenant(name: string): boolean {
    const versions = this.#versionsOf(name);
    // A new file that cannot be read does not say whose it is.
    const isKnown = this.#scope.tenant === '' || versions.some((object) => object != null);
    return versions.length > 0 && isKnown && versions.every((object) => this.#fits(object));
  }

  /** Every version of an instance counts: the active one, the newest, and that of one that is being removed. */
  #versionsOf(instance: string): readonly unknown[] {
    const desired = this.#whole.desired();
    const address = instanceAddress(instance);
    return [
      desired?.units.get(address)?.entry,
      desired?.candidates.get(address)?.entry,
      this.#whole.rows.read('terminating', instance),
    ].flatMap((version) => (version == null ? [] : [version.object]));
  }

  /** Returns false for an instance that the client sees and on which it may not act: one without tenant is not a tenant's. */
  owns(instance: string): boolean {
    const { tenant } = this.#scope;
    const isOwn = tenant === '' || this.#versionsOf(instance).every((object) => tenantOf(object) === tenant);
    return isOwn || !this.seesInstance(instance);
  }

  #ownerOf(name: string): Unit | undefined {
    const desired = this.#whole.desired();
    return desired && unitOfNode(desired, name);
  }

  #serversOf(instance: string): readonly string[] {
    const unit = this.#whole.desired()?.units.get(instanceAddress(instance));
    return [...new Set([...(unit?.servers.keys() ?? []), ...this.#whole.rows.index.serversOf(instance)])];
  }

  /** Returns true if it sees each server of an instance. */
  seesAllOf(instance: string): boolean {
    return this.#scope.tags === undefined || this.#serversOf(instance).every((server) => this.#seesServer(server));
  }

  #seesServer(name: string): boolean {
    const desired = this.#whole.desired();
    if (desired !== this.#serversOfState) this.#servers.clear();
    this.#serversOfState = desired;
    const row = this.#whole.rows.server(name);
    const unit = this.#ownerOf(name);
    const known = this.#servers.get(name);
    if (known !== undefined && known.row === row && known.unit === unit) return known.isSeen;
    const isSeen = (row ?? unit) !== undefined && this.#isOfTenant(name) && this.#isOfSite(name, row);
    this.#servers.set(name, { row, unit, isSeen });
    return isSeen;
  }

  /** A record says what its layers say: it is seen where each of them is. */
  #isOfTenant(name: string): boolean {
    if (this.#scope.tenant === '') return true;
    const row = this.#whole.rows.server(name);
    const unit = this.#ownerOf(name);
    const instances = [row?.instance, unit?.type === 'stack-instance' ? unit.name : undefined];
    if (!instances.every((instance) => instance === undefined || this.#isInstanceOfTenant(instance))) return false;
    if (unit !== undefined) return !this.#drawsOnOthers(unit);
    const objects = this.#whole.desired()?.objects;
    const sources = Object.values(row?.lastRecord ?? {});
    return sources.every(({ type, name: of }) => this.#fits(objects?.get(addressOf(type, of))?.entry.object));
  }

  #drawsOnOthers(unit: Unit): boolean {
    const known = this.#foreign.get(unit);
    if (known !== undefined) return known;
    const isForeign = [...unit.inputs.values()].some((entry) => entry !== undefined && !this.#fits(entry.object));
    this.#foreign.set(unit, isForeign);
    return isForeign;
  }

  #isOfSite(name: string, row: ServerRow | undefined): boolean {
    const { tags } = this.#scope;
    const desired = this.#whole.desired();
    if (tags === undefined || desired === undefined) return tags === undefined;
    const value = nodeAtMoment({ desired, rows: this.#whole.rows }, name)?.value(PROXY_TAG)?.value ?? '';
    const present = proxyTagsOf({ [PROXY_TAG]: value });
    return fitsProxy((row && responsibleTags(row, present)) ?? present, tags);
  }

  /** Returns true for a registered client that it sees, besides its own record. */
  seesClient(serial: string): boolean {
    const desired = this.#whole.desired();
    const { tags, node } = this.#scope;
    const versions = [desired?.clients.get(serial)?.entry.object, desired?.catalog.clients.get(serial)?.object];
    if (node !== undefined || !versions.every((client) => this.#fits(client))) return false;
    const isNamed = versions.every((client) => this.#namesSeen(client));
    return isNamed && (tags === undefined || versions.some((client) => isAtSite(client, tags)));
  }

  /** A record of no tenant names a node, which may be of another. */
  #namesSeen(client: Client | null | undefined): boolean {
    return client?.node === undefined || client.tenant !== '' || this.seesNode(client.node);
  }

  /** The addresses of all that the nodes which are seen draw on, and of the places of the tree where they are. */
  drawnAddresses(): ReadonlySet<string> {
    const desired = this.#whole.desired();
    const { version } = this.#whole.rows;
    if (desired === undefined) return new Set();
    if (this.#drawn?.desired === desired && this.#drawn.version === version) return this.#drawn.addresses;
    const addresses = new Set<string>();
    const lists = new Set<unknown>();
    for (const unit of desired.units.values()) {
      const object = unit.entry.object;
      const isWhole = unit.type === 'clientcert' || (this.seesInstance(unit.name) && this.seesAllOf(unit.name));
      if (isWhole && object !== null && 'stackTemplate' in object) {
        addresses.add(addressOf('stack-template', String(object.stackTemplate)));
      }
      for (const [name, { shared, own }] of unit.nodes) {
        if (!this.#seesServer(name)) continue;
        for (const place of placesOf(unit, name)) addresses.add(place);
        for (const list of [shared, own]) {
          if (lists.has(list)) continue;
          lists.add(list);
          for (const layer of list) addresses.add(addressOf(layer.type, layer.name));
        }
      }
    }
    this.#drawn = { desired, version, addresses };
    return addresses;
  }

  /** Returns true for a name of things none of which the client sees. */
  #hides(name: string): boolean {
    const desired = this.#whole.desired();
    if (desired === undefined) return false;
    const objects = TYPE_NAMES.map((type): string => addressOf(type, name)).filter((address) => {
      return desired.objects.has(address) || desired.candidates.has(address) || desired.units.has(address);
    });
    const isServer = this.#whole.rows.server(name) !== undefined || desired.owners.has(name);
    const isInstance =
      this.#whole.rows.read('terminating', name) !== undefined || objects.includes(instanceAddress(name));
    const isClient = desired.clients.has(name);
    if (!isServer && !isInstance && !isClient && objects.length === 0) return false;
    if ((isServer && this.seesNode(name)) || (isInstance && this.seesInstance(name))) return false;
    return !(isClient && this.seesClient(name)) && !objects.some((address) => this.sees(address));
  }

  /** Returns true for a file of the layout whose problems it is told. */
  seesFile(type: string, name: string): boolean {
    if (type === 'tree' || type === 'hierarchy')
      return this.#scope.tags === undefined && this.#scope.node === undefined;
    return this.sees(addressOf(type, name)) && this.#saysWhose(type, name);
  }

  /** Returns false for a new file that cannot be read, and so does not say whose it is. */
  #saysWhose(type: string, name: string): boolean {
    if (this.#scope.tenant === '' || type === 'stack-template' || type === 'stack-instance') return true;
    const desired = this.#whole.desired();
    const address = addressOf(type, name);
    const versions =
      type === 'client'
        ? [desired?.clients.get(name)?.entry, desired?.catalog.clients.get(name)]
        : [desired?.objects.get(address)?.entry, desired?.catalog.objects.get(address)];
    return versions.some((version) => version?.object != null);
  }

  /** Returns true for an instance, or `*` for all, of which it is told events. */
  tellsOf(instance: string): boolean {
    const { node } = this.#scope;
    if (node !== undefined) return this.seesNode(node) && this.#whole.rows.server(node)?.instance === instance;
    return instance === EVERY_INSTANCE || this.seesInstance(instance);
  }

  /** Returns true for an event that the client is told of. */
  seesEvent({ instance, event: { resource } }: ListedEvent): boolean {
    if (!this.tellsOf(instance)) return false;
    if (this.#scope.node !== undefined) return resource === this.#scope.node;
    if (resource === null) return true;
    const isKnown = this.#whole.rows.server(resource) !== undefined || this.#ownerOf(resource) !== undefined;
    return isKnown ? this.#seesServer(resource) : this.#scope.tags === undefined;
  }
}

/** Yields the names that a word of a text may stand for: itself, or what other text follows after a dot. */
function* namesIn(word: string): Generator<string> {
  const ends = [...word.matchAll(/(?<!\.)\.|(?<!\.)$/g)].map(({ index }) => index);
  const tried = new Set([...ends.slice(0, PARTS_MAX), ...ends.slice(-BEHIND_MAX)]);
  for (const end of tried) if (end <= NAME_LENGTH_MAX) yield word.slice(0, end);
}

function isAtSite(client: Client | null | undefined, own: readonly string[]): boolean {
  return client?.tags?.some((tag) => own.includes(tag)) === true;
}

/** Yields the places of the tree that the node of a unit selects, which need no object. */
function* placesOf({ servers, entry }: Unit, name: string): Generator<string> {
  const selected = servers.get(name)?.spec.properties ?? (isMap(entry.object) ? entry.object : {});
  for (const [type, value] of Object.entries(selected)) {
    if (isTreeType(type) && typeof value === 'string') yield addressOf(type, value);
  }
}
