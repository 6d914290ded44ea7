// From every state, with every reason and under every hold, an operation or a commit leads out and destroys nothing. A reason,
// a state or a kind of hold that is added without an exit fails here, and in every test that produces it: see core.ts.
import { describe, expect, it } from 'vitest';
import type { Answer } from '../../src/model/call-result.ts';
import type { JsonMap } from '../../src/model/json.ts';
import type { Client } from '../../src/model/objects.ts';
import { HOLD_KINDS, REASON_CODES } from '../../src/model/rows.ts';
import { type Operation, STATES } from '../../src/model/state.ts';
import { allowed } from '../support/allowed.ts';
import { answerOf } from './build.ts';
import { Core, type CoreOptions } from './core.ts';
import { EXITS, exitKeyOf } from './exits.ts';
import { SHOP, shopFiles, TEMPLATE, templateText } from './shop.ts';

const HOUR = 3_600_000;
const ANY = { kind: null, properties: {} };
const SMALL = { kind: null, properties: { size: 'small' } };
/** The other servers. */
const PROXY = { 'clients/B1.yaml': 'role: proxy\n' };
const PROXY_CLIENT: Client = {
  ...{
    name: 'B1',
    type: 'client',
    description: '',
    role: 'proxy',
    fingerprint: '',
    serial: 'B1',
    tenant: '',
    tags: [],
  },
};
/** Servers whose removal is more than the budget. */
function sparesOf(size: string): Readonly<Record<string, string>> {
  return Object.fromEntries(['v', 'x', 'y', 'z'].map((name) => [name, `name: ${name}, size: small, color: ${size}`]));
}
const HANG: Promise<Answer> = new Promise(() => undefined);

/** A controller, its files, and the server `web` whose exit is looked for. */
class Scene {
  core: Core;
  #failsSpares = false;
  #outputs: JsonMap | undefined;
  #answer: (operation: Operation) => Promise<Answer> | undefined = () => undefined;
  /** The properties of `web`; null: no commit wants it. */
  #web: string | null = 'size: small';
  #hasSpares = true;
  #instance = '';

  constructor(options: CoreOptions = {}) {
    this.core = new Core(options);
    this.core.source.commit({ ...shopFiles({}), 'stacks/templates/t.yaml': templateText(sparesOf('small')) });
  }

  get row() {
    return this.core.ledger.server('web');
  }

  get isThere(): boolean {
    return this.core.provider.has('web');
  }

  async start(): Promise<this> {
    await this.core.poll();
    return await this.wants('size: small');
  }

  /** Follows a commit in which `web` has these properties. */
  async wants(web: string | null): Promise<this> {
    this.#web = web;
    return await this.again();
  }

  async spares(hasSpares: boolean): Promise<void> {
    this.#hasSpares = hasSpares;
    await this.again();
  }

  async instance(fields: string): Promise<void> {
    this.#instance = fields;
    await this.again();
  }

  async follow(files: Readonly<Record<string, string | null>>): Promise<void> {
    this.core.source.commit(files);
    await this.core.poll();
  }

  /** Follows a commit in which all is as it was meant last. */
  async again(files: Readonly<Record<string, string>> = {}): Promise<this> {
    const web = this.#web === null ? {} : { web: `name: web, ${this.#web}` };
    const spares = sparesOf(this.#failsSpares ? 'large' : 'small');
    await this.follow({
      [TEMPLATE]: templateText({ ...web, ...(this.#hasSpares ? spares : {}) }),
      [SHOP]: `stackTemplate: t\n${this.#instance}`,
      ...files,
    });
    return this;
  }

  /** Has one operation on `web` answered so. */
  answers(operation: Operation, answer: () => Promise<Answer>): this {
    return this.script((one) => (one === operation ? answer() : undefined));
  }

  script(answer: (operation: Operation) => Promise<Answer> | undefined): this {
    this.#answer = answer;
    this.core.provider.script = (call) => {
      const { resource, operation } = call;
      if (resource === 'web') return this.#answer(operation);
      if (this.#failsSpares && operation === 'update') return FAILED();
      const outputs = resource === 'x' && operation === 'check' ? this.#outputs : undefined;
      return outputs && Promise.resolve({ ...this.core.provider.act(call), outputs });
    };
    return this;
  }

  /** A check of the server `x` finds that it has this address. */
  async reports(address: string): Promise<this> {
    this.#outputs = { address };
    this.script(this.#answer);
    await this.core.operator.check(this.core.order, { resource: 'x' });
    await this.core.settle();
    return this;
  }

  /** A commit changes the other servers, and that fails: the rest of its updates is held. */
  async failSpares(): Promise<void> {
    this.script(this.#answer);
    this.#failsSpares = true;
    await this.again();
  }

  /** The branch is another history for a while. */
  async rewrite(): Promise<void> {
    const followed = this.core.reader.commit();
    this.core.source.commit(shopFiles({}), { parents: [] });
    await this.core.poll();
    this.core.source.reset(followed);
  }

  async mendSpares(): Promise<void> {
    this.#failsSpares = false;
    await this.again();
  }

  /** The provider does as it is asked from now on. */
  mend(): this {
    return this.script(() => undefined);
  }

  async pass(ms: number): Promise<this> {
    await this.core.pass(ms);
    return this;
  }

  async until(isReached: () => boolean, stepMs = 10_000): Promise<this> {
    for (let step = 0; step < 100 && !isReached(); step += 1) await this.core.pass(stepMs);
    expect(isReached(), this.row === undefined ? 'it is gone' : exitKeyOf(this.row)).toBe(true);
    return this;
  }

  async asks(verb: 'retry' | 'adopt'): Promise<void> {
    await this.core.operator[verb](this.core.order, { resource: 'web' });
    await this.core.settle();
  }

  async retain(): Promise<void> {
    await this.core.operator.retain(this.core.order, 'web');
    await this.core.settle();
  }

  async suspend(instance: string | null = 'shop'): Promise<this> {
    await this.core.operator.suspend(this.core.order, { instance, until: null });
    return this;
  }

  async resume(instance: string | null = 'shop'): Promise<void> {
    await this.core.operator.resume(this.core.order, instance);
    await this.core.settle();
  }

  async restart(options: CoreOptions): Promise<this> {
    this.core = await this.core.restart(options);
    await this.core.poll();
    return this;
  }

  /** Somebody changes the server by hand. */
  changeByHand(size: string | null): this {
    if (size === null) this.core.provider.forget('web');
    else this.core.provider.build('web', { size });
    return this;
  }

  async check(): Promise<this> {
    await this.core.operator.check(this.core.order, { resource: 'web' });
    await this.core.settle();
    return this;
  }

  /** The proxy claims what it is offered, and reports unless it is told not to. */
  async work({ reports = true } = {}): Promise<void> {
    const { agent } = this.core;
    const [action] = agent?.actions(PROXY_CLIENT, 1) ?? [];
    if (agent === undefined || action === undefined) return;
    const claimed = agent.claim(allowed(PROXY_CLIENT), action.id, null);
    await this.core.settle();
    const { lease, action: call } = await claimed;
    if (!reports) return;
    const answer = this.core.provider.act({ ...call, action: call.id, deadline: '' });
    const reported = agent.report(PROXY_CLIENT, call.id, { lease, answer });
    await this.core.settle();
    await reported;
  }
}

function unexpected(): never {
  throw new Error('there is no server web');
}

/** A way into a state, and a way out. */
interface Play {
  readonly into: () => Promise<Scene>;
  readonly out: (scene: Scene) => Promise<unknown>;
  /** How it ends. `left`: forgotten, and left as it is. */
  readonly end?: 'done' | 'gone' | 'left';
  /** The server is not there when the exit is looked for. */
  readonly isAbsent?: true;
}

const FAILED = (): Promise<Answer> => Promise.resolve(answerOf('failed', { message: 'bad disk' }));
const RETRYABLE = (): Promise<Answer> => Promise.resolve(answerOf('retryable', { message: 'busy' }));
const REPLACE = (): Promise<Answer> => Promise.resolve(answerOf('replace', { message: 'another disk is needed' }));
const LOST = (): Promise<Answer> => Promise.reject(new Error('the line was cut'));
const NO_REPLACEMENTS: CoreOptions = { budget: { percent: 0, least: 0, most: 0 } };
const TWO_ENTRIES = [
  { name: 'lab', match: SMALL },
  { name: 'field', match: ANY },
];

const start = (options: CoreOptions = {}): Promise<Scene> => new Scene(options).start();
/** `web` is about to be created, as `operation` is answered so. */
const fresh = async (
  operation: Operation,
  answer: () => Promise<Answer>,
  options: CoreOptions = {},
): Promise<Scene> => {
  const scene = new Scene(options).answers(operation, answer);
  return await scene.start();
};
/** `web` is there, and a commit is about to change or remove it. */
const changing = async (web: string | null, operation: Operation, answer: () => Promise<Answer>): Promise<Scene> =>
  await (await start()).answers(operation, answer).wants(web);
/** The delete of `web` is lost, and no check answers. */
const lostDelete = async (check: () => Promise<Answer> = () => HANG): Promise<Scene> => {
  const scene = (await start()).script((operation) =>
    operation === 'delete' ? LOST() : operation === 'check' ? check() : undefined,
  );
  return await scene.wants(null);
};
const lostUpdate = async (check: () => Promise<Answer> = () => HANG): Promise<Scene> => {
  const scene = (await start()).script((operation) =>
    operation === 'update' ? LOST() : operation === 'check' ? check() : undefined,
  );
  return await scene.wants('size: large');
};
const isIn = (scene: Scene, state: string) => () => scene.row?.state === state;

const TAKING = `size: small, address: "<<(Output)['x']['address']>>"`;

/** A proxy was to carry out the create of `web`, did not report, and is not registered any more. */
async function lostByProxy(): Promise<Scene> {
  const scene = new Scene({ hasProxied: true, entries: [{ name: 'lab', match: SMALL }] });
  await scene.follow(PROXY);
  await scene.core.poll();
  await scene.wants('size: large');
  await scene.work();
  await scene.work({ reports: false });
  await scene.follow({ 'clients/B1.yaml': null });
  await scene.until(isIn(scene, 'unknown'));
  return scene;
}

const PLAYS: Readonly<Record<keyof typeof EXITS, Play>> = {
  creating: {
    into: () => fresh('create', () => HANG),
    out: async (scene) => await scene.mend().until(isIn(scene, 'done')),
    isAbsent: true,
  },
  updating: {
    into: () => changing('size: large', 'update', () => HANG),
    out: async (scene) => await scene.mend().until(isIn(scene, 'done')),
  },
  deleting: {
    into: () => changing(null, 'delete', () => HANG),
    out: async (scene) => await scene.mend().until(() => scene.row === undefined),
    end: 'gone',
  },
  'pending/-/wanted': {
    into: async () => await (await (await start()).suspend()).wants('size: large'),
    out: (scene) => scene.resume(),
  },
  'pending/drifted/wanted': {
    into: async () => await (await (await start({ drift: 'heal' })).suspend()).changeByHand('tiny').check(),
    out: (scene) => scene.resume(),
  },
  'pending/must_replace/wanted': {
    into: async () => await (await start(NO_REPLACEMENTS)).answers('update', REPLACE).wants('size: large'),
    out: (scene) => scene.mend().wants('size: small'),
  },
  'blocked/exists_already/wanted': {
    into: async () => await new Scene().changeByHand('small').start(),
    out: (scene) => scene.asks('adopt'),
  },
  'blocked/no_provider/wanted': {
    into: async () => await new Scene({ entries: [{ name: 'lab', match: SMALL }] }).wants('size: large'),
    out: (scene) => scene.wants('size: small'),
    isAbsent: true,
  },
  'blocked/no_proxy/wanted': {
    into: async () =>
      await new Scene({ hasProxied: true, entries: [{ name: 'lab', match: SMALL }] }).wants('size: large'),
    out: async (scene) => {
      await scene.follow(PROXY);
      for (let call = 0; call < 4; call += 1) await scene.work();
    },
    isAbsent: true,
  },
  'blocked/protected/wanted': {
    into: async () => {
      const scene = await (await start()).suspend();
      await scene.core.operator.replace(scene.core.order, 'web');
      await scene.instance('protected: true\n');
      await scene.resume();
      return scene;
    },
    out: (scene) => scene.asks('retry'),
  },
  'blocked/provider_changed/wanted': {
    into: async () => await (await start({ entries: TWO_ENTRIES })).wants('size: large'),
    out: (scene) => scene.asks('adopt').then(() => (scene.row?.state === 'drifted' ? scene.asks('retry') : undefined)),
  },
  'blocked/no_proxy/unwanted': {
    into: async () => {
      const scene = new Scene({ hasProxied: true, entries: [{ name: 'lab', match: SMALL }] });
      await scene.follow(PROXY);
      await scene.wants('size: large');
      for (let call = 0; call < 4; call += 1) await scene.work();
      await scene.follow({ 'clients/B1.yaml': null });
      return await scene.wants(null);
    },
    out: (scene) => scene.retain(),
    end: 'left',
  },
  'blocked/provider_changed/unwanted': {
    into: async () => {
      const scene = await (await start({ entries: TWO_ENTRIES })).restart({ entries: [{ name: 'field', match: ANY }] });
      return await scene.wants(null);
    },
    out: (scene) => scene.retain(),
    end: 'left',
  },
  'retrying/action_failed/wanted': {
    into: () => changing('size: large', 'update', RETRYABLE),
    out: async (scene) => await scene.mend().until(isIn(scene, 'done')),
  },
  'retrying/check_failed/wanted': {
    into: () => fresh('check', RETRYABLE),
    out: async (scene) => await scene.mend().until(isIn(scene, 'done')),
    isAbsent: true,
  },
  'retrying/outcome_lost/wanted': {
    into: () => changing('size: large', 'update', LOST),
    out: async (scene) => await scene.mend().until(isIn(scene, 'done')),
  },
  'retrying/action_failed/unwanted': {
    into: () => changing(null, 'delete', RETRYABLE),
    out: (scene) => scene.retain(),
    end: 'left',
  },
  'retrying/outcome_lost/unwanted': {
    into: () => changing(null, 'delete', LOST),
    out: (scene) => scene.mend().wants('size: small'),
  },
  'failed/action_failed/wanted': {
    into: () => changing('size: large', 'update', FAILED),
    out: (scene) => scene.mend().asks('retry'),
  },
  'failed/check_failed/wanted': {
    into: () => fresh('check', FAILED),
    out: (scene) => scene.mend().asks('retry'),
    isAbsent: true,
  },
  'failed/outcome_lost/wanted': {
    into: async () => {
      const scene = await changing('size: large', 'update', LOST);
      return await scene.until(isIn(scene, 'failed'));
    },
    out: (scene) => scene.mend().asks('retry'),
  },
  'failed/action_failed/unwanted': {
    into: () => changing(null, 'delete', FAILED),
    out: (scene) => scene.retain(),
    end: 'left',
  },
  'failed/outcome_lost/unwanted': {
    into: async () => {
      const scene = await changing(null, 'delete', LOST);
      return await scene.until(isIn(scene, 'failed'));
    },
    out: (scene) => scene.retain(),
    end: 'left',
  },
  'unknown/-/wanted': {
    into: async () => {
      const scene = await lostUpdate(FAILED);
      scene.answers('check', () => HANG);
      await scene.asks('retry');
      return scene;
    },
    out: async (scene) => await scene.mend().until(isIn(scene, 'done'), HOUR),
  },
  'unknown/-/unwanted': {
    into: async () => {
      const scene = await lostDelete(FAILED);
      scene.answers('check', () => HANG);
      await scene.asks('retry');
      return scene;
    },
    out: (scene) => scene.retain().then(() => scene.until(() => scene.row === undefined)),
    end: 'left',
  },
  'unknown/check_failed/wanted': {
    into: () => lostUpdate(FAILED),
    out: (scene) =>
      scene
        .mend()
        .asks('retry')
        .then(() => scene.until(isIn(scene, 'done'))),
  },
  'unknown/check_failed/unwanted': { into: () => lostDelete(FAILED), out: (scene) => scene.retain(), end: 'left' },
  'unknown/outcome_lost/wanted': {
    into: () => lostUpdate(),
    out: async (scene) => await scene.mend().until(isIn(scene, 'done')),
  },
  'unknown/outcome_lost/unwanted': {
    into: () => lostDelete(),
    out: (scene) => scene.retain().then(() => scene.until(() => scene.row === undefined)),
    end: 'left',
  },
  'unknown/provider_changed/wanted': {
    into: async () => {
      const scene = await (await changing('size: large', 'update', () => HANG)).restart({
        entries: [{ name: 'field', match: ANY }],
      });
      return await scene.until(isIn(scene, 'unknown'));
    },
    out: async (scene) => {
      await (await scene.restart({ entries: [{ name: 'lab', match: ANY }] })).mend().until(isIn(scene, 'done'));
    },
  },
  'unknown/provider_changed/unwanted': {
    into: async () => {
      const scene = await (await changing(null, 'delete', () => HANG)).restart({
        entries: [{ name: 'field', match: ANY }],
      });
      return await scene.until(isIn(scene, 'unknown'));
    },
    out: (scene) => scene.retain(),
    end: 'left',
  },
  'unknown/no_provider/wanted': {
    into: async () => {
      const scene = await (await changing('size: large', 'update', () => HANG)).restart({
        entries: [{ name: 'field', match: SMALL }],
      });
      await scene.until(isIn(scene, 'unknown'));
      await scene.asks('adopt');
      return scene;
    },
    out: async (scene) => {
      await (await scene.restart({ entries: [{ name: 'lab', match: ANY }] })).mend().until(isIn(scene, 'done'));
    },
  },
  'unknown/no_proxy/wanted': {
    into: lostByProxy,
    out: async (scene) => {
      await scene.follow(PROXY);
      for (let call = 0; call < 6; call += 1) {
        await scene.work();
        await scene.pass(10_000);
      }
    },
    isAbsent: true,
  },
  'unknown/no_proxy/unwanted': {
    into: async () => await (await lostByProxy()).wants(null),
    out: (scene) => scene.retain(),
    end: 'left',
    isAbsent: true,
  },
  'done/-/wanted': { into: start, out: () => Promise.resolve() },
  'drifted/drifted/wanted': {
    into: async () => await (await start({ drift: 'report' })).changeByHand('tiny').check(),
    out: (scene) => scene.asks('retry'),
  },
  'drifted/drift_fight/wanted': {
    into: async () => {
      const scene = await start({ drift: 'heal' });
      for (let time = 0; time < 4; time += 1) await scene.changeByHand('tiny').check();
      return scene;
    },
    out: (scene) => scene.asks('retry'),
  },
  'drifted/many_gone/wanted': {
    into: async () => {
      const scene = await start({ drift: 'heal' });
      scene.core.provider.forget('x');
      await scene.core.operator.check(scene.core.order, { instance: 'shop' });
      await scene.core.settle();
      return await scene.changeByHand(null).check();
    },
    out: (scene) => scene.asks('retry'),
    isAbsent: true,
  },
  'blocked/no_output/wanted': {
    into: async () => {
      const scene = await (await start()).wants(TAKING);
      return await scene.until(isIn(scene, 'blocked'));
    },
    out: (scene) => scene.reports('10.0.0.1'),
  },
  'marked for delete/-/unwanted': {
    into: async () => await (await (await start()).suspend()).wants(null),
    out: async (scene) => {
      await scene.wants('size: small');
      await scene.resume();
    },
  },
};

/** Something that stops a whole instance or commit, and what ends it without destroying anything. */
interface Hold {
  readonly on: (scene: Scene) => Promise<unknown>;
  readonly off: (scene: Scene) => Promise<unknown>;
}

const REST = 'stacks/instances/rest.yaml';

const HOLDS = {
  deletes: {
    on: (scene) => scene.spares(false),
    off: (scene) => scene.spares(true),
  },
  'nothing left': {
    on: (scene) => scene.follow({ [SHOP]: null, [REST]: null }),
    off: (scene) => scene.again({ [REST]: 'stackTemplate: none\n' }),
  },
  history: {
    on: (scene) => scene.rewrite(),
    off: (scene) => scene.again(),
  },
  unreadable: {
    on: (scene) => scene.follow({ [SHOP]: null, 'stacks/instances/shop.yml': '' }),
    off: (scene) => scene.follow({ 'stacks/instances/shop.yml': null }).then(() => scene.again()),
  },
  failures: {
    on: (scene) => scene.failSpares(),
    off: (scene) => scene.mendSpares(),
  },
  suspended: { on: (scene) => scene.suspend(), off: (scene) => scene.resume() },
  'all suspended': { on: (scene) => scene.suspend(null), off: (scene) => scene.resume(null) },
  protected: { on: (scene) => scene.instance('protected: true\n'), off: (scene) => scene.instance('') },
  'not followed': {
    on: (scene) => scene.follow({ 'tree.yaml': 'name: [\n' }),
    off: (scene) => scene.follow({ 'tree.yaml': 'name: global\ntype: common\n' }),
  },
} as const satisfies Readonly<Record<string, Hold>>;

const KEYS = Object.keys(EXITS) as (keyof typeof EXITS)[];

async function expectEnd(scene: Scene, { end = 'done', isAbsent }: Play, deletes: number): Promise<void> {
  await scene.core.settle();
  const { row, core } = scene;
  if (end === 'done') expect(row, row === undefined ? 'it is gone' : exitKeyOf(row)).toMatchObject({ state: 'done' });
  else expect(row).toBeUndefined();
  if (end !== 'gone') expect(core.calls('delete').slice(deletes)).toEqual([]);
  if (isAbsent !== true || end === 'done') expect(scene.isThere).toBe(end !== 'gone');
  expect(core.states()).toMatchObject({ x: 'done', y: 'done', z: 'done' });
  expect(core.operator.held()).toEqual([]);
}

it('there is an exit from every state, with every reason, and under every kind of hold', () => {
  const parts = KEYS.map((key) => key.split('/'));
  const states = new Set(parts.map(([state]) => state));
  expect(STATES.filter((state) => !states.has(state))).toEqual([]);
  const codes = new Set(parts.map(([, code]) => code));
  expect(REASON_CODES.filter((code) => !codes.has(code))).toEqual([]);
  expect(HOLD_KINDS.filter((kind) => !Object.hasOwn(HOLDS, kind))).toEqual([]);
});

describe.each(KEYS)('%s', (key) => {
  const play = PLAYS[key];

  it(`is left by: ${EXITS[key]}`, async () => {
    const scene = await play.into();
    expect(exitKeyOf(scene.row ?? unexpected())).toBe(key);
    expect(scene.isThere).toBe(play.isAbsent !== true);
    const deletes = scene.core.calls('delete').length;
    await play.out(scene);
    await expectEnd(scene, play, deletes);
  });
});

it.each(HOLD_KINDS)('a hold is listed until it is ended: %s', async (kind) => {
  const scene = await start();
  const { on, off } = HOLDS[kind];
  await on(scene);
  expect(scene.core.operator.held().map((item) => item.kind)).toEqual([kind]);
  await off(scene);
  expect(scene.core.operator.held()).toEqual([]);
  expect(new Set(Object.values(scene.core.states()))).toEqual(new Set(['done']));
  expect(scene.core.calls('delete')).toEqual([]);
});
