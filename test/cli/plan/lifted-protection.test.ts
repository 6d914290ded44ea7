// Tests which commits of a branch lift the protection of an instance for a plan of all of them at once.
import { describe, expect, it } from 'vitest';
import { liftedProtection } from '../../../src/cli/plan/lifted-protection.ts';
import type { DesiredState } from '../../../src/desired/desired-state.ts';
import type { Commit, Source } from '../../../src/repository/source.ts';
import { snapshotOf } from '../../catalog/snapshots.ts';
import { one, stacksRepository, TEMPLATES, two, WRONG } from '../../desired/stacks.ts';
import { PLACE } from '../../support/rows.ts';

describe('protection that one of several commits lifts', () => {
  const protectedShop = `${one('web')}protected: true\n`;

  /** A source that has these commits, newest first, each an instance `shop` or a whole set of files. */
  function sourceOf(texts: Readonly<Record<string, Readonly<Record<string, string>>>>): Source {
    const notAsked = (): never => {
      throw new Error('not asked for here');
    };
    return {
      ...{
        fetch: notAsked,
        offer: notAsked,
        adopt: notAsked,
        has: notAsked,
        added: notAsked,
        describe: notAsked,
        commitsBetween: notAsked,
        isAncestor: notAsked,
        isRelated: notAsked,
        place: PLACE,
        lastChanges: notAsked,
        close: notAsked,
      },
      async snapshot(name, wants) {
        return { ...snapshotOf({ ...TEMPLATES, ...texts[name] }, { wants }), commit: name };
      },
    };
  }

  function protectedState(): DesiredState {
    return stacksRepository().commit({ 'stacks/instances/shop.yaml': protectedShop });
  }

  /** Returns the units whose protection these commits lift, upon the protected desired state. */
  function liftedBy(
    texts: Readonly<Record<string, Readonly<Record<string, string>>>>,
    commits: readonly Commit[],
    lifted: ReadonlySet<string> = new Set(),
  ): Promise<ReadonlySet<string>> {
    const desired: DesiredState = { ...protectedState(), commit: 'followed' };
    return liftedProtection(sourceOf(texts), { desired, commits, lifted });
  }

  const shop = (text: string) => ({ 'stacks/instances/shop.yaml': text });

  it.each<
    [name: string, commits: Readonly<Record<string, Readonly<Record<string, string>>>>, lifted: readonly string[]]
  >([
    ['before the last', { last: {}, first: shop(one('web')) }, ['stack-instance/shop']],
    ['before others', { last: {}, middle: {}, first: shop(one('web')) }, ['stack-instance/shop']],
    ['by setting false', { last: {}, first: shop(`${one('web')}protected: false\n`) }, ['stack-instance/shop']],
    ['with more servers than before', { last: {}, first: shop(two('web', 'db')) }, ['stack-instance/shop']],
    ['and sets again', { last: {}, middle: shop(protectedShop), first: shop(one('web')) }, []],
    ['with other servers than before', { last: {}, first: shop(one('db')) }, []],
    ['as the last one', { last: shop(one('web')), first: shop(protectedShop) }, []],
    ['as the only one', { last: shop(one('web')) }, []],
    ['in a version that is wrong', { last: {}, first: shop(WRONG) }, []],
    ['in a file that cannot be read', { last: {}, first: shop('a: b: c\n') }, []],
    ['in a commit that is not taken', { last: {}, first: { ...shop(one('web')), 'tree.yaml': 'name: [\n' } }, []],
    ['by removing the file', { last: {}, first: {} }, []],
  ])('%s', async (_name, texts, lifted) => {
    expect([...(await liftedBy(texts, straight(Object.keys(texts))))]).toEqual(lifted);
  });

  it('is not looked for in a clientcert', async () => {
    const texts = { last: {}, first: { 'types/clientcert/printer.yaml': 'paper: a4\n' } };
    expect([...(await liftedBy(texts, straight(['last', 'first'])))]).toEqual([]);
  });

  it('stays lifted where that is remembered, until a commit of the branch sets it again', async () => {
    const remembered = new Set(['stack-instance/shop']);
    expect([...(await liftedBy({ last: {} }, straight(['last']), remembered))]).toEqual(['stack-instance/shop']);
    const texts = { last: {}, first: shop(protectedShop) };
    expect([...(await liftedBy(texts, straight(['last', 'first']), remembered))]).toEqual([]);
  });

  const unprotected = shop(one('web'));

  it.each<[name: string, commits: readonly Commit[], lifted: readonly string[]]>([
    ['brings', [child('last', 'followed', 'side'), child('side', 'older')], []],
    [
      'begins with, where the followed one comes in from the side',
      [child('last', 'side', 'followed'), child('side', 'older')],
      [],
    ],
    [
      'is',
      [child('last', 'side'), child('side', 'followed', 'elsewhere'), child('elsewhere', 'older')],
      ['stack-instance/shop'],
    ],
  ])('counts only where the branch itself has it: what a merge %s', async (_name, commits, lifted) => {
    const texts = { last: {}, side: unprotected, elsewhere: unprotected, older: unprotected };
    expect([...(await liftedBy(texts, commits))]).toEqual(lifted);
  });

  it('is looked for in a hundred commits, and not before these', async () => {
    const names = Array.from({ length: 150 }, (_, index) => `c${index}`);
    const none = Object.fromEntries(names.map((name) => [name, {}]));
    const line = straight(names);
    expect([...(await liftedBy({ ...none, c99: unprotected }, line))]).toEqual(['stack-instance/shop']);
    expect([...(await liftedBy({ ...none, c100: unprotected }, line))]).toEqual([]);
  });
});

/** A commit with these parents. */
function child(name: string, ...parents: readonly string[]): Commit {
  return { oid: name, time: '2026-11-20T10:00:00Z', author: '', message: 'S', parents };
}

/** Commits one after the other, newest first, the oldest on top of the followed one. */
function straight(names: readonly string[]): readonly Commit[] {
  return names.map((name, index) => child(name, names[index + 1] ?? 'followed'));
}
