// Asks every route as every kind of client, over the real application, in random estates with tenants and sites, and compares the answers
// with the rules of docs/rest.md, least rights. Every value that is hidden has a word of its own, which no answer may contain. Names of
// hidden objects may be in texts only.
import { X509Certificate } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { Agent, createServer, type IncomingMessage, type ServerResponse, request as send } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import fc from 'fast-check';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { createApp } from '../../src/api/app.ts';
import { EventStreams } from '../../src/api/event-streams.ts';
import { CLIENT_CERTIFICATE, presentForwarded } from '../../src/api/peer.ts';
import { type Credential, createAuthority, issueClientCertificate } from '../../src/base/development-pki.ts';
import { createLog } from '../../src/base/log.ts';
import type { Client } from '../../src/model/objects.ts';
import { answerIn } from '../../src/providers/answer-json.ts';
import { judgeRequest } from '../../src/service/write/judge-writes.ts';
import { createWriter } from '../../src/service/write/writer.ts';
import { Core } from '../reconcile/core.ts';
import { countRuns } from '../support/count-runs.ts';
import { listenInTest } from '../support/listen-in-test.ts';
import { ROUTES } from '../support/route-table.ts';
import { CONTROLLER } from '../support/sample-operator.ts';

const TENANTS = ['', 'ta', 'tb'] as const;
const TAGS = ['', 'x', 'y'] as const;

/** What each may do with what it sees is in rights-matrix.test.ts. The first is there so that no other is the last administrator. */
const KINDS: Readonly<Record<string, Partial<Client> & Pick<Client, 'role'>>> = {
  administrator: { role: 'administrator' },
  'administrator of a tenant': { role: 'administrator', tenant: 'ta' },
  'administrator of a site': { role: 'administrator', reads: 'site', tags: ['x'] },
  'automation of a tenant': { role: 'automation-endpoint', tenant: 'tb' },
  'automation of a site': { role: 'automation-endpoint', reads: 'site', tags: ['y'] },
  proxy: { role: 'proxy', tags: ['x'] },
  'proxy of a site': { role: 'proxy', reads: 'site', tags: ['x'] },
  'proxy of servers without tags': { role: 'proxy', reads: 'site' },
  'proxy of a tenant at a site': { role: 'proxy', reads: 'site', tags: ['x', 'y'], tenant: 'ta' },
  'client of a node': { role: 'proxy', node: 'inst0-s' },
  'client of a node of a tenant': { role: 'proxy', node: 'inst0-s', tenant: 'ta' },
};

interface Instance {
  readonly tenant: string;
  /** The tags of its two servers. */
  readonly tags: readonly [string, string];
  /** The index of the role that its servers select. */
  readonly role: number;
  readonly isRemoved: boolean;
}
interface Estate {
  readonly instances: readonly Instance[];
  /** Tenants of the roles that servers select, and of clientcerts that no stack makes. */
  readonly roles: readonly string[];
  readonly nodes: readonly { readonly tenant: string; readonly tag: string }[];
}

const ESTATES: fc.Arbitrary<Estate> = fc.record({
  instances: fc.array(
    fc.record({
      tenant: fc.constantFrom(...TENANTS),
      tags: fc.tuple(fc.constantFrom(...TAGS), fc.constantFrom(...TAGS)),
      role: fc.integer({ min: 0, max: 2 }),
      isRemoved: fc.integer({ min: 0, max: 4 }).map((one) => one === 0),
    }),
    { minLength: 2, maxLength: 4 },
  ),
  roles: fc.array(fc.constantFrom('', '', ...TENANTS), { minLength: 3, maxLength: 3 }),
  nodes: fc.array(fc.record({ tenant: fc.constantFrom(...TENANTS), tag: fc.constantFrom(...TAGS) }), {
    minLength: 1,
    maxLength: 2,
  }),
});

/** Has each kind of what may be hidden: an instance of two sites, one that uses a role of another tenant, one whose removal is held. */
const RICH: Estate = {
  instances: [
    { tenant: 'ta', tags: ['x', 'y'], role: 0, isRemoved: false },
    { tenant: 'tb', tags: ['x', ''], role: 1, isRemoved: true },
    { tenant: '', tags: ['y', 'y'], role: 2, isRemoved: false },
    { tenant: 'ta', tags: ['x', 'x'], role: 1, isRemoved: false },
  ],
  roles: ['', 'tb', 'ta'],
  nodes: [
    { tenant: 'ta', tag: 'x' },
    { tenant: '', tag: '' },
  ],
};

let credentials: ReadonlyMap<string, Credential>;
beforeAll(async () => {
  const now = Date.now();
  const authority = await createAuthority({ commonName: 'Test authority', now });
  const made = new Map<string, Credential>();
  for (const kind of Object.keys(KINDS)) {
    made.set(kind, await issueClientCertificate(authority, { commonName: kind, now }));
  }
  credentials = made;
});

const TEMPLATE = `parameters: { note: "", tag: "", tag2: "", role: "" }
resources:
  s: { type: Platform::Server, properties: { ProxyTag: "<<tag>>", role: "<<role>>", location: "site<<tag>>", note: "<<note>>s" } }
  m: { type: Platform::Server, properties: { ProxyTag: "<<tag2>>", role: "<<role>>", location: "site<<tag2>>", note: "<<note>>m" } }
`;

function filesOf({ instances, roles, nodes }: Estate): Record<string, string> {
  const of = (tenant: string): string => (tenant === '' ? '' : `tenant: ${tenant}\n`);
  const sites = TAGS.map((tag) => `{ name: site${tag}, type: location, description: wordplace${tag}x }`);
  const files: Record<string, string> = {
    'tree.yaml': `name: base\ntype: common\nchildren: [${sites.join(', ')}]\n`,
    'types/common/base.yaml': 'shared: all\n',
    'stacks/templates/t.yaml': TEMPLATE,
  };
  for (const tag of TAGS) files[`types/location/site${tag}.yaml`] = `at: wordsite${tag}x\n`;
  for (const [index, tenant] of roles.entries()) {
    files[`types/role/role${index}.yaml`] = `${of(tenant)}setting: wordrole${index}x\n`;
  }
  for (const [index, { tenant, tag }] of nodes.entries()) {
    files[`types/clientcert/node${index}.yaml`] = `${of(tenant)}ProxyTag: "${tag}"\nnote: wordnode${index}x\n`;
  }
  for (const [index, { tenant, tags, role }] of instances.entries()) {
    files[`stacks/instances/inst${index}.yaml`] =
      `${of(tenant)}description: worddoc${index}x\nstackTemplate: t\nparameters: { note: word${index}x, tag: "${tags[0]}", tag2: "${tags[1]}", role: role${role} }\n`;
  }
  for (const [kind, { serial }] of credentials) {
    const lines = Object.entries(KINDS[kind] ?? {}).map(([field, value]) => `${field}: ${JSON.stringify(value)}`);
    files[`clients/${serial}.yaml`] = `description: wordclient${serial}x\n${lines.join('\n')}\n`;
  }
  return files;
}

/** What a client sees, in the words of the rules. */
class Rules {
  readonly kind: string;
  readonly estate: Estate;
  readonly client: Partial<Client> & Pick<Client, 'role'>;
  readonly serial: string;

  constructor(estate: Estate, kind: string) {
    this.kind = kind;
    this.estate = estate;
    this.client = KINDS[kind] ?? { role: 'proxy' };
    this.serial = credentials.get(kind)?.serial ?? '';
  }

  /** An object of another tenant is hidden; one without is everybody's. */
  mayTenant(tenant: string): boolean {
    return (this.client.tenant ?? '') === '' || tenant === '' || tenant === this.client.tenant;
  }

  isSite(tag: string): boolean {
    return this.client.reads !== 'site' || this.hasTag(tag);
  }

  hasTag(tag: string): boolean {
    const own = this.client.tags ?? [];
    return tag === '' ? own.length === 0 : own.includes(tag);
  }

  instanceOf(name: string): { readonly instance: Instance; readonly tag: string } | undefined {
    const [, index = '', key] = /^inst(\d+)-([sm])$/.exec(name) ?? [];
    const instance = this.estate.instances[Number(index === '' ? -1 : index)];
    return instance && { instance, tag: instance.tags[key === 's' ? 0 : 1] };
  }

  /** The record of a node: of the tenant and at the site. An instance that uses a role of another tenant makes no servers. */
  record(name: string): boolean {
    const { node } = this.client;
    if (node !== undefined && node !== name) return false;
    const made = this.instanceOf(name);
    const written = this.estate.nodes[Number(/^node(\d+)$/.exec(name)?.[1] ?? -1)];
    if (made !== undefined) {
      const { instance, tag } = made;
      const isThere = !isForeign(this.estate, instance);
      return isThere && this.mayTenant(instance.tenant) && (node !== undefined || this.isSite(tag));
    }
    return written !== undefined && this.mayTenant(written.tenant) && (node !== undefined || this.isSite(written.tag));
  }

  /** The one node of a client is no foreign one while it does not exist. */
  isOwnAbsent(name: string): boolean {
    const instance = this.instanceOf(name)?.instance;
    return name === this.client.node && (instance === undefined || isForeign(this.estate, instance));
  }

  server(name: string): boolean {
    return this.client.node === undefined && this.record(name);
  }

  instance(index: number): boolean {
    const instance = this.estate.instances[index];
    if (instance === undefined || this.client.node !== undefined || !this.mayTenant(instance.tenant)) return false;
    return this.client.reads !== 'site' || serversOf(index).every((name) => this.server(name));
  }

  role(index: number): boolean {
    if (this.client.node !== undefined || !this.mayTenant(this.estate.roles[index] ?? '')) return false;
    return this.client.reads !== 'site';
  }

  /** Locations and templates, which have no tenant. */
  common(): boolean {
    return this.client.node === undefined && this.client.reads !== 'site';
  }

  otherClient(kind: string): boolean {
    const other = KINDS[kind];
    if (credentials.get(kind)?.serial === this.serial) return true;
    if (this.client.role === 'proxy' || this.client.node !== undefined || !this.mayTenant(other?.tenant ?? ''))
      return false;
    return this.client.reads !== 'site' || (other?.tags ?? []).some((tag) => this.client.tags?.includes(tag) === true);
  }

  /** Words of values that no answer may contain, and names that may be in texts only. */
  hidden(): Hidden {
    const { estate } = this;
    const [words, names]: [string[], string[]] = [[], []];
    for (const index of estate.instances.keys()) {
      const [s, m] = serversOf(index);
      if (!this.record(s)) words.push(`word${index}xs`) && names.push(s);
      if (!this.record(m)) words.push(`word${index}xm`) && names.push(m);
      if (!this.instance(index)) words.push(`worddoc${index}x`);
      if (!this.instance(index) && !this.record(s) && !this.record(m)) names.push(`inst${index}`);
    }
    for (const index of estate.nodes.keys()) {
      if (!this.record(`node${index}`)) words.push(`wordnode${index}x`) && names.push(`node${index}`);
    }
    const isDrawn = (isOf: (made: NonNullable<ReturnType<Rules['instanceOf']>>) => boolean): boolean =>
      allServers(estate).some((name) => {
        const made = this.instanceOf(name);
        return made !== undefined && this.record(name) && isOf(made);
      });
    for (const index of estate.roles.keys()) {
      if (this.role(index) || isDrawn(({ instance }) => instance.role === index)) continue;
      // A document that the client sees names the role that it selects.
      const isNamed = estate.instances.some((instance, at) => instance.role === index && this.instance(at));
      words.push(`wordrole${index}x`);
      if (!isNamed) names.push(`role${index}`);
    }
    for (const site of TAGS) {
      if (!this.common() && !isDrawn(({ tag }) => tag === site)) words.push(`wordsite${site}x`, `wordplace${site}x`);
    }
    for (const [kind, { serial }] of credentials) {
      if (!this.otherClient(kind)) words.push(`wordclient${serial}x`, serial);
    }
    const named = Object.entries(KINDS).flatMap(([kind, { node }]) => (this.otherClient(kind) ? (node ?? []) : []));
    return { words, names: names.filter((name) => !named.includes(name)) };
  }
}

interface Hidden {
  readonly words: readonly string[];
  readonly names: readonly string[];
}

/** Returns true for an instance that uses a role of another tenant: it is invalid, and makes no servers. */
function isForeign({ roles }: Estate, { tenant, role }: Instance): boolean {
  return !['', tenant].includes(roles[role] ?? '');
}

function serversOf(index: number): readonly [string, string] {
  return [`inst${index}-s`, `inst${index}-m`];
}

function allServers({ instances }: Estate): readonly string[] {
  return instances.flatMap((_, index) => serversOf(index));
}

interface Reply {
  readonly status: number;
  readonly text: string;
  readonly head: string;
  readonly body: unknown;
}

interface Controller {
  readonly core: Core;
  /** Returns what a stream sends to a client of all events so far. */
  stream(kind: string): Promise<string>;
  ask(kind: string, method: string, path: string, body?: object, head?: Record<string, string>): Promise<Reply>;
}

async function start(estate: Estate): Promise<Controller> {
  const core = new Core({
    hasProxied: true,
    budget: { percent: 0, least: 0, most: 0 },
    entries: [{ name: 'lab', match: { kind: null, properties: { location: 'site' } } }],
  });
  core.source.commit(filesOf(estate));
  await core.poll();
  // Some are going, and wait for an approval: those that have a server which is made.
  const removed = estate.instances.flatMap((instance, index) =>
    instance.isRemoved && instance.tags.includes('') && !isForeign(estate, instance)
      ? [`stacks/instances/inst${index}.yaml`]
      : [],
  );
  if (removed.length > 0 && removed.length < estate.instances.length) {
    core.source.commit(Object.fromEntries(removed.map((path) => [path, null])));
    await core.poll();
  }
  // An operator may name anything.
  const order = { ...core.order, reason: 'because of inst1-s, and node0 too' };
  await core.operator.suspend(order, { instance: 'inst0', until: null });
  const writer = createWriter({
    queue: {
      mode: 'commit',
      async submit(draft, order) {
        const desired = core.current.get();
        if (desired !== undefined) judgeRequest({ draft, order }, desired);
        return { commit: null, branch: null };
      },
    },
    preview: async (draft, order) => {
      const desired = core.current.get();
      if (desired !== undefined) judgeRequest({ draft, order }, desired);
      return { diff: '', servers: [] };
    },
    approveDeletes: async () => async () => undefined,
    isTerminating: (instance) => core.ledger.read('terminating', instance) !== undefined,
    recorded: core.ledger,
    review: () => undefined,
  });
  const { reader, operator, explainer, agent, ledger, clock } = core;
  if (agent === undefined) throw new Error('there is no work for proxies');
  const streams = new EventStreams({ ledger, commit: () => core.current.get()?.commit, clock });
  const app = createApp({
    ...{ reader, operator, explainer, agent, writer, readAnswer: answerIn, clock },
    replica: 'test',
    controller: CONTROLLER,
    commits: { reached: async () => undefined },
    streams,
    log: createLog('silent'),
    ambiguityOf: () => undefined,
  });
  const port = await listenInTest(
    createServer((request, response) => {
      presentForwarded(request);
      app(request, response);
    }),
  );
  const connections = new Agent({ keepAlive: true });
  onTestFinished(() => connections.destroy());
  return {
    core,
    async stream(kind) {
      const sent: string[] = [];
      const response = Object.assign(new EventEmitter(), {
        ...{ destroyed: false, writableEnded: false, writableNeedDrain: false },
        ...{ writeHead: () => response, cork: () => undefined, uncork: () => undefined, end: () => response },
        write: (text: string | Buffer) => sent.push(String(text)) > 0,
        destroy: () => response,
      });
      const by: Client = {
        ...{ name: '', type: 'client', description: '', fingerprint: '', tenant: '', role: 'proxy' },
        ...{ serial: credentials.get(kind)?.serial ?? '', ...KINDS[kind] },
      };
      const stream = {
        by,
        client: kind,
        after: 0,
        instances: undefined,
        isAllowed: () => true,
        onUnread: () => undefined,
      };
      const opened = streams.open({
        ...stream,
        response: response as unknown as ServerResponse,
        scope: reader.scopeOf(by),
      });
      for (let turn = 0; turn < 5; turn += 1) await core.pass(50);
      response.emit('close');
      await opened;
      return sent.join('');
    },
    async ask(kind, method, path, body, head = {}) {
      const certificate = new X509Certificate(credentials.get(kind)?.cert ?? '').raw.toString('base64');
      const sent = body === undefined ? undefined : JSON.stringify(body);
      const ofBody = sent === undefined ? {} : { 'content-type': 'application/json', 'content-length': sent.length };
      const headers = { [CLIENT_CERTIFICATE]: certificate, ...head, ...ofBody };
      const asked = send({ port, host: '127.0.0.1', agent: connections, method, path, headers }).end(sent);
      const [answer] = (await once(asked, 'response')) as [IncomingMessage];
      const text = await readText(answer);
      const parsed: unknown = text === '' ? undefined : JSON.parse(text);
      return { status: answer.statusCode ?? 0, text, head: answer.rawHeaders.join('\n'), body: parsed };
    },
  };
}

/** A read with a name that is there for somebody, one that is there for nobody, and whether the client may. */
interface NamedRead {
  readonly path: string;
  readonly unknown: string;
  readonly isSeen: boolean;
}

function readsOf(rules: Rules): readonly NamedRead[] {
  const { instances, nodes, roles } = rules.estate;
  const reads = (names: readonly string[], isSeen: (name: string) => boolean, ...paths: readonly string[]) =>
    names.flatMap((name) =>
      paths.map((path) => ({
        path: path.replace('NAME', name),
        unknown: path.replace('NAME', 'nothing'),
        isSeen: isSeen(name),
      })),
    );
  const at = (name: string): number => Number(/\d+/.exec(name)?.[0]);
  const named = (kind: string, all: readonly unknown[]): readonly string[] => all.map((_, index) => `${kind}${index}`);
  const records = [...allServers(rules.estate), ...named('node', nodes)];
  const ofInstance = ['', '/status', '/status/full', '/why', '/events'].map((rest) => `/stacks/instances/NAME${rest}`);
  const explained = ['/operations/explain/NAME', '/operations/explain/NAME/note'];
  return [
    ...reads(named('inst', instances), (name) => rules.instance(at(name)), ...ofInstance, '/types/stack-instance/NAME'),
    ...reads(records, (name) => rules.record(name), ...explained),
    ...reads(records, (name) => rules.server(name), '/types/clientcert/NAME'),
    ...reads(allServers(rules.estate), (name) => rules.server(name), '/operations/servers/NAME'),
    ...reads(named('role', roles), (name) => rules.role(at(name)), '/types/role/NAME'),
    ...reads(named('role', roles), () => false, '/types/all/NAME'),
    ...reads(
      TAGS.map((tag) => `site${tag}`),
      () => rules.common(),
      '/types/location/NAME',
    ),
    ...reads(['t'], () => rules.common(), '/stacks/templates/NAME'),
  ];
}

const READS = Object.entries(ROUTES).filter(([, { method, isEndless }]) => method === 'GET' && !isEndless);
/** The reads of no object in particular. */
const LISTS = [
  ...READS.flatMap(([route, { path }]) => (route.includes(':') || path === '/agent/actions' ? [] : [path])),
  '/agent/actions?wait=0',
  ...['role', 'clientcert', 'stack-instance', 'stack-template', 'all'].map((type) => `/types/${type}`),
  ...['?search=inst', '?limit=1'].map((query) => `/operations/servers${query}`),
  '/hiera/all?info=true',
  '/operations/events?instance=inst0',
  '/operations/delivered?state=delivered,outdated,failed',
];

function requireNone(what: string, { text, head, body }: Reply, { words, names }: Hidden, path: string): void {
  const isAsked = (word: string): boolean => path.includes(word);
  const told = words.filter((word) => {
    return !isAsked(word) && (new RegExp(`(?<![\\w.-])${word}(?![\\w-])`).test(text) || head.includes(word));
  });
  const strings = new Set(stringsIn(body));
  told.push(...names.filter((name) => !isAsked(name) && strings.has(name)));
  if (told.length > 0) throw new Error(`${what} shows ${told.join(', ')}: ${text.slice(0, 2000)}`);
}

/** Yields every key and every string of a body: a name as a whole is no text. */
function* stringsIn(body: unknown): Generator<string> {
  if (typeof body === 'string') yield body;
  if (typeof body !== 'object' || body === null) return;
  for (const [key, value] of Object.entries(body)) {
    yield key;
    yield* stringsIn(value);
  }
}

test('every read is asked', () => {
  const rules = new Rules(RICH, 'proxy');
  const others = ['/hiera/a', '/hiera/a/b', '/clients/A', '/operations/commits/0000000'];
  const paths = [...LISTS, ...readsOf(rules).map(({ path }) => path), ...others];
  const unasked = READS.filter(([route]) => {
    const pattern = route.slice(4).replace(/:\w+/g, '[^/?]+');
    return !paths.some((path) => new RegExp(`^${pattern}(\\?.*)?$`).test(path));
  });
  expect(unasked).toEqual([]);
});

test('every client is answered by what it sees', async () => {
  await fc.assert(
    fc.asyncProperty(ESTATES, async (estate) => {
      const { core, ask, stream } = await start(estate);
      try {
        for (const kind of Object.keys(KINDS)) {
          await checkReads(estate, kind, ask);
          checkStream(estate, kind, await stream(kind));
        }
        for (const kind of Object.keys(KINDS)) await checkAbsence(estate, kind, ask);
        for (const kind of Object.keys(KINDS)) await checkWrites(estate, kind, ask);
      } finally {
        await core.stop();
      }
    }),
    { numRuns: countRuns(3), examples: [[RICH]], endOnFailure: process.env.SHRINK === undefined },
  );
});

async function checkReads(estate: Estate, kind: string, ask: Controller['ask']): Promise<void> {
  const rules = new Rules(estate, kind);
  const hidden = rules.hidden();
  const absences = new Map<string, Promise<Reply>>();
  const isWhole = rules.common() && (rules.client.tenant ?? '') === '';
  for (const { path, unknown, isSeen } of readsOf(rules)) {
    const reply = await ask(kind, 'GET', path);
    expect({ kind, path, status: reply.status }).toEqual({ kind, path, status: isSeen ? 200 : 404 });
    requireNone(`${kind} ${path}`, reply, hidden, path);
    if (isSeen || isWhole) continue;
    const [name = '', other = ''] = [path, unknown].map((one) => one.match(NAMED)?.[0] ?? '');
    const asked = absences.get(unknown) ?? ask(kind, 'GET', unknown);
    absences.set(unknown, asked);
    const absent = await asked;
    expect(withoutName(reply.text, name)).toEqual(withoutName(absent.text, other));
  }
  const nodes = [...allServers(estate), ...estate.nodes.map((_, index) => `node${index}`), 'nothing'];
  for (const name of nodes) {
    for (const path of [`/hiera/${name}/`, `/hiera/${name}/note`, `/hiera/${name}/?info=true`]) {
      const reply = await ask(kind, 'GET', path);
      const status = rules.record(name) ? 200 : isWhole || rules.isOwnAbsent(name) ? 404 : 403;
      expect({ kind, path, status: reply.status }).toEqual({ kind, path, status });
      requireNone(`${kind} ${path}`, reply, hidden, path);
    }
  }
  for (const path of LISTS) requireNone(`${kind} ${path}`, await ask(kind, 'GET', path), hidden, path);
  const history = (await ask(kind, 'GET', '/operations/commits')).body as {
    readonly commits: readonly { readonly commit: string }[];
  };
  const changesSeen = isWhole && rules.client.role !== 'proxy';
  expect({ kind, hasCommits: history.commits.length > 0 }).toEqual({ kind, hasCommits: changesSeen });
  for (const { commit } of history.commits) {
    const path = `/operations/commits/${commit}`;
    requireNone(`${kind} ${path}`, await ask(kind, 'GET', path), hidden, path);
  }
  const all = (await ask(kind, 'GET', '/hiera/all')).body;
  expect(Object.keys(all as object)).toEqual(nodes.filter((name) => rules.record(name)).sort());
  const servers = (await ask(kind, 'GET', '/operations/servers')).body as { readonly total: number };
  expect({ kind, total: servers.total }).toEqual({
    kind,
    total: allServers(estate).filter((name) => rules.server(name)).length,
  });
  const instances = (await ask(kind, 'GET', '/stacks/instances')).body as { readonly name: string }[];
  const seen = [...estate.instances.keys()].filter((index) => rules.instance(index)).map((index) => `inst${index}`);
  expect({ kind, instances: instances.map(({ name }) => name) }).toEqual({ kind, instances: seen });
  const clients = (await ask(kind, 'GET', '/clients')).body as {
    readonly result: readonly { readonly serial: string }[];
  };
  const others = [...credentials].filter(([other]) => rules.otherClient(other)).map(([, { serial }]) => serial);
  expect({ kind, clients: clients.result.map(({ serial }) => serial) }).toEqual({ kind, clients: others.sort() });
  const known = (await ask(kind, 'GET', '/operations/clients')).body as { readonly clients: typeof clients.result };
  expect({ kind, known: known.clients.map(({ serial }) => serial) }).toEqual({ kind, known: others.sort() });
}

const NAMED = /(?<=\/)(?:inst\d(?:-[sm])?|node\d|role\d|site[xy]?|t|nothing)(?=\/|$)/;

/** All that has happened to what the client sees is told, and nothing else. */
function checkStream(estate: Estate, kind: string, text: string): void {
  const rules = new Rules(estate, kind);
  const body = [...text.matchAll(/^data: (.*)$/gm)].map(([, data = 'null']) => JSON.parse(data) as unknown);
  requireNone(`${kind} /events`, { status: 200, text, head: '', body }, rules.hidden(), '');
  const told = allServers(estate).filter((name) => text.includes(`"resource":"${name}"`));
  expect({ kind, told }).toEqual({ kind, told: allServers(estate).filter((name) => rules.record(name)) });
}

function withoutName(text: string, name: string): string {
  return text.replace(new RegExp(`(?<![\\w-])${name}(?![\\w-])`, 'g'), 'NAME');
}

interface Pair {
  readonly method: string;
  readonly of: (name: string) => { readonly path: string; readonly body?: object };
  readonly hidden: readonly string[];
  readonly absent: string;
}

/** The requests that change something by name, with the names that the client does not see. */
function* changesOf(rules: Rules): Generator<Pair> {
  const { estate } = rules;
  const instances = [...estate.instances.keys()].filter((index) => !rules.instance(index)).map((at) => `inst${at}`);
  const servers = allServers(estate).filter((name) => !rules.server(name));
  const nodes = [...estate.nodes.keys()].map((index) => `node${index}`).filter((name) => !rules.server(name));
  const roles = [...estate.roles.keys()].filter((index) => !rules.role(index)).map((index) => `role${index}`);
  const clients = [...credentials].flatMap(([kind, { serial }]) => (rules.otherClient(kind) ? [] : [serial]));
  const removal = (path: string, hidden: readonly string[], absent = 'nothing'): Pair => {
    return { method: 'DELETE', of: (name) => ({ path: `${path}${name}` }), hidden, absent };
  };
  yield removal('/stacks/instances/', instances);
  yield removal('/types/stack-instance/', instances);
  yield removal('/types/role/', roles);
  yield removal('/types/clientcert/', [...servers, ...nodes]);
  yield removal('/types/stack-template/', rules.common() ? [] : ['t']);
  yield removal('/clients/', clients, 'ABCDEF12');
  yield removal('/clients?serial=', clients, 'ABCDEF12');
  const operation = (operation: string, field: string, hidden: readonly string[]): Pair => {
    const until = operation === 'acknowledge' ? { until: new Date(Date.now() + 86_400_000).toISOString() } : {};
    const of = (name: string) => ({ path: `/operations/${operation}`, body: { [field]: name, ...until } });
    return { method: 'POST', of, hidden, absent: 'nothing' };
  };
  for (const name of ['suspend', 'resume', 'acknowledge', 'retry', 'adopt', 'check'])
    yield operation(name, 'instance', instances);
  for (const name of ['retry', 'adopt', 'check', 'retain', 'replace'])
    yield operation(name, 'resource', [...servers, ...instances]);
}

/** The requests that make or replace something, which are refused before the object is looked at: for a version that there is not. */
function* replacementsOf(rules: Rules): Generator<Pair> {
  const { estate } = rules;
  const hidden = [...estate.instances.keys()].filter((index) => !rules.instance(index)).map((index) => `inst${index}`);
  for (const force of ['', '?force=true', '?force=true&dry_run=true']) {
    const of = (name: string) => ({ path: `/stacks/instances/${name}${force}`, body: { stackTemplate: 't' } });
    yield { method: 'POST', of, hidden, absent: 'nothing' };
  }
  const roles = [...estate.roles.keys()].filter((index) => !rules.role(index)).map((index) => `role${index}`);
  yield { method: 'POST', of: (name) => ({ path: '/types/role', body: { name } }), hidden: roles, absent: 'nothing' };
}

/** What a client does not see is answered as what there is not. */
async function checkAbsence(estate: Estate, kind: string, ask: Controller['ask']): Promise<void> {
  const rules = new Rules(estate, kind);
  const isWhole = rules.common() && (rules.client.tenant ?? '') === '';
  if (isWhole) return;
  const versions = [{ 'if-match': '"a.b"' }, { 'if-match': '*' }];
  const compare = async ({ method, of, hidden, absent }: Pair, head: Record<string, string>): Promise<void> => {
    const answered = async (name: string): Promise<object> => {
      const { path, body } = of(name);
      const { status, text } = await ask(kind, method, path, body, head);
      return { status, text: withoutName(text, name) };
    };
    const expected = hidden.length === 0 ? undefined : await answered(absent);
    // Messages name the one node of a client.
    for (const name of hidden.filter((one) => one !== rules.client.node))
      expect({ kind, request: [method, of(name), head], ...(await answered(name)) }).toEqual({
        ...{ kind, request: [method, of(name), head], ...expected },
      });
  };
  for (const pair of changesOf(rules)) {
    for (const head of [{}, ...(pair.method === 'DELETE' ? versions : [])]) await compare(pair, head);
    const dry = (name: string) => {
      const { path, body } = pair.of(name);
      return { path: `${path}${path.includes('?') ? '&' : '?'}dry_run=true`, ...(body === undefined ? {} : { body }) };
    };
    await compare({ ...pair, of: dry }, {});
  }
  for (const pair of replacementsOf(rules)) for (const head of versions) await compare(pair, head);
}

/** What these do, others would read: they are asked only where they are refused. */
const LASTING = ['retain', 'replace', 'suspend', 'resume'];

/** An administrator writes and operates what it sees; of a tenant, only what is of that tenant. */
async function checkWrites(estate: Estate, kind: string, ask: Controller['ask']): Promise<void> {
  const rules = new Rules(estate, kind);
  const hidden = rules.hidden();
  const { role, node, tenant = '' } = rules.client;
  if (role !== 'administrator' || node !== undefined) return;
  const send = async (method: string, path: string, body?: object): Promise<number> => {
    const reply = await ask(kind, method, path, body);
    requireNone(`${kind} ${method} ${path}`, reply, hidden, `${path} ${JSON.stringify(body)}`);
    return reply.status;
  };
  const check = (what: string, status: number, isSeen: boolean, of: string): void => {
    const wanted = !isSeen ? (what.startsWith('POST') ? 409 : 404) : tenant !== '' && of === '' ? 403 : undefined;
    if (wanted !== undefined) expect({ kind, what, status }).toEqual({ kind, what, status: wanted });
    else expect({ kind, what, isRefused: status === 403 }).toEqual({ kind, what, isRefused: false });
  };
  const tenantOf = (of: string) => (of === '' ? {} : { tenant: of });
  for (const [index, { tenant: of, tags, role: selected, isRemoved }] of estate.instances.entries()) {
    if (isRemoved) continue;
    const path = `/stacks/instances/inst${index}`;
    const parameters = { note: 'new', tag: tags[0], tag2: tags[1], role: `role${selected}` };
    const isSeen = rules.instance(index);
    check(`DELETE ${path}`, await send('DELETE', `${path}?dry_run=true`), isSeen, of);
    const body = { stackTemplate: 't', parameters, ...tenantOf(of) };
    check(`POST ${path}`, await send('POST', `${path}?force=true`, body), isSeen, of);
  }
  for (const [index, of] of estate.roles.entries()) {
    const name = `role${index}`;
    check(`DELETE ${name}`, await send('DELETE', `/types/role/${name}`), rules.role(index), of);
    const put = await send('POST', '/types/role', { name, setting: 'b', ...tenantOf(of) });
    check(`POST ${name}`, put, rules.role(index), of);
    if (tenant === '') continue;
    const parameters = { note: 'new', tag: '', tag2: '', role: name };
    const status = await send('POST', '/stacks/instances/fresh', { stackTemplate: 't', parameters });
    expect({ kind, of, status }).toEqual({ kind, of, status: rules.mayTenant(of) ? 201 : 400 });
  }
  for (const [other, { serial }] of credentials) {
    if (serial === rules.serial) continue;
    const of = KINDS[other]?.tenant ?? '';
    const status = await send('POST', '/clients', { serial, description: 'other', ...tenantOf(of) });
    check(`POST ${other}`, status, rules.otherClient(other), of);
  }
  const foreign = await send('POST', '/types/role', { name: 'brandnew', tenant: 'tz' });
  if (tenant !== '') expect({ kind, foreign }).toEqual({ kind, foreign: 403 });
  await checkOperations(rules, (operation, body) => send('POST', `/operations/${operation}`, body));
}

async function checkOperations(
  rules: Rules,
  send: (operation: string, body: object) => Promise<number>,
): Promise<void> {
  const { kind, estate, client } = rules;
  const check = async (operation: string, body: object, isSeen: boolean, of: string): Promise<void> => {
    const wanted = !isSeen ? 404 : (client.tenant ?? of) === of ? undefined : 403;
    if (wanted === undefined && LASTING.includes(operation)) return;
    const status = await send(operation, body);
    const refused = status === 403 || status === 404 ? status : undefined;
    expect({ kind, operation, body, refused }).toEqual({ kind, operation, body, refused: wanted });
  };
  for (const name of allServers(estate)) {
    const { tenant = '' } = rules.instanceOf(name)?.instance ?? {};
    for (const operation of ['retry', 'adopt', 'check', 'retain', 'replace'])
      await check(operation, { resource: name }, rules.server(name), tenant);
  }
  for (const [index, { tenant }] of estate.instances.entries()) {
    for (const operation of ['suspend', 'retry', 'adopt', 'check'])
      await check(operation, { instance: `inst${index}` }, rules.instance(index), tenant);
    if (rules.instance(index)) await check('resume', { instance: `inst${index}` }, true, tenant);
  }
}

/** One instance of each tenant, and one of none. */
const SHARED: Estate = {
  instances: [
    { tenant: 'ta', tags: ['', ''], role: 0, isRemoved: false },
    { tenant: 'tb', tags: ['', ''], role: 1, isRemoved: false },
    { tenant: '', tags: ['', 'x'], role: 2, isRemoved: false },
  ],
  roles: ['ta', 'tb', ''],
  nodes: [],
};

test('a client of a tenant acts on nothing but what is of its tenant', async () => {
  const { core, ask } = await start(SHARED);
  const send = async (path: string, body: object, kind = 'administrator of a tenant'): Promise<number> =>
    (await ask(kind, 'POST', path, body)).status;
  try {
    // Of all instances, by the name that stands for them too.
    expect(await send('/operations/suspend', {}, 'administrator')).toBe(200);
    for (const operation of ['suspend', 'resume']) {
      for (const body of [{}, { instance: '*' }]) expect(await send(`/operations/${operation}`, body)).toBe(403);
    }
    expect(await send('/operations/resume', {}, 'administrator')).toBe(200);
    expect(await send('/operations/suspend', { instance: 'inst0' })).toBe(200);
    expect(await send('/operations/resume', { instance: 'inst0' })).toBe(200);
    expect(await send('/operations/replace', { resource: 'inst0-s' })).toBe(200);
    // Deletes wait for an approval: each approves its own.
    core.source.commit({ 'stacks/instances/inst2.yaml': null });
    await core.poll();
    const [held] = core.operator.held();
    expect(held?.instance).toBe('inst2');
    expect(await send('/operations/approve', { digest: held?.digest })).toBe(403);
    // A rewritten history is of all.
    core.source.commit({ 'types/role/role2.yaml': 'setting: other\n' }, { parents: ['commit-1'] });
    await core.poll();
    const history = core.operator.held().find(({ kind }) => kind === 'history');
    expect(await send('/operations/approve', { digest: history?.digest })).toBe(403);
    expect(await send('/operations/accept-history', { commit: history?.commit })).toBe(403);
    expect(await send('/operations/accept-history', { commit: history?.commit }, 'administrator of a site')).toBe(403);
    expect(await send('/operations/accept-history', { commit: history?.commit }, 'administrator')).toBe(200);
  } finally {
    await core.stop();
  }
});

test('a client of a tenant makes no layer that records of others would use, and sees no file that cannot be read', async () => {
  const { core, ask } = await start(SHARED);
  try {
    core.source.commit({
      'types/location/site.yaml': null,
      'types/role/new.yaml': 'tenant: tb\nsetting: [\n',
      'types/role/wrong.yaml': 'tenant: tb\nname: 5\n',
      'clients/AB12.yaml': 'tenant: tb\nrole: wordwrongx\n',
    });
    await core.poll();
    const make = async (kind: string, type: string, name: string): Promise<number> =>
      (await ask(kind, 'POST', `/types/${type}`, { name, note: 'taken' })).status;
    expect(await make('administrator of a tenant', 'location', 'site')).toBe(422);
    expect(await make('administrator of a tenant', 'clientcert', 'inst2-s')).toBe(403);
    expect(await make('administrator of a tenant', 'clientcert', 'inst1-s')).toBe(409);
    expect(await make('administrator of a tenant', 'clientcert', 'inst0-s')).toBe(201);
    expect(await make('administrator of a tenant', 'location', 'elsewhere')).toBe(201);
    expect(await make('administrator', 'location', 'site')).toBe(201);
    const told = async (kind: string): Promise<readonly string[]> => {
      const { body } = await ask(kind, 'GET', '/operations/problems');
      return (body as { readonly problems: readonly { readonly file: string }[] }).problems.map(({ file }) => file);
    };
    const wrong = ['clients/AB12.yaml', 'types/role/new.yaml', 'types/role/wrong.yaml'];
    expect((await told('administrator of a tenant')).filter((file) => wrong.includes(file))).toEqual([]);
    expect(await told('administrator')).toEqual(expect.arrayContaining(wrong));
  } finally {
    await core.stop();
  }
});

test('a proxy of a tenant has the work of its tenant only, and few events among many are found one by one', async () => {
  const [own, other, shared] = SHARED.instances.map((instance) => ({ ...instance, tags: ['', 'x'] as const }));
  if (own === undefined || other === undefined || shared === undefined) throw new Error('there are three');
  const { core, ask } = await start({ ...SHARED, instances: [own, other, shared] });
  try {
    const work = async (kind: string): Promise<readonly string[]> => {
      const { body } = await ask(kind, 'GET', '/agent/actions?wait=0');
      return (body as { actions: readonly { resource: string }[] }).actions.map(({ resource }) => resource).sort();
    };
    expect(await work('proxy of a tenant at a site')).toEqual(['inst0-m']);
    expect(await work('proxy of a site')).toEqual(['inst0-m', 'inst1-m', 'inst2-m']);
    const next = async (after: number) => {
      const { body } = await ask('client of a node', 'GET', `/operations/events?limit=1&after=${after}`);
      return (body as { readonly events: readonly { readonly id: number; readonly resource: string }[] }).events[0];
    };
    const all = await core.ledger.listEvents({ after: 0, limit: 1_000 });
    const last = all.events.at(-1)?.event.id ?? 0;
    for (let count = 0; count < 60; count += 1)
      await ask('administrator', 'POST', '/operations/suspend', { instance: 'inst0' });
    await ask('administrator', 'POST', '/operations/resume', { instance: 'inst0' });
    await ask('administrator', 'POST', '/operations/check', { resource: 'inst0-s' });
    expect(await next(last)).toMatchObject({ resource: 'inst0-s' });
    const idsOf = async (kind: string, query: string): Promise<readonly number[]> => {
      const { body } = await ask(kind, 'GET', `/operations/events?${query}`);
      return (body as { readonly events: readonly { readonly id: number }[] }).events.map(({ id }) => id);
    };
    // The newest before an id are the end of all of them, for a limited client and for one server too.
    for (const [kind, query] of [
      ['client of a node', ''],
      ['administrator', '&resource=inst0-s'],
      ['administrator', '&instance=inst1'],
    ] as const) {
      const all = await idsOf(kind, `limit=1000${query}`);
      expect(all.length).toBeGreaterThan(2);
      expect(await idsOf(kind, `limit=2&before=${Number.MAX_SAFE_INTEGER}${query}`)).toEqual(all.slice(-2));
      expect(await idsOf(kind, `limit=1&before=${all.at(-1)}${query}`)).toEqual(all.slice(-2, -1));
    }
    expect(await idsOf('client of a node', 'resource=inst1-m')).toEqual([]);
  } finally {
    await core.stop();
  }
});
