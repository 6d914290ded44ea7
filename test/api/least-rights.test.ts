// Asks every route as every kind of client, over the real application, in an estate with tenants and sites, and compares the answers
// with the rules of docs/rest.md, least rights. Every value that is hidden has a word of its own, which no answer may contain. Names of
// hidden objects may be in texts only.
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, request as send } from 'node:http';
import { text as readText } from 'node:stream/consumers';
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
import { listenInTest } from '../support/listen-in-test.ts';
import { ROUTES } from '../support/route-table.ts';
import { CONTROLLER } from '../support/sample-operator.ts';

/** What a client sees: names of nodes with a record, and indexes of instances, roles and kinds. */
interface Sight {
  readonly records: string;
  readonly instances: string;
  readonly roles: string;
  readonly clients: string;
  /** Left out: it sees no locations and templates. */
  readonly isWide?: true;
}
type Kind = readonly [client: Partial<Client> & Pick<Client, 'role'>, sight: Sight];

const EVERY_RECORD = 'inst0-s inst0-m inst1-s inst1-m inst3-s inst3-m inst4-s inst4-m node0 node1';
const AT_X = { records: 'inst0-s inst1-s inst3-s inst3-m inst4-s inst4-m node0', instances: '3 4', roles: '' };
const OF_NODE = { records: 'inst0-s', instances: '', roles: '' };
const WIDE = { isWide: true } as const;

/** What each may do with what it sees is in rights-matrix.test.ts. The first is there so that no other is the last administrator. */
const KINDS: Readonly<Record<string, Kind>> = {
  administrator: [
    { role: 'administrator' },
    { records: EVERY_RECORD, instances: '0 1 2 3 4', roles: '0 1 2', clients: '0 1 2 3 4 5 6 7 8 9 10', ...WIDE },
  ],
  'administrator of a tenant': [
    { role: 'administrator', tenant: 'ta' },
    {
      records: 'inst0-s inst0-m inst3-s inst3-m inst4-s inst4-m node0 node1',
      instances: '0 2 3 4',
      roles: '0 2',
      clients: '0 1 2 4 5 6 7 8 9 10',
      ...WIDE,
    },
  ],
  'administrator of a site': [
    { role: 'administrator', reads: 'site', tags: ['x'] },
    { ...AT_X, clients: '2 5 6 8' },
  ],
  'automation of a tenant': [
    { role: 'automation-endpoint', tenant: 'tb' },
    {
      records: 'inst1-s inst1-m inst4-s inst4-m node1',
      instances: '1 2 4',
      roles: '0 1',
      clients: '0 2 3 4 5 6 7 9',
      ...WIDE,
    },
  ],
  'automation of a site': [
    { role: 'automation-endpoint', reads: 'site', tags: ['y'] },
    { records: 'inst0-m', instances: '', roles: '', clients: '4 8' },
  ],
  proxy: [
    { role: 'proxy', tags: ['x'] },
    { records: EVERY_RECORD, instances: '0 1 2 3 4', roles: '0 1 2', clients: '5', ...WIDE },
  ],
  'proxy of a site': [
    { role: 'proxy', reads: 'site', tags: ['x'] },
    { ...AT_X, clients: '6' },
  ],
  'proxy of servers without tags': [
    { role: 'proxy', reads: 'site' },
    { records: 'inst1-m node1', instances: '', roles: '', clients: '7' },
  ],
  'proxy of a tenant at a site': [
    { role: 'proxy', reads: 'site', tags: ['x', 'y'], tenant: 'ta' },
    { records: 'inst0-s inst0-m inst3-s inst3-m inst4-s inst4-m node0', instances: '0 3 4', roles: '', clients: '8' },
  ],
  'client of a node': [
    { role: 'proxy', node: 'inst0-s' },
    { ...OF_NODE, clients: '9' },
  ],
  'client of a node of a tenant': [
    { role: 'proxy', node: 'inst0-s', tenant: 'ta' },
    { ...OF_NODE, clients: '10' },
  ],
};

interface Instance {
  readonly tenant: string;
  /** The tags of its two servers. */
  readonly tags: readonly [string, string];
  /** The index of the role that its servers select. */
  readonly role: number;
  readonly isRemoved?: true;
}

interface Estate {
  readonly instances: readonly Instance[];
  /** Tenants of the roles that servers select, and of clientcerts that no stack makes. */
  readonly roles: readonly string[];
  readonly nodes: readonly { readonly tenant: string; readonly tag: string }[];
}

/** Has each kind of what may be hidden. */
const RICH: Estate = {
  instances: [
    { tenant: 'ta', tags: ['x', 'y'], role: 0 },
    // Its removal is held.
    { tenant: 'tb', tags: ['x', ''], role: 1, isRemoved: true },
    // It uses a role of another tenant: it is invalid, and makes no servers.
    { tenant: '', tags: ['y', 'y'], role: 2 },
    { tenant: 'ta', tags: ['x', 'x'], role: 2 },
    { tenant: '', tags: ['x', 'x'], role: 0 },
  ],
  roles: ['', 'tb', 'ta'],
  nodes: [
    { tenant: 'ta', tag: 'x' },
    { tenant: '', tag: '' },
  ],
};

/** One instance of each tenant, and one of none. */
const SHARED: Estate = {
  instances: ['ta', 'tb', ''].map((tenant, role) => ({ tenant, tags: ['', 'x'], role })),
  roles: ['ta', 'tb', ''],
  nodes: [],
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

const TAGS = ['', 'x', 'y'];

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
    const lines = Object.entries(KINDS[kind]?.[0] ?? {}).map(([field, value]) => `${field}: ${JSON.stringify(value)}`);
    files[`clients/${serial}.yaml`] = `description: wordclient${serial}x\n${lines.join('\n')}\n`;
  }
  return files;
}

const SERVERS = RICH.instances.flatMap((_, index) => [`inst${index}-s`, `inst${index}-m`]);
const NODES = [...SERVERS, 'node0', 'node1'];
const INSTANCES = RICH.instances.map((_, index) => `inst${index}`);
const ROLES = RICH.roles.map((_, index) => `role${index}`);
const SITES = TAGS.map((tag) => `site${tag}`);

/** What a kind of client sees, by name, and what no answer to it may contain. */
interface View {
  readonly kind: string;
  readonly client: Kind[0];
  /** It sees everything but other clients. */
  readonly isWhole: boolean;
  readonly isWide: boolean;
  sees(name: string): boolean;
  /** A client of a node sees its record, and no server. */
  seesServer(name: string): boolean;
  seesClient(kind: string): boolean;
  /** Words of values that no answer may contain, and names that may be in texts only. */
  readonly words: readonly string[];
  readonly names: readonly string[];
}

function viewOf(kind: string): View {
  const [client, { records, instances, roles, clients, isWide = false }] = KINDS[kind] as Kind;
  const numbered = (what: string, indexes: string): string[] => indexes.split(' ').map((index) => `${what}${index}`);
  const seen = new Set([...records.split(' '), ...numbered('inst', instances), ...numbered('role', roles)]);
  const sees = (name: string): boolean => seen.has(name);
  const kinds = Object.keys(KINDS);
  const seesClient = (other: string): boolean => clients.split(' ').includes(String(kinds.indexOf(other)));
  const drawn = new Set(SERVERS.filter(sees).flatMap(drawnBy));
  // A document that the client sees names the role that it selects.
  const named = RICH.instances.flatMap(({ role }, index) => (sees(`inst${index}`) ? `role${role}` : []));
  const own = kinds.flatMap((other) => (seesClient(other) ? (KINDS[other]?.[0].node ?? []) : []));
  const hidden = (names: readonly string[]): readonly string[] => names.filter((name) => !sees(name));
  const isEmpty = (name: string): boolean => !sees(`${name}-s`) && !sees(`${name}-m`);
  const hiddenRoles = hidden(ROLES).filter((name) => !drawn.has(name));
  const hiddenSites = isWide ? [] : SITES.filter((name) => !drawn.has(name));
  const words = [
    ...hidden(SERVERS).map((name) => name.replace(/inst(.)-(.)/, 'word$1x$2')),
    ...hidden(INSTANCES).map((name) => name.replace(/inst(.)/, 'worddoc$1x')),
    ...[...hidden(['node0', 'node1']), ...hiddenRoles, ...hiddenSites].map((name) => `word${name}x`),
    ...hiddenSites.map((name) => `${name.replace('site', 'wordplace')}x`),
    ...[...credentials].flatMap(([other, { serial }]) => (seesClient(other) ? [] : [`wordclient${serial}x`, serial])),
  ];
  const names = [
    ...hidden(NODES),
    ...hidden(INSTANCES).filter(isEmpty),
    ...hiddenRoles.filter((one) => !named.includes(one)),
  ];
  const seesServer = (name: string): boolean => client.node === undefined && sees(name);
  return {
    kind,
    client,
    isWide,
    isWhole: isWide && client.tenant === undefined,
    sees,
    seesServer,
    seesClient,
    words,
    names: names.filter((name) => !own.includes(name)),
  };
}

/** Returns the role and the site whose values are in the record of a server. */
function drawnBy(server: string): readonly string[] {
  const { role, tags } = RICH.instances[Number(server[4])] as Instance;
  return [`role${role}`, `site${tags[server.endsWith('s') ? 0 : 1]}`];
}

interface Reply {
  readonly status: number;
  readonly text: string;
  readonly head: string;
  readonly body: unknown;
}

interface Controller {
  readonly core: Core;
  ask(kind: string, method: string, path: string, body?: object, head?: Record<string, string>): Promise<Reply>;
}

/** Starts a controller that ends with the running test. */
async function start(estate: Estate): Promise<Controller> {
  const core = new Core({
    hasProxied: true,
    budget: { percent: 0, least: 0, most: 0 },
    entries: [{ name: 'lab', match: { kind: null, properties: { location: 'site' } } }],
  });
  onTestFinished(() => core.stop());
  core.source.commit(filesOf(estate));
  await core.poll();
  const removed = estate.instances.flatMap(({ isRemoved }, index) =>
    isRemoved ? `stacks/instances/inst${index}.yaml` : [],
  );
  if (removed.length > 0) {
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
    reader,
    operator,
    explainer,
    agent,
    writer,
    readAnswer: answerIn,
    clock,
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

/** Reads by name: a path, the names that there are, and whether the client may. */
const NAMED_READS: readonly (readonly [
  path: string,
  names: readonly string[],
  sees: (view: View, name: string) => boolean,
])[] = [
  ...['', '/status', '/status/full', '/why', '/events'].map((rest) => {
    return [`/stacks/instances/NAME${rest}`, INSTANCES, seesName] as const;
  }),
  ['/types/stack-instance/NAME', INSTANCES, seesName],
  ['/operations/explain/NAME', NODES, seesName],
  ['/operations/explain/NAME/note', NODES, seesName],
  ['/types/clientcert/NAME', NODES, ({ seesServer }, name) => seesServer(name)],
  ['/operations/servers/NAME', SERVERS, ({ seesServer }, name) => seesServer(name)],
  ['/types/role/NAME', ROLES, seesName],
  ['/types/all/NAME', ROLES, () => false],
  ['/types/location/NAME', SITES, ({ isWide }) => isWide],
  ['/stacks/templates/NAME', ['t'], ({ isWide }) => isWide],
];

function seesName({ sees }: View, name: string): boolean {
  return sees(name);
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

function requireNone(what: string, { text, head, body }: Reply, { words, names }: View, path: string): void {
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

test('the table has every read', () => {
  const others = ['/hiera/a', '/hiera/a/b', '/clients/A', '/operations/commits/0000000'];
  const paths = [...LISTS, ...NAMED_READS.map(([path]) => path), ...others];
  const unasked = READS.filter(([route]) => {
    const pattern = route.slice(4).replace(/:\w+/g, '[^/?]+');
    return !paths.some((path) => new RegExp(`^${pattern}(\\?.*)?$`).test(path));
  });
  expect(unasked).toEqual([]);
});

test('each client gets only what it may see', async () => {
  const { ask } = await start(RICH);
  const views = Object.keys(KINDS).map(viewOf);
  for (const view of views) await checkReads(view, ask);
  for (const view of views) if (!view.isWhole) await checkAbsence(view, ask);
  for (const view of views) await checkWrites(view, ask);
});

async function checkReads(view: View, ask: Controller['ask']): Promise<void> {
  const { kind, client, isWhole, sees, seesServer, seesClient } = view;
  const read = async (path: string, status?: number): Promise<Reply> => {
    const reply = await ask(kind, 'GET', path);
    if (status !== undefined) expect({ kind, path, status: reply.status }).toEqual({ kind, path, status });
    requireNone(`${kind} ${path}`, reply, view, path);
    return reply;
  };
  for (const [path, names, seesOne] of NAMED_READS) {
    const absent = withoutName((await ask(kind, 'GET', path.replace('NAME', 'nothing'))).text, 'nothing');
    for (const name of names) {
      const isSeen = seesOne(view, name);
      const { text } = await read(path.replace('NAME', name), isSeen ? 200 : 404);
      if (!isSeen && !isWhole) expect(withoutName(text, name)).toEqual(absent);
    }
  }
  for (const name of [...NODES, 'nothing']) {
    // The one node of a client is no foreign one while it does not exist.
    const status = sees(name) ? 200 : isWhole || name === client.node ? 404 : 403;
    for (const path of [`/hiera/${name}/`, `/hiera/${name}/note`, `/hiera/${name}/?info=true`])
      await read(path, status);
  }
  for (const path of LISTS) await read(path);
  const bodyOf = async (path: string): Promise<Lists> => (await ask(kind, 'GET', path)).body as Lists;
  const { commits } = await bodyOf('/operations/commits');
  expect({ kind, hasCommits: commits.length > 0 }).toEqual({ kind, hasCommits: isWhole && client.role !== 'proxy' });
  for (const { commit } of commits) await read(`/operations/commits/${commit}`);
  expect(Object.keys(await bodyOf('/hiera/all'))).toEqual(NODES.filter(sees).sort());
  const { total } = await bodyOf('/operations/servers');
  expect({ kind, total }).toEqual({ kind, total: SERVERS.filter(seesServer).length });
  const instances = Object.values(await bodyOf('/stacks/instances')).map((one) => (one as { name: string }).name);
  expect({ kind, instances }).toEqual({ kind, instances: INSTANCES.filter(sees) });
  const serials = [...credentials].filter(([other]) => seesClient(other)).map(([, { serial }]) => serial);
  for (const clients of [(await bodyOf('/clients')).result, (await bodyOf('/operations/clients')).clients]) {
    expect({ kind, serials: clients.map(({ serial }) => serial) }).toEqual({ kind, serials: serials.sort() });
  }
}

/** The parts of several bodies. */
interface Lists {
  readonly commits: readonly { readonly commit: string }[];
  readonly total: number;
  readonly result: readonly { readonly serial: string }[];
  readonly clients: readonly { readonly serial: string }[];
}

function withoutName(text: string, name: string): string {
  return text.replace(new RegExp(`(?<![\\w-])${name}(?![\\w-])`, 'g'), 'NAME');
}

/** Requests that change something by name, with the names that the client does not see. */
interface Change {
  readonly method: string;
  readonly of: (name: string) => { readonly path: string; readonly body?: object };
  readonly hidden: readonly string[];
  readonly absent?: string;
}

function* changesOf({ sees, seesServer, seesClient, isWide }: View): Generator<Change> {
  const instances = INSTANCES.filter((name) => !sees(name));
  const nodes = NODES.filter((name) => !seesServer(name));
  const servers = nodes.filter((name) => SERVERS.includes(name));
  const clients = [...credentials].flatMap(([kind, { serial }]) => (seesClient(kind) ? [] : [serial]));
  const removals: readonly (readonly [path: string, hidden: readonly string[], absent?: string])[] = [
    ['/stacks/instances/', instances],
    ['/types/stack-instance/', instances],
    ['/types/role/', ROLES.filter((name) => !sees(name))],
    ['/types/clientcert/', nodes],
    ['/types/stack-template/', isWide ? [] : ['t']],
    ['/clients/', clients, 'ABCDEF12'],
    ['/clients?serial=', clients, 'ABCDEF12'],
  ];
  for (const [path, hidden, absent = 'nothing'] of removals) {
    yield { method: 'DELETE', of: (name) => ({ path: `${path}${name}` }), hidden, absent };
  }
  const until = new Date(Date.now() + 86_400_000).toISOString();
  const operation = (operation: string, field: string, hidden: readonly string[]): Change => {
    const more = operation === 'acknowledge' ? { until } : {};
    const of = (name: string) => ({ path: `/operations/${operation}`, body: { [field]: name, ...more } });
    return { method: 'POST', of, hidden };
  };
  for (const name of ['suspend', 'resume', 'acknowledge', 'retry', 'adopt', 'check'])
    yield operation(name, 'instance', instances);
  for (const name of ['retry', 'adopt', 'check', 'retain', 'replace'])
    yield operation(name, 'resource', [...servers, ...instances]);
}

/** The requests that make or replace something, which are refused before the object is looked at: for a version that there is not. */
function* replacementsOf({ sees }: View): Generator<Change> {
  const hidden = INSTANCES.filter((name) => !sees(name));
  for (const force of ['', '?force=true', '?force=true&dry_run=true']) {
    const of = (name: string) => ({ path: `/stacks/instances/${name}${force}`, body: { stackTemplate: 't' } });
    yield { method: 'POST', of, hidden };
  }
  const roles = ROLES.filter((name) => !sees(name));
  yield { method: 'POST', of: (name) => ({ path: '/types/role', body: { name } }), hidden: roles };
}

/** What a client does not see is answered as what there is not. */
async function checkAbsence(view: View, ask: Controller['ask']): Promise<void> {
  const { kind, client } = view;
  const versions = [{ 'if-match': '"a.b"' }, { 'if-match': '*' }];
  const compare = async (
    { method, of, hidden, absent = 'nothing' }: Change,
    head: Record<string, string>,
    query = '',
  ): Promise<void> => {
    const answered = async (name: string): Promise<object> => {
      const { path, body } = of(name);
      const dry = query === '' ? '' : `${path.includes('?') ? '&' : '?'}${query}`;
      const { status, text } = await ask(kind, method, `${path}${dry}`, body, head);
      return { status, text: withoutName(text, name) };
    };
    const expected = hidden.length === 0 ? undefined : await answered(absent);
    // Messages name the one node of a client.
    for (const name of hidden.filter((one) => one !== client.node)) {
      const request = [kind, method, of(name), head];
      expect({ request, ...(await answered(name)) }).toEqual({ request, ...expected });
    }
  };
  for (const change of changesOf(view)) {
    for (const head of [{}, ...(change.method === 'DELETE' ? versions : [])]) await compare(change, head);
    await compare(change, {}, 'dry_run=true');
  }
  for (const change of replacementsOf(view)) for (const head of versions) await compare(change, head);
}

/** What these do, others would read: they are asked only where they are refused. */
const LASTING = ['retain', 'replace', 'suspend', 'resume'];

/** An administrator writes and operates what it sees; of a tenant, only what is of that tenant. */
async function checkWrites(view: View, ask: Controller['ask']): Promise<void> {
  const { kind, client, sees, seesServer, seesClient } = view;
  const { role, node, tenant } = client;
  if (role !== 'administrator' || node !== undefined) return;
  const send = async (method: string, path: string, body?: object): Promise<number> => {
    const reply = await ask(kind, method, path, body);
    requireNone(`${kind} ${method} ${path}`, reply, view, `${path} ${JSON.stringify(body)}`);
    return reply.status;
  };
  /** Of what is hidden: 404, or 409 for what would be made over it. Of what is another's: 403. */
  const check = async (isSeen: boolean, of: string, ...request: Parameters<typeof send>): Promise<void> => {
    const [method, path] = request;
    const isWrite = !path.startsWith('/operations/');
    const isOwn = tenant === undefined || tenant === of;
    if (isSeen && isOwn && LASTING.some((one) => path.endsWith(one))) return;
    const wanted = isSeen ? (isOwn ? [] : [403]) : [isWrite && method === 'POST' ? 409 : 404];
    const status = await send(...request);
    const refused = (isSeen ? (isWrite ? [403] : [403, 404]) : [status]).filter((one) => one === status);
    expect({ kind, request, refused }).toEqual({ kind, request, refused: wanted });
  };
  const tenantOf = (of: string) => (of === '' ? {} : { tenant: of });
  for (const [index, { tenant: of, tags, role: selected, isRemoved }] of RICH.instances.entries()) {
    if (isRemoved) continue;
    const path = `/stacks/instances/inst${index}`;
    const parameters = { note: 'new', tag: tags[0], tag2: tags[1], role: `role${selected}` };
    await check(sees(`inst${index}`), of, 'DELETE', `${path}?dry_run=true`);
    const body = { stackTemplate: 't', parameters, ...tenantOf(of) };
    await check(sees(`inst${index}`), of, 'POST', `${path}?force=true`, body);
  }
  for (const [index, of] of RICH.roles.entries()) {
    const name = `role${index}`;
    await check(sees(name), of, 'DELETE', `/types/role/${name}`);
    await check(sees(name), of, 'POST', '/types/role', { name, setting: 'b', ...tenantOf(of) });
    if (tenant === undefined) continue;
    const parameters = { note: 'new', tag: '', tag2: '', role: name };
    const status = await send('POST', '/stacks/instances/fresh', { stackTemplate: 't', parameters });
    expect({ kind, of, status }).toEqual({ kind, of, status: sees(name) ? 201 : 400 });
  }
  for (const [other, { serial }] of credentials) {
    if (other === kind) continue;
    const of = KINDS[other]?.[0].tenant ?? '';
    await check(seesClient(other), of, 'POST', '/clients', { serial, description: 'other', ...tenantOf(of) });
  }
  const foreign = await send('POST', '/types/role', { name: 'brandnew', tenant: 'tz' });
  if (tenant !== undefined) expect({ kind, foreign }).toEqual({ kind, foreign: 403 });
  for (const resource of SERVERS) {
    const of = RICH.instances[Number(resource[4])]?.tenant ?? '';
    for (const operation of ['retry', 'adopt', 'check', 'retain', 'replace'])
      await check(seesServer(resource), of, 'POST', `/operations/${operation}`, { resource });
  }
  for (const [index, { tenant: of }] of RICH.instances.entries()) {
    const instance = `inst${index}`;
    for (const operation of ['suspend', 'retry', 'adopt', 'check', ...(sees(instance) ? ['resume'] : [])])
      await check(sees(instance), of, 'POST', `/operations/${operation}`, { instance });
  }
}

test('a client of a tenant acts only on objects of its tenant', async () => {
  const { core, ask } = await start(SHARED);
  const send = async (path: string, body: object, kind = 'administrator of a tenant'): Promise<number> =>
    (await ask(kind, 'POST', path, body)).status;
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
});

test('a client of a tenant creates no layer for other records, and sees no unreadable file', async () => {
  const { core, ask } = await start(SHARED);
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
});

test('a proxy of a tenant gets only work of its tenant', async () => {
  const { core, ask } = await start(SHARED);
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
});
