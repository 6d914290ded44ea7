// Rows for tests of what keeps or reads them.
import type { Change, FollowedPlace, HeadRow, NodeRow, ServerRow } from '../../src/model/rows.ts';

/** What is followed. */
export const PLACE: FollowedPlace = { url: '/srv/stacks.git', branch: 'main', directory: '.' };

export function headRow(commit: string): HeadRow {
  return { commit, time: '2026-11-20T10:13:56Z', place: PLACE };
}

/** A row that holds any text. */
export function textRow(text: string): NodeRow {
  return { oid: text, updated: '2026-11-20T10:13:56Z' };
}

/** A server that waits to be created, with some fields replaced. */
export function serverRow(fields: Partial<ServerRow> = {}): ServerRow {
  return {
    instance: 'shop',
    key: 'web',
    index: '1',
    policy: { maxUnavailable: '1', pauseSeconds: 0, drift: null, deletion: 'delete', protected: false, adopt: false },
    state: 'pending',
    reason: null,
    since: '2026-11-20T10:13:56.000Z',
    commit: 'a'.repeat(40),
    generation: 1,
    incarnation: 0,
    wanted: {
      kind: 'Platform::Server',
      properties: { name: 'web-1', peers: ['web-1', 'web-2'] },
      layers: { shape: { cpus: 2 } },
      configurationOnly: [],
      dependsOn: [],
      lists: ['web-2'],
    },
    applied: null,
    approved: false,
    adopting: false,
    checked: false,
    mayExist: false,
    action: null,
    dirty: false,
    replacing: false,
    attempt: 0,
    gaveUp: false,
    due: null,
    provider: null,
    outputs: {},
    updated: '2026-11-20T10:13:56Z',
    lastRecord: null,
    ...fields,
  };
}

/** The change that writes a text under a name, where nothing or `expected` stood before. */
export function writeText(name: string, text: string | null, expected?: NodeRow): Change {
  return { kind: 'node', name, value: text === null ? null : textRow(text), expected };
}
