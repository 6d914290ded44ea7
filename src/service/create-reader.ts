// Implements reader.ts: it answers the API's reads from the active desired state and the recorded rows.
import type { DesiredState } from '../desired/desired-state.ts';
import { addressOf } from '../model/address.ts';
import { compareNames, isTypeName, kindOf, type Role, TYPE_NAMES, type TypeName } from '../model/names.ts';
import type { Client, StackTemplate } from '../model/objects.ts';
import { canonicalSerial } from '../model/serial.ts';
import { ServiceError } from '../model/service-error.ts';
import { registryOf } from './caller.ts';
import {
  instanceStatus,
  isInstance,
  resourceStates,
  type StallsOf,
  unknownInstance,
  viewInstance,
  viewInstances,
} from './instance-views.ts';
import { nodeReads } from './node-reads.ts';
import { objectNames, viewObject, viewObjects } from './object-views.ts';
import type { InstanceView, Reader, Served } from './reader.ts';
import type { PresentView, View } from './recorded-rows.ts';
import { activeView, heldView, type ViewSources } from './recorded-view.ts';
import { unknown } from './refusals.ts';
import { viewAtMoment } from './view-at-moment.ts';

interface ReaderOptions extends ViewSources {
  /** Changes with every desired state that is shown. */
  readonly desiredVersion: () => number;
  readonly stallsOf: StallsOf;
}

/** Returns the reader. Every answer is of one moment: nothing in it waits, or it is made of a copy of the rows. */
export function createReader(options: ReaderOptions): Reader {
  const { stallsOf } = options;
  const view = (): PresentView<DesiredState> => activeView(options);

  function instance(name: string): Served<InstanceView> {
    const served = viewInstance(view(), name);
    if (served !== undefined) return served;
    throw unknownInstance(view(), name);
  }

  /** Returns the view in which an instance of that name is; throws where there is none. */
  function viewWith(name: string): View<DesiredState> {
    const seen = view();
    if (isInstance(seen, name)) return seen;
    throw unknownInstance(seen, name);
  }

  function template(name: string): Served<StackTemplate> {
    const { desired } = view();
    return templateIn(desired, name) ?? unknown('stack template', name, templateNames(desired));
  }

  return {
    commit: () => view().desired.commit,
    recordedCommit: () => (heldView(options) ?? view()).desired.commit,
    version: () => `${options.desiredVersion()}.${options.rows.version}`,
    registered: (serial) => clientIn(options, serial),
    instances: () => viewInstances(viewAtMoment(view())),
    instance,
    status: (name) => instanceStatus(viewWith(name), name, stallsOf),
    statusFull: (name) => resourceStates(viewWith(name), name),
    templates: () => templatesOf(view().desired),
    template,
    clients: (by, role) => clientsFor(view(), by, role),
    client: (by, serial) => clientFor(view(), by, serial),
    types: () => TYPE_NAMES,
    objects(type) {
      const named = typeNamed(type);
      return viewObjects(viewAtMoment(view()), named);
    },
    object(type, name) {
      const served = viewObject(view(), typeNamed(type), name);
      return served ?? unknown(kindOf(typeNamed(type)), name, objectNames(view(), typeNamed(type)));
    },
    ...nodeReads(view),
    tree() {
      const { object, oid } = view().desired.catalog.tree;
      return object === null ? unknown('tree', 'tree.yaml', []) : { body: object, oid };
    },
  };
}

function clientIn({ desired, refused, rows }: ReaderOptions, serial: string): Client | undefined {
  const active = desired();
  if (active !== undefined) return registryOf(active)(serial);
  if (refused()?.hold == null) return undefined;
  return rows.read('active', `client/${serial}`)?.object as Client | undefined;
}

function templatesOf(desired: DesiredState): StackTemplate[] {
  const names = [...templateNames(desired)].sort(compareNames);
  return names.flatMap((name) => templateIn(desired, name)?.body ?? []);
}

function* templateNames(desired: DesiredState): Generator<string> {
  for (const [name] of desired.catalog.templates) if (templateIn(desired, name) !== undefined) yield name;
}

function templateIn({ catalog, objects }: DesiredState, name: string): Served<StackTemplate> | undefined {
  const entry = catalog.templates.has(name) ? objects.get(addressOf('stack-template', name))?.entry : undefined;
  return entry === undefined ? undefined : { body: entry.object as StackTemplate, oid: entry.oid };
}

function clientFor({ desired }: View<DesiredState>, by: Client, serial: string): Served<Client> {
  const canonical = canonicalSerial(serial) ?? serial;
  if (by.role === 'proxy' && by.serial !== canonical) {
    throw new ServiceError('not_allowed', 'A proxy may read its own client record only');
  }
  const entry = desired.clients.get(canonical)?.entry;
  if (entry?.object == null) return unknown('client', serial, []);
  return { body: entry.object, oid: entry.oid };
}

function clientsFor({ desired }: View<DesiredState>, by: Client, role: Role | undefined): Client[] {
  const all = [...desired.clients.values()].flatMap(({ entry }) => entry.object ?? []);
  return all
    .filter((client) => by.role !== 'proxy' || client.serial === by.serial)
    .filter((client) => role === undefined || client.role === role)
    .sort((a, b) => (a.serial < b.serial ? -1 : 1));
}

function typeNamed(type: string): TypeName {
  return isTypeName(type) ? type : unknown('type', type, TYPE_NAMES);
}
