// A reader with fixed answers, written by hand, for tests of what lies in front of it. The registry can be changed.

import type { JsonMap } from '../../src/model/json.ts';
import { isTypeName, TYPE_NAMES } from '../../src/model/names.ts';
import type { Client, StackTemplate, TreeNode } from '../../src/model/objects.ts';
import type { ExplainedRecord, ExplainedValue, NodeAtMoment, NodeRecord } from '../../src/model/record.ts';
import { canonicalSerial } from '../../src/model/serial.ts';
import { ServiceError } from '../../src/model/service-error.ts';
import type { InstanceView } from '../../src/service/read/instance-views.ts';
import type { Reader } from '../../src/service/read/reader.ts';
import { Scope } from '../../src/service/scope.ts';

export const COMMIT = '5f0c1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b';
export const OID = 'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391';

export const TEMPLATE: StackTemplate = {
  name: 'web',
  type: 'stack-template',
  description: 'A web shop',
  parameters: { zone: '', count: '2' },
  resources: { web: { type: 'Platform::Server', properties: { zone: '<<zone>>' } } },
};

export const INSTANCE: InstanceView = {
  name: 'shop',
  type: 'stack-instance',
  description: 'The shop',
  stackTemplate: 'web',
  stackTemplateAdditions: {},
  stackTemplateSubstractions: {},
  parameters: { zone: 'z1', ip: '' },
  resources: { web: { 'shop-web': { state: 'done' } }, workers: {} },
};

export const ZONE: JsonMap = { name: 'z1', type: 'zone', description: 'First zone', dns: ['192.0.2.1'] };

export const TREE: TreeNode = {
  name: 'base',
  description: '',
  type: 'common',
  children: [{ name: 'z1', description: '', type: 'zone' }],
};

export const RECORD: NodeRecord = {
  zone: 'z1',
  cpus: 4,
  dns: ['192.0.2.1'],
  'profile::web': 'nginx',
  name: 'shop-web',
  description: 'web of shop',
  type: 'clientcert',
  stackInstance: ['shop'],
  last_stack_update: '2026-11-20T10:13:56Z',
};

export const EXPLAINED: ExplainedRecord = {
  zone: {
    value: 'z1',
    type: 'clientcert',
    name: 'shop-web',
    file: 'stacks/templates/web.yaml',
    line: 7,
    merge: 'first',
    overrides: [{ type: 'common', name: 'base', value: 'z0', file: 'types/common/base.yaml', line: 3 }],
  },
};

export interface SampleReader extends Reader {
  /** The registered clients, by serial. */
  readonly registry: Map<string, Client>;
  /** False: as before the first good commit. */
  ready: boolean;
  /** The error that `tree` throws instead of answering. */
  fault: Error | undefined;
  /** The answer of `instances`. */
  list: readonly InstanceView[];
  /** The answers of `record`. */
  records: Readonly<Record<string, NodeRecord>>;
}

/** Returns a reader that is ready and where nobody is registered. */
export function createSampleReader(): SampleReader {
  const registry = new Map<string, Client>();
  const sorted = (): Client[] => [...registry.values()].sort((a, b) => (a.serial < b.serial ? -1 : 1));
  /** The fields and methods as they were when the version was asked for last. */
  let asked: readonly unknown[] = [];
  let version = 0;
  const reader: SampleReader = {
    registry,
    ready: true,
    fault: undefined,
    list: [INSTANCE],
    records: { 'shop-web': RECORD },
    commit() {
      if (!reader.ready) throw new ServiceError('not_ready', 'No good commit was read yet');
      return COMMIT;
    },
    version() {
      const now = Object.values(reader);
      if (now.some((value, index) => value !== asked[index])) version += 1;
      asked = now;
      return String(version);
    },
    registered: (serial) => (reader.ready ? registry.get(serial) : undefined),
    instances: () => reader.list,
    instance: (name) => ({ body: find({ shop: INSTANCE }, name), oid: OID }),
    status: (name) => find({ shop: 'In progress' as const }, name),
    statusFull: (name) => find({ shop: INSTANCE.resources }, name),
    templates: () => [TEMPLATE],
    template: (name) => ({ body: find({ web: TEMPLATE }, name), oid: OID }),
    clients: (role) => sorted().filter((client) => (role ?? client.role) === client.role),
    client: (text) => ({ body: find(Object.fromEntries(registry), canonicalSerial(text) ?? text), oid: OID }),
    objects(type) {
      if (!isTypeName(type)) throw new ServiceError('not_found', `There is no type "${type}"`);
      return type === 'zone' || type === 'all' ? [ZONE] : [];
    },
    object(type, name) {
      if (!isTypeName(type)) throw new ServiceError('not_found', `There is no type "${type}"`);
      return { body: find(type === 'zone' || type === 'all' ? { z1: ZONE } : {}, name), oid: OID };
    },
    as: (by) => {
      const isSeen = ({ serial }: Client): boolean => by.role !== 'proxy' || serial === by.serial;
      return {
        ...reader,
        clients: (role) => reader.clients(role).filter(isSeen),
        client(text) {
          const found = reader.client(text);
          if (!isSeen(found.body)) throw new ServiceError('not_allowed', 'A proxy reads itself');
          return found;
        },
      };
    },
    scopeOf: (by) => new Scope(by),
    types: () => TYPE_NAMES,
    nodes: () => [NODE],
    recordSources: (node) => [reader.records[node]],
    record: (node) => find(reader.records, node),
    explainedRecord: (node) => find({ 'shop-web': EXPLAINED }, node),
    value: (node, key) => find(find({ 'shop-web': RECORD }, node), key),
    explainedValue: (node, key) => find(find({ 'shop-web': EXPLAINED }, node), key),
    tree() {
      if (reader.fault !== undefined) throw reader.fault;
      return { body: TREE, oid: OID };
    },
  };
  return reader;
}

/** The one node. */
const NODE: NodeAtMoment = {
  name: 'shop-web',
  group: 'web',
  record: () => RECORD,
  explained: () => EXPLAINED,
  value: (key) =>
    Object.hasOwn(RECORD, key) ? ({ ...EXPLAINED.zone, value: RECORD[key] } as ExplainedValue) : undefined,
};

function find<Value>(values: Readonly<Record<string, Value>>, name: string): Value {
  const value = Object.hasOwn(values, name) ? values[name] : undefined;
  if (value === undefined) throw new ServiceError('not_found', `There is no "${name}"`);
  return value;
}
