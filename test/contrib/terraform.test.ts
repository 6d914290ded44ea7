// contrib/providers/terraform with the real program, and what it reads out of a plan. test/long/terraform.long.ts has what
// kills, edits by hand and changed modules do to it. Skipped where terraform is not installed.
import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { observedIn, outputsIn } from '../../contrib/providers/terraform/read-plan.mjs';
import { createRig, SMALL, TERRAFORM } from './terraform-rig.ts';

describe.skipIf(TERRAFORM === undefined)('the provider terraform (skipped if terraform is not installed)', () => {
  it('creates, checks, updates in place and deletes; every call may be repeated', async () => {
    const { call, serverFolder, logOf } = createRig();
    expect(await call('check', 'web-1')).toMatchObject({ outcome: 'absent' });
    const created = await call('create', 'web-1', { properties: SMALL });
    expect(created).toMatchObject({ outcome: 'done', outputs: { id: expect.any(String), ports: ['80', '443'] } });
    expect(Object.keys(created.outputs)).toEqual(['id', 'ports']);
    expect(await call('create', 'web-1', { properties: SMALL })).toEqual(created);
    expect(logOf('web-1')).toEqual(['begin']);
    expect(await call('check', 'web-1')).toMatchObject({ outcome: 'done', observed: SMALL, outputs: created.outputs });

    const changed = { ...SMALL, motd: 'good day' };
    expect(await call('update', 'web-1', { properties: changed })).toEqual({ ...created, observed: changed });
    expect(await call('check', 'web-1')).toMatchObject({ outcome: 'done', observed: changed });

    expect(await call('delete', 'web-1')).toMatchObject({ outcome: 'done' });
    for (const operation of ['delete', 'check', 'update']) {
      expect(await call(operation, 'web-1', { properties: changed })).toMatchObject({ outcome: 'absent' });
    }
    expect(logOf('web-1')).toEqual(['begin', 'destroyed']);
    expect(existsSync(serverFolder('web-1'))).toBe(false);
  });
});

describe('a refresh-only plan', () => {
  const facts = { module: 'small', copy: '', wanted: SMALL, applied: SMALL };
  const drift = (actions: readonly string[], before: object, after: object | null): object => ({
    resource_drift: [{ address: 'cloud_server.one', mode: 'managed', change: { actions, before, after } }],
  });
  const outside = (what: string): object => ({ ...SMALL, shape: `small (changed outside: cloud_server.one${what})` });

  it.each<[string, object, object]>([
    ['without drift gives the applied properties', {}, SMALL],
    ['shows an attribute at its property', drift(['update'], { disk: 10 }, { disk: 12 }), { ...SMALL, disk: '12' }],
    ['shows another attribute at the shape', drift(['update'], { tags: ['a'] }, { tags: ['b'] }), outside('.tags')],
    ['shows a missing resource at the shape', drift(['delete'], {}, null), outside(' is gone')],
  ])('%s', (_, plan, observed) => {
    expect(observedIn(plan, facts).observed).toEqual(observed);
  });

  it('reports outputs that a record can have, and none that is sensitive', () => {
    const outputs = {
      address: { value: '10.0.0.1' },
      count: { value: 2 },
      list: { value: ['a'] },
      map: { value: { a: 'b' } },
      nothing: { value: null },
      password: { value: 'x', sensitive: true },
      observed: { value: {} },
    };
    expect(outputsIn({ planned_values: { outputs } })).toEqual({ address: '10.0.0.1', count: 2, list: ['a'] });
  });
});
