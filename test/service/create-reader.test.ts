import { describe, expect, it } from 'vitest';
import { pausing } from '../support/pausing.ts';
import { open, PROXY, refusal, Service, SHOP } from './service.ts';

describe('before the first good commit', () => {
  const { reader } = new Service();

  it.each<[string, () => unknown]>([
    ['an instance', () => reader.instance('shop')],
    ['an object', () => reader.object('role', 'web')],
    ['all records', () => reader.nodes()],
    ['the tree', () => reader.tree()],
  ])('%s is not ready', (_what, question) => {
    expect(refusal(question)).toMatch(/^not_ready: No good commit/);
  });
});

describe('an instance', () => {
  it('shows an unwanted server until it is gone', async () => {
    const service = await open();
    await service.made('web-1', 'web-2');
    await service.commit({ [SHOP]: 'stackTemplate: web\nparameters: { count: "1" }\n' });
    expect(service.reader.statusFull('shop').web).toEqual({
      'web-1': { state: 'done' },
      'web-2': { state: 'marked for delete' },
    });
    expect(service.reader.status('shop')).toBe('In progress');
    await service.change('web-2', null);
    expect(service.reader.statusFull('shop').web).toEqual({ 'web-1': { state: 'done' } });
  });

  it('that is new and invalid is listed with its readable fields', async () => {
    const service = await open({
      'stacks/instances/new.yaml': 'stackTemplate: wbe\n',
      'stacks/instances/odd.yaml': 'stackTemplate: [\n',
    });
    expect(service.reader.instances().map(({ name }) => name)).toEqual(['new', 'odd', 'shop']);
    expect(service.reader.instance('new').body).toMatchObject({ stackTemplate: 'wbe', resources: {} });
    expect(service.reader.instance('odd').body).toMatchObject({ name: 'odd', stackTemplate: '', resources: {} });
    expect([service.reader.status('new'), service.reader.status('odd')]).toEqual(['Invalid', 'Invalid']);
    expect([...service.reader.objects('stack-instance')].map(({ name }) => name)).toEqual(['new', 'odd', 'shop']);
  });

  it('that is unwanted is readable until its servers are gone', async () => {
    const service = await open({ 'stacks/instances/other.yaml': 'stackTemplate: web\nparameters: { count: "0" }\n' });
    await service.made('web-1', 'web-2');
    const before = service.reader.instance('shop');
    await service.commit({ [SHOP]: null });
    expect(service.reader.status('shop')).toBe('Marked for delete');
    expect(service.reader.instance('shop')).toMatchObject({
      oid: before.oid,
      body: {
        description: 'The shop',
        resources: { web: { 'web-1': { state: 'marked for delete' }, 'web-2': { state: 'marked for delete' } } },
      },
    });
    await service.change('web-1', null);
    await service.change('web-2', null);
    await service.ledger.commit([
      { kind: 'terminating', name: 'shop', value: null, expected: service.ledger.read('terminating', 'shop') },
    ]);
    expect(refusal(() => service.reader.instance('shop'))).toMatch(/^not_found/);
    expect(service.reader.instances().map(({ name }) => name)).toEqual(['other']);
  });

  it('with the name of a server is not found, and names the instance', async () => {
    const { reader } = await open();
    expect(refusal(() => reader.status('web-1'))).toBe(
      'not_found: There is no stack instance "web-1"; it is a server of the instance "shop"',
    );
    expect(refusal(() => reader.instance('__proto__'))).toMatch(/^not_found/);
  });
});

describe('a template', () => {
  it('is its last valid version while its newest is invalid', async () => {
    const service = await open();
    const before = service.reader.template('web');
    await service.commit({ 'stacks/templates/web.yaml': 'resources: 7\n' });
    expect(service.reader.template('web')).toEqual(before);
    await service.commit({ 'stacks/templates/new.yaml': 'resources: 7\n' });
    expect(refusal(() => service.reader.template('new'))).toMatch(/^not_found/);
  });
});

describe('clients', () => {
  it('are found in any spelling of their serial', async () => {
    const { reader } = await open();
    for (const spelling of ['B2', 'b2', '0xb2', '00:B2']) {
      expect(reader.client(spelling).body.serial).toBe('B2');
    }
    expect(refusal(() => reader.client('FF'))).toBe('not_found: There is no client "FF"');
    expect(refusal(() => reader.client('no serial'))).toBe('not_found: There is no client "no serial"');
  });

  it('that are proxies only see themselves', async () => {
    const reader = (await open()).reader.as(PROXY);
    expect(reader.clients(undefined).map(({ serial }) => serial)).toEqual(['B2']);
    expect(reader.clients('administrator')).toEqual([]);
    expect(reader.client('b2').body.serial).toBe('B2');
    expect(refusal(() => reader.client('A1'))).toMatch(/^not_allowed/);
    expect(refusal(() => reader.client('FF'))).toMatch(/^not_allowed/);
  });
});

it('the reader takes the status of a new instance from its rows during a large commit', async () => {
  const seen: [status: string, indexed: number][] = [];
  const look = (): void => {
    seen.push([service.reader.status('zoo'), service.ledger.index.serversOf('zoo').length]);
  };
  const service = await open(
    {},
    pausing(() => {
      if (service.reader.instances().some(({ name }) => name === 'zoo')) look();
    }),
  );
  await service.commit({
    [SHOP]: 'stackTemplate: web\nparameters: { count: "150" }\n',
    'stacks/templates/zoo.yaml': 'resources: { zoo: { type: Platform::Server, properties: { name: zoo-1 } } }\n',
    'stacks/instances/zoo.yaml': 'stackTemplate: zoo\n',
  });
  expect(seen).toContainEqual([expect.anything(), 0]);
  expect(new Set(seen.map(([status]) => status))).toEqual(new Set(['In progress']));
});
