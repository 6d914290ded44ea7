// Limits the writes of a client that sees a part of everything: it writes what is its own there, and what it writes uses nothing else.
// What it does not see is not told of, but for names that are taken. docs/rest.md, least rights.
import type { DesiredState } from '../../desired/desired-state.ts';
import { splitAddress } from '../../model/address.ts';
import { tenantOf } from '../../model/least-rights.ts';
import type { Client } from '../../model/objects.ts';
import { ServiceError } from '../../model/service-error.ts';
import { partOfState, type SeenPart } from '../seen-sources.ts';
import type { Draft, WriteOrder } from './draft.ts';
import { fileOf } from './object-file.ts';

/** The limits of one client upon one desired state. */
export class WriteLimits {
  readonly #tenant: string;
  readonly #before: DesiredState;
  readonly #part: SeenPart;
  readonly #partOf: (desired: DesiredState) => SeenPart | undefined;
  readonly #rows: WriteOrder['recorded'];

  private constructor({ by, recorded }: WriteOrder, before: DesiredState, part: SeenPart) {
    this.#tenant = by.tenant;
    this.#before = before;
    this.#part = part;
    this.#partOf = (desired) => partOfState(desired, by, recorded);
    this.#rows = recorded;
  }

  /** Returns the limits of a client; undefined for one that sees everything. */
  static of(order: WriteOrder, before: DesiredState): WriteLimits | undefined {
    const part = partOfState(before, order.by, order.recorded);
    return part && new WriteLimits(order, before, part);
  }

  /** Throws ServiceError where the object of a draft is not the client's: as if there were none, or that its name is taken. */
  requireOwn({ address, isRemoval, edits }: Draft): void {
    if (address === 'tree')
      throw new ServiceError('not_allowed', 'This client sees a part of the tree: it may not write it');
    const versions = [...versionsOf(this.#before, address), ...this.#removed(address)];
    if (versions.length === 0) return;
    if (!this.#part.view.sees(address)) {
      const [type, name] = splitAddress(address);
      // Says the same as where there is none.
      if (isRemoval) edits(this.#part.sources.desired() ?? this.#before);
      throw isRemoval
        ? new ServiceError('not_found', `There is no ${type.replace('-', ' ')} "${name}"`)
        : nameConflict();
    }
    if (versions.every((object) => this.#tenant === '' || tenantOf(object) === this.#tenant)) return;
    const message = `${address} is of no tenant, and written by clients without tenant only`;
    throw new ServiceError('not_allowed', message);
  }

  /** Throws ServiceError where what a draft has written is not the client's own, or uses what the client does not see. */
  requireSeen({ address, isRemoval }: Draft, after: DesiredState): void {
    if (isRemoval) return;
    const file = fileOf(after.catalog, address);
    if (this.#tenant !== '' && tenantOf(file?.object) !== this.#tenant) {
      const message = `This client makes objects of its tenant only: "tenant" has to be "${this.#tenant}", or left out`;
      throw new ServiceError('not_allowed', message);
    }
    const view = this.#partOf(after)?.view;
    if (fileOf(this.#before.catalog, address) === undefined) this.#requireUnwanted(address, after);
    const [, name] = splitAddress(address);
    const unit = after.candidates.get(after.owners.get(name) ?? address) ?? after.candidates.get(address);
    if (unit === undefined) return;
    const used = [...unit.nodes.keys(), ...unit.outside.map(({ server }) => server)];
    if (!used.every((server) => view?.seesServer(server))) throw nameConflict();
  }

  /** Nodes name layers that are not there yet. Whoever makes one of these gives it values, and takes it from the sight of others. */
  #requireUnwanted(address: string, after: DesiredState): void {
    const view = this.#partOf(after)?.view;
    for (const { entry, nodes, inputs } of after.candidates.values()) {
      if (!inputs.has(address)) continue;
      const isOwn = this.#tenant === '' || tenantOf(entry.object) === this.#tenant;
      if (!isOwn || ![...nodes.keys()].every((node) => view?.seesServer(node))) throw nameConflict();
    }
  }

  /** Returns an error without what the client does not see. */
  redact(error: unknown): unknown {
    if (!(error instanceof ServiceError)) return error;
    const { view } = this.#part;
    const isShown = (text: string): boolean => view.redact(text) === text;
    if (!isShown(error.message)) return nameConflict();
    const details = error.details?.filter(({ file = '', message }) => isShown(`${file} ${message}`));
    return new ServiceError(error.code, error.message, details);
  }

  /** The document of an instance whose servers are being deleted. */
  #removed(address: string): readonly unknown[] {
    const [type, name] = splitAddress(address);
    const row = type === 'stack-instance' ? this.#rows?.read('terminating', name) : undefined;
    return row === undefined ? [] : [row.object];
  }
}

/** Returns the active and the newest version of an object; of a clientcert that a stack makes, also the stack's. */
function versionsOf(desired: DesiredState, address: string): readonly unknown[] {
  const [type, name] = splitAddress(address);
  const owner = type === 'clientcert' ? desired.owners.get(name) : undefined;
  const file = fileOf(desired.catalog, address);
  const entries = [
    ...(file === undefined ? [] : [file]),
    ...[address, owner ?? ''].flatMap((at) => desired.units.get(at)?.entry ?? []),
    ...[desired.objects.get(address), type === 'client' ? desired.clients.get(name) : undefined].flatMap(
      (held) => held?.entry ?? [],
    ),
  ];
  return entries.map(({ object }) => object);
}

/** Whose it is, is not said. */
function nameConflict(): ServiceError {
  return new ServiceError('conflict', 'This uses a name that is taken, or that is not of this client');
}

/** Returns the fields of a body with the client's tenant, where they name none. */
export function ofTenant<Body extends object>({ tenant }: Client, body: Body): Body {
  return tenant === '' || Object.hasOwn(body, 'tenant') ? body : { ...body, tenant };
}
