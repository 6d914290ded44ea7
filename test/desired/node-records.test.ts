// All nodes of one moment, found in steps.
import { expect, it } from 'vitest';
import { EMPTY_BASELINE } from '../../src/desired/desired-state.ts';
import { nodesAtMoment } from '../../src/desired/node-records.ts';
import type { NodeRow, ServerRow } from '../../src/model/rows.ts';

const SERVERS = 3_000;

it('looks at a hundred rows a step at most', () => {
  let looks = 0;
  // No commit wants them: each has the record that it had.
  const row = {
    get lastRecord() {
      looks += 1;
      return {};
    },
  } as ServerRow;
  const servers = new Map(Array.from({ length: SERVERS }, (_, number) => [`web-${number}`, row]));
  const tables = { server: servers, node: new Map<string, NodeRow>() };
  const steps = nodesAtMoment({
    desired: EMPTY_BASELINE,
    rows: { list: (kind: 'server' | 'node') => tables[kind] as never },
  });
  let most = 0;
  for (;;) {
    const before = looks;
    const step = steps.next();
    most = Math.max(most, looks - before);
    if (step.done !== true) continue;
    expect(step.value).toHaveLength(SERVERS);
    break;
  }
  expect(looks).toBeGreaterThan(SERVERS);
  // A node that no commit wants is asked twice for its record.
  expect(most).toBeLessThanOrEqual(200);
});
