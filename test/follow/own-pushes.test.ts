// Which client changed an instance with commits that were pushed here.
import { expect, it } from 'vitest';
import { OwnPushes } from '../../src/follow/own-pushes.ts';
import type { Commit } from '../../src/repository/source.ts';

const WRITTEN = { c1: ['A1', 'shop'], c2: ['B2', 'shop'], c3: ['B2', 'mail'] } as const;

function clientOf(instance: string, ...newestFirst: readonly string[]): string | null {
  const pushes = new OwnPushes();
  const writings = Object.entries(WRITTEN).map(([oid, [client, name]]) => {
    return [oid, { client, address: `stack-instance/${name}` }] as const;
  });
  pushes.add(new Map(writings));
  return pushes.findClients(newestFirst.map((oid) => ({ oid }) as Commit))(instance);
}

it.each<[what: string, instance: string, commits: readonly string[], client: string | null]>([
  ['the client that wrote its file', 'mail', ['c3', 'c1'], 'B2'],
  ['the client that wrote its file last', 'shop', ['c2', 'c1'], 'B2'],
  ['the client that wrote all commits', 'other', ['c3', 'c2'], 'B2'],
  ['unknown if several clients wrote other files', 'other', ['c2', 'c1'], null],
  ['unknown if the push has commits of others', 'other', ['c2', 'elsewhere'], null],
])('the author of a change of an instance is %s', (_what, instance, commits, client) => {
  expect(clientOf(instance, ...commits)).toBe(client);
});
