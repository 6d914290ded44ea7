// Servers that wait for one another, for a slot of their group, for capacity or for a person: nobody waits for ever.
import { describe, expect, it } from 'vitest';
import type { Operation } from '../../src/model/state.ts';
import { answerOf } from './build.ts';
import { Core, type CoreOptions } from './core.ts';

const TREE = { 'tree.yaml': 'name: global\ntype: common\n', 'clients/A1.yaml': 'role: administrator\n' };
const MANY = { percent: 100, least: 100, most: 100 };

function template(name: string, resources: string): Record<string, string> {
  return { [`stacks/templates/${name}.yaml`]: `resources:\n${resources}` };
}

function instance(name: string, of: string): Record<string, string> {
  return { [`stacks/instances/${name}.yaml`]: `stackTemplate: ${of}\n` };
}

function server(key: string, properties: Readonly<Record<string, unknown>>): string {
  const lines = Object.entries({ name: key, ...properties }).map(
    ([name, value]) => `${name}: ${JSON.stringify(value)}`,
  );
  return `  ${key}: { type: "Platform::Server", properties: { ${lines.join(', ')} } }\n`;
}

async function coreOn(files: Readonly<Record<string, string>>, options: CoreOptions = {}): Promise<Core> {
  return await await Core.following({ ...TREE, ...files }, { budget: MANY, ...options });
}

/** Fails these operations on these servers. */
function failOn(core: Core, operation: Operation, ...servers: readonly string[]): void {
  core.provider.script = (call) =>
    call.operation === operation && servers.includes(call.resource)
      ? Promise.resolve(answerOf('failed', { message: 'bad image' }))
      : undefined;
}

async function passMinutes(core: Core, minutes: number): Promise<void> {
  for (let minute = 0; minute < minutes; minute += 1) await core.pass(60_000);
}

describe('servers in a cycle of waits, after --ignore-order,', () => {
  it('are deleted if each needs the other as applied', async () => {
    const files = template('t', server('a', { size: 'small', depends_on: 'b' }) + server('b', {}));
    const core = await coreOn({ ...files, ...instance('i', 't') });
    failOn(core, 'update', 'a');
    await core.follow(template('t', server('a', { size: 'large' }) + server('b', { depends_on: 'a' })));
    expect(core.states()).toEqual({ a: 'failed', b: 'done' });
    await core.follow({
      'stacks/instances/i.yaml': null,
      ...instance('other', 'u'),
      ...template('u', server('c', {})),
    });
    await passMinutes(core, 1);
    expect(core.states()).toEqual({ a: 'marked for delete', b: 'marked for delete', c: 'done' });
    expect(core.waitReason('b')).toBe('waits until a does not need it any more');
    expect(core.operator.attention()?.items.find(({ kind }) => kind === 'cycle')).toMatchObject({
      id: 'cycle:a',
      reason:
        'these servers wait for one another: a waits for b, which still needs it; b waits for a, which still needs it',
      action: 'treeline retry --resource a --ignore-order',
    });
    await core.operator.retry(core.order, { resource: 'a', ignoreOrder: true });
    await core.settle();
    expect(core.states()).toEqual({ c: 'done' });
    expect(core.calls('delete')).toEqual(['a', 'b']);
  });

  it('are updated if a slot of a group is part of the cycle', async () => {
    const files = (web: string, link: string): Record<string, string> => ({
      ...template('web', group('web', { version: web, depends_on: 'link-<<index>>' })),
      ...template('link', server('link-1', {}) + server('link-2', { version: link, depends_on: 'web-1' })),
    });
    const core = await coreOn(
      { ...files('1', '1'), ...instance('w', 'web'), ...instance('l', 'link') },
      { retry: { firstSeconds: 3_000, maxSeconds: 3_000 } },
    );
    expect(new Set(Object.values(core.states()))).toEqual(new Set(['done']));
    core.provider.script = ({ operation, resource }) =>
      operation === 'update' && resource === 'web-2' ? Promise.resolve(answerOf('retryable')) : undefined;
    await core.follow(files('2', '1'));
    expect(core.states()).toMatchObject({ 'web-1': 'done', 'web-2': 'retrying' });
    core.provider.script = () => undefined;
    await core.follow(files('3', '2'));
    // web-1 waits for its slot, web-2 (away) for link-2, link-2 for web-1.
    await passMinutes(core, 1);
    expect(core.states()).toMatchObject({ 'web-1': 'pending', 'web-2': 'pending', 'link-2': 'pending' });
    const [item] = core.operator.attention()?.items ?? [];
    expect(item).toMatchObject({ kind: 'cycle', action: 'treeline retry --resource web-1 --ignore-order' });
    await core.operator.retry(core.order, { resource: 'web-1', ignoreOrder: true });
    await core.settle();
    expect(new Set(Object.values(core.states()))).toEqual(new Set(['done']));
  });
});

/** A group of two that takes one away at a time. */
function group(key: string, properties: Readonly<Record<string, string>>): string {
  const lines = Object.entries({ name: `${key}-<<index>>`, ...properties }).map(
    ([name, value]) => `${name}: "${value}"`,
  );
  return `  ${key}:
    type: Platform::ResourceGroup
    properties: { count: "2", resource_def: { properties: { ${lines.join(', ')} } } }
`;
}
