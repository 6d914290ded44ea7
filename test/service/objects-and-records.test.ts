import { describe, expect, it } from 'vitest';
import { putObjectDraft } from '../../src/service/write/drafts.ts';
import { open, refusal, SHOP } from './service.ts';

describe('typed objects', () => {
  it('of the type clientcert are hand-written ones and the servers of stacks, with their own keys', async () => {
    const { reader } = await open();
    expect([...reader.objects('clientcert')]).toEqual([
      { name: 'printer', type: 'clientcert', description: 'On the second floor', paper: 'a4' },
      { name: 'web-1', type: 'clientcert', description: 'web of shop', role: 'web', log_level: 'debug' },
      { name: 'web-2', type: 'clientcert', description: 'web of shop', role: 'web' },
    ]);
    expect(reader.object('clientcert', 'web-1').oid).toMatch(/^[0-9a-f]{40}$/);
    expect(reader.object('clientcert', 'web-2').oid).toBeNull();
  });

  it('of the type clientcert of a stack can be pinned without an effect', async () => {
    const service = await open({ 'types/clientcert/web-1.yaml': 'log_level: debug\nretired: null\n' });
    const desired = service.repository.commit({});
    for (const name of ['web-1', 'web-2', 'printer']) {
      const { body } = service.reader.object('clientcert', name);
      expect(putObjectDraft('clientcert', body).edits(desired)).toEqual([]);
      const [edit] = putObjectDraft('clientcert', { ...body, paper: 'a3', description: 'New' }).edits(desired);
      expect(edit?.text).toContain('description: New');
      expect(edit?.text).toContain('paper: a3');
      expect(edit?.text).not.toContain('role: web');
    }
  });

  it('of all types are sorted by type and name', async () => {
    const { reader } = await open();
    expect([...reader.objects('all')].map(({ type, name }) => `${type}/${name}`)).toEqual([
      'clientcert/printer',
      'clientcert/web-1',
      'clientcert/web-2',
      'common/global',
      'role/web',
      'stack-instance/shop',
      'stack-template/web',
    ]);
  });
});

describe('records', () => {
  it('have merged configuration, provider outputs and the time of the last change', async () => {
    const service = await open();
    await service.change('web-1', { outputs: { address: '10.0.0.1', port: 8080 } });
    const record = service.reader.record('web-1');
    expect(record).toMatchObject({
      log_level: 'debug',
      port: 8080,
      address: '10.0.0.1',
      role: 'web',
      name: 'web-1',
      type: 'clientcert',
      stackInstance: ['shop'],
      last_stack_update: '2026-11-20T10:01:00Z',
    });
    expect(service.reader.value('web-1', 'port')).toBe(8080);
    expect(service.reader.explainedValue('web-1', 'port')).toEqual(service.reader.explainedRecord('web-1').port);
    expect(service.reader.explainedValue('web-1', 'log_level')).toMatchObject({
      value: 'debug',
      type: 'clientcert',
      file: 'types/clientcert/web-1.yaml',
      line: 1,
      overrides: [{ type: 'common', value: 'info' }],
    });
  });

  it('exist for every node, plain or explained', async () => {
    const { reader } = await open();
    const nodes = reader.nodes();
    expect(nodes.map(({ name }) => name)).toEqual(['printer', 'web-1', 'web-2']);
    for (const node of nodes) {
      expect(node.record()).toEqual(reader.record(node.name));
      expect(node.explained()).toEqual(reader.explainedRecord(node.name));
    }
    expect(reader.record('printer')).toMatchObject({
      paper: 'a4',
      stackInstance: [],
      last_stack_update: '2026-11-20T10:01:00Z',
    });
  });

  it('are all of one version', async () => {
    const service = await open();
    await service.change('web-1', { outputs: { port: 8080 } });
    const finding = service.reader.nodes();
    await service.change('web-1', { outputs: { port: 9090 } });
    await service.commit({ [SHOP]: 'stackTemplate: web\nparameters: { count: "3" }\n' });
    const nodes = finding;
    expect(nodes.map(({ name }) => name)).toEqual(['printer', 'web-1', 'web-2']);
    expect(nodes[1]?.record()).toMatchObject({ port: 8080 });
    expect(service.reader.nodes().map(({ name }) => name)).toEqual(['printer', 'web-1', 'web-2', 'web-3']);
  });

  it('of an unwanted server stay unchanged', async () => {
    const service = await open();
    await service.made('web-1', 'web-2');
    const before = service.reader.explainedRecord('web-2');
    await service.commit({
      [SHOP]: 'stackTemplate: web\nparameters: { count: "1" }\n',
      'types/role/web.yaml': 'port: 443\n',
    });
    expect(service.reader.value('web-1', 'port')).toBe(443);
    expect(service.reader.explainedRecord('web-2')).toEqual(before);
    expect(service.reader.record('web-2')).toMatchObject({ port: 80, name: 'web-2' });
    expect(service.reader.value('web-2', 'port')).toBe(80);
    expect(refusal(() => service.reader.value('web-2', 'constructor'))).toMatch(/^not_found/);
    expect(service.reader.nodes().map(({ name }) => name)).toEqual(['printer', 'web-1', 'web-2']);
    await service.change('web-2', null);
    expect(refusal(() => service.reader.record('web-2'))).toMatch(/^not_found/);
  });
});
