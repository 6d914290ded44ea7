import { describe, expect, onTestFinished, test } from 'vitest';
import { Metrics } from '../../src/base/metrics.ts';
import type { Change, ServerRow } from '../../src/model/rows.ts';
import { countDrift } from '../../src/service/progress/measure.ts';
import { serverRow } from '../support/rows.ts';

const [EARLIER, LATER] = ['2026-11-20T10:00:00.000Z', '2026-11-20T11:00:00.000Z'];
const done = serverRow({ state: 'done' });

describe('countDrift counts', () => {
  test.each<
    readonly [what: string, before: ServerRow | undefined, after: ServerRow | null, found: number, heals: number]
  >([
    ['a check has found a difference', done, { ...done, observed: { size: 'large' } }, 1, 0],
    ['a check has found the server missing', done, { ...done, observed: null }, 1, 0],
    ['no known drift', { ...done, observed: null }, { ...done, observed: null }, 0, 0],
    ['no end of drift', { ...done, observed: null }, done, 0, 0],
    ['a correction', done, { ...done, observed: { size: 'l' }, healing: { size: [LATER] } }, 1, 1],
    [
      'another finding',
      { ...done, healing: { size: [EARLIER] } },
      { ...done, healing: { size: [EARLIER, LATER] } },
      0,
      1,
    ],
    [
      'old ones are dropped',
      { ...done, healing: { size: [EARLIER, LATER] } },
      { ...done, healing: { size: [LATER] } },
      0,
      0,
    ],
    ['one for another', { ...done, healing: { size: [EARLIER] } }, { ...done, healing: { role: [LATER] } }, 0, 1],
    ['it is new', undefined, { ...done, observed: null, healing: { '': [LATER] } }, 0, 0],
    ['it is removed', { ...done, observed: null }, null, 0, 0],
  ])('%s', async (_what, expected, value, found, heals) => {
    const metrics = new Metrics();
    onTestFinished(() => metrics.stop());
    countDrift(metrics, { kind: 'server', name: 'shop-web', expected, value } as Change);
    countDrift(metrics, { kind: 'node', name: 'shop-web', expected: undefined, value: null });
    const text = await metrics.text();
    expect(text).toContain(`\ntreeline_drift_found_total ${found}\n`);
    expect(text).toContain(`\ntreeline_drift_heals_total ${heals}\n`);
  });
});
