// The last changes of files as explanations ask for them: never a failure.
import { describe, expect, it } from 'vitest';
import { createFileHistory, type FileHistory } from '../../src/service/explain/explainer.ts';

const TIME = '2026-11-20T10:13:56Z';

/** A history in which `old.yaml` is too old, and `gone.yaml` is not there. */
const history: FileHistory = createFileHistory(async (commit, paths, timeoutMs) => {
  expect(timeoutMs).toBe(2_000);
  if (commit === 'damaged') return undefined;
  const found = paths.filter((path) => path !== 'gone.yaml');
  return new Map(found.map((path) => [path, path === 'old.yaml' ? null : { oid: `${commit}~1`, time: TIME }]));
});

describe('the last change of a file', () => {
  it('is a commit with its time, or the reason why it is unknown', async () => {
    expect(await history('c1', ['a.yaml', 'old.yaml', 'gone.yaml'])).toEqual({
      'a.yaml': { commit: 'c1~1', time: TIME, note: null },
      'old.yaml': { commit: null, time: null, note: 'not found within 2 s' },
      'gone.yaml': { commit: null, time: null, note: 'not in this commit' },
    });
    expect(await history('damaged', ['a.yaml'])).toEqual({
      'a.yaml': { commit: null, time: null, note: 'the history cannot be read now' },
    });
  });
});
