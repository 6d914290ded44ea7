// A controller's memory for tests of what reads it: commits are followed, and rows are changed by hand.

import { type Breathe, withoutPause } from '../../src/base/breathe.ts';
import type { DesiredState } from '../../src/desired/desired-state.ts';
import { syncChanges } from '../../src/follow/sync.ts';
import type { Client } from '../../src/model/objects.ts';
import type { ServerRow } from '../../src/model/rows.ts';
import { ServiceError } from '../../src/model/service-error.ts';
import { Ledger } from '../../src/reconcile/ledger.ts';
import { stallsIn } from '../../src/reconcile/waits/wait-graph.ts';
import { createReader, type Reader } from '../../src/service/read/reader.ts';
import { NOW } from '../reconcile/build.ts';
import { MemoryStore } from '../support/memory-store.ts';
import { PLACE } from '../support/rows.ts';
import { type TextChanges, TextRepository } from '../support/text-repository.ts';

export const SHOP = 'stacks/instances/sub/shop.yaml';
const SMALL_SHOP = 'description: The shop\nstackTemplate: web\nparameters: { count: "2" }\n';
const FILES = {
  'tree.yaml': 'name: global\ntype: common\nchildren: [{ name: lab, type: location }]\n',
  'types/common/global.yaml': 'log_level: info\n',
  'types/role/web.yaml': 'description: Web servers\nport: 80\n',
  'types/clientcert/printer.yaml': 'description: On the second floor\npaper: a4\n',
  'types/clientcert/web-1.yaml': 'log_level: debug\n',
  'stacks/templates/web.yaml': `parameters: { count: "" }
resources:
  web:
    type: Platform::ResourceGroup
    properties: { count: "<<count>>", resource_def: { properties: { name: "web-<<index>>", role: web } } }
  idle:
    type: Platform::ResourceGroup
    properties: { count: "0", resource_def: { properties: {} } }
`,
  [SHOP]: SMALL_SHOP,
  'clients/A1.yaml': 'role: administrator\n',
  'clients/B2.yaml': 'role: proxy\ntags: [lab]\n',
  'clients/C3.yaml': 'role: automation-endpoint\n',
};

/** A controller's memory: commits are followed, rows are changed by hand, and the reader tells what there is. */
export class Service {
  readonly repository = new TextRepository();
  readonly ledger: Ledger;
  readonly reader: Reader;
  #desired: DesiredState | undefined;
  #version = 0;

  /** `breathe` is called while the index follows the commits of the store. */
  constructor(breathe: Breathe = withoutPause) {
    this.ledger = new Ledger(new MemoryStore(), breathe);
    this.reader = createReader({
      desired: () => this.#desired,
      desiredVersion: () => this.#version,
      refused: () => undefined,
      notReadyReason: () => 'the first fetch has not ended',
      rows: this.ledger,
      stallsOf: stallsIn(this.ledger, { now: () => NOW }),
      now: () => NOW,
    });
  }

  get desired(): DesiredState | undefined {
    return this.#desired;
  }

  async commit(changes: TextChanges): Promise<void> {
    const desired = this.repository.commit(changes);
    const lastRecord = (name: string) => this.reader.explainedRecord(name);
    const before = this.#desired;
    const sync = { desired, place: PLACE, before, now: NOW, lastRecord, breathe: withoutPause };
    const rows = await syncChanges(this.ledger, sync);
    await this.ledger.commit(rows, undefined, () => {
      this.#desired = desired;
      this.#version += 1;
    });
  }

  async change(name: string, fields: Partial<ServerRow> | null): Promise<void> {
    const expected = this.ledger.server(name);
    if (expected === undefined) throw new Error(`there is no row of ${name}`);
    const value = fields === null ? null : { ...expected, ...fields };
    await this.ledger.commit([{ kind: 'server', name, value, expected }]);
  }

  /** Pretends that a server was made as it is wanted. */
  async made(...names: readonly string[]): Promise<void> {
    for (const name of names) {
      const applied = this.ledger.server(name)?.wanted ?? null;
      await this.change(name, { state: 'done', checked: true, provider: 'lab', applied });
    }
  }
}

export async function open(changes: TextChanges = {}, breathe?: Breathe): Promise<Service> {
  const service = new Service(breathe);
  await service.commit({ ...FILES, ...changes });
  return service;
}

export const PROXY: Client = {
  name: 'B2',
  type: 'client',
  description: '',
  role: 'proxy',
  fingerprint: '',
  serial: 'B2',
  tenant: '',
  tags: ['lab'],
};
export const ADMINISTRATOR: Client = { ...PROXY, name: 'A1', serial: 'A1', role: 'administrator' };

/** Returns the code and the message with which a question is refused. */
export function refusal(question: () => unknown): string {
  try {
    question();
  } catch (error) {
    if (error instanceof ServiceError) return `${error.code}: ${error.message}`;
    throw error;
  }
  throw new Error('it is answered');
}
