// The last changes of files as explanations ask for them: each search once for a commit, and never a failure.
import { describe, expect, it } from 'vitest';
import { createFileHistory, type FileHistory } from '../../src/service/explain/file-history.ts';

const TIME = '2026-11-20T10:13:56Z';

/** A history that notes its searches: `old.yaml` is too old, `gone.yaml` is not there. */
function historyOf(): { readonly history: FileHistory; readonly searches: string[]; readonly release: () => void } {
  const searches: string[] = [];
  const released = Promise.withResolvers<void>();
  const history = createFileHistory(async (commit, paths, { timeoutMs }) => {
    searches.push(`${commit}: ${paths.join(' ')}`);
    expect(timeoutMs).toBe(2_000);
    await released.promise;
    if (commit === 'damaged') return undefined;
    const found = paths.filter((path) => path !== 'gone.yaml');
    return new Map(found.map((path) => [path, path === 'old.yaml' ? null : { oid: `${commit}~1`, time: TIME }]));
  });
  return { history, searches, release: () => released.resolve() };
}

describe('the last changes of files', () => {
  it('are commits with their times, or why there is none', async () => {
    const { history, release } = historyOf();
    release();
    expect(await history('c1', ['a.yaml', 'old.yaml', 'gone.yaml'])).toEqual({
      'a.yaml': { commit: 'c1~1', time: TIME, note: null },
      'old.yaml': { commit: null, time: null, note: 'not found within 2 s' },
      'gone.yaml': { commit: null, time: null, note: 'not in this commit' },
    });
    expect(await history('damaged', ['a.yaml'])).toEqual({
      'a.yaml': { commit: null, time: null, note: 'the history cannot be read now' },
    });
  });

  it('are searched once for each commit and file', async () => {
    const { history, searches, release } = historyOf();
    release();
    await history('c1', ['a.yaml']);
    await history('c1', ['a.yaml', 'b.yaml']);
    await history('c1', ['a.yaml', 'b.yaml']);
    await history('c2', ['a.yaml']);
    await history('c2', []);
    expect(searches).toEqual(['c1: a.yaml', 'c1: b.yaml', 'c2: a.yaml']);
  });
});
