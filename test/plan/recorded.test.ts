// Plans against recorded servers, each case by itself.
import { describe, expect, it } from 'vitest';
import { wantsBlob } from '../../src/catalog/load-catalog.ts';
import type { DeleteBudget } from '../../src/model/settings.ts';
import type { Plan } from '../../src/plan/plan.ts';
import { type Merge, planMerge } from '../../src/plan/plan-merge.ts';
import { safetyOfRecorded } from '../../src/plan/planned-safety.ts';
import { type RecordedFacts, withRecorded } from '../../src/plan/recorded-facts.ts';
import { snapshotOf } from '../catalog/snapshots.ts';
import { type TextChanges, TextRepository, textsAfter } from '../support/text-repository.ts';
import { COMMIT, doneIn, SHOP } from './planned.ts';

const SHOP_FILE = 'stacks/instances/shop.yaml';
const BLOG_FILE = 'stacks/instances/blog.yaml';

type Changed = Readonly<Record<string, Partial<RecordedFacts> | null>>;

/** Null: the server is not recorded. */
function changed(recorded: readonly RecordedFacts[], changes: Changed): readonly RecordedFacts[] {
  return recorded.flatMap((server) => {
    const change = changes[server.name];
    return change === null ? [] : [{ ...server, ...change }];
  });
}

interface Case {
  readonly rows?: Changed;
  readonly texts?: TextChanges;
  readonly files?: TextChanges;
  readonly budget?: number | DeleteBudget;
}

function mergeOf({ rows = {}, texts = {}, files = SHOP, budget = 100 }: Case): Merge {
  const desired = new TextRepository().commit(files);
  const servers = changed(doneIn(desired), rows);
  const before = withRecorded(desired, servers);
  return {
    base: COMMIT,
    head: '2'.repeat(40),
    before,
    recorded: servers,
    snapshot: snapshotOf(textsAfter(files, texts), { wants: wantsBlob(desired.catalog) }),
    safety: safetyOfRecorded({ servers, heldBefore: new Map(), budget }),
  };
}

function reasonsIn({ changes }: Pick<Plan, 'changes'>): readonly string[] {
  return changes.map(
    ({ action, resource, reason, line }) => `${action} ${resource}: ${reason}${line === null ? '' : ` (${line})`}`,
  );
}

describe('a plan compared with recorded servers', () => {
  const done = doneIn(new TextRepository().commit(SHOP)).find(({ name }) => name === 'shop-web-1');
  const old = done?.applied && { ...done.applied, properties: { ...done.applied.properties, port: '70' } };

  it.each<[string, Case, readonly string[]]>([
    ['all is done', {}, []],
    [
      'one is not recorded',
      { rows: { 'shop-web-1': null } },
      ['create shop-web-1: "web" of the stack instance "shop" has 3 servers, and had 2'],
    ],
    [
      'one is not created',
      { rows: { 'shop-web-1': { applied: null } } },
      ['create shop-web-1: the server does not exist yet'],
    ],
    [
      'one is not up to date',
      { rows: { 'shop-web-1': { applied: old ?? null } } },
      ['update shop-web-1: the server does not have the wanted spec yet'],
    ],
    [
      'the action of one failed',
      { rows: { 'shop-web-1': { dirty: true } } },
      ['update shop-web-1: the last action on the server has not succeeded'],
    ],
    [
      'one is being replaced',
      { rows: { 'shop-web-1': { replacing: true } } },
      ['replace shop-web-1: the server is being replaced'],
    ],
    [
      'one is being deleted, and is wanted again',
      { rows: { 'shop-web-1': { state: 'deleting', dirty: true } } },
      ['replace shop-web-1: the server is being deleted, and is created again'],
    ],
    [
      'one is being removed',
      {
        rows: { 'blog-web-1': { wanted: null } },
        texts: { [BLOG_FILE]: 'stackTemplate: web\nparameters: { count: "0" }\n' },
        files: { ...SHOP },
      },
      ['update blog-db: the property "peers" changes', 'delete blog-web-1: no commit wants the server any more'],
    ],
    [
      'the merge changes one that is not up to date',
      {
        rows: { 'shop-web-1': { applied: old ?? null } },
        texts: { [SHOP_FILE]: SHOP[SHOP_FILE].replace('8080', '8081') },
      },
      [1, 2, 3].map((index) => `update shop-web-${index}: the property "port" changes (3)`),
    ],
    [
      'the merge restores the applied spec',
      {
        rows: { 'shop-web-1': { applied: old ?? null } },
        texts: { [SHOP_FILE]: SHOP[SHOP_FILE].replace('8080', '70') },
      },
      [2, 3].map((index) => `update shop-web-${index}: the property "port" changes (3)`),
    ],
  ])('%s', (_, given, reasons) => {
    expect(reasonsIn(planMerge(mergeOf(given)))).toEqual(reasons);
  });

  const ofOld = (row: Partial<RecordedFacts>): Changed => {
    return Object.fromEntries(['blog-db', 'blog-web-1'].map((name) => [name, { instance: 'old', ...row }]));
  };
  const retaining = { ...SHOP, [BLOG_FILE]: `${SHOP[BLOG_FILE]}deletion: retain\n` };

  it.each<[string, Case, object]>([
    [
      'an unwanted server that was never created is forgotten',
      {
        rows: {
          'blog-db': { applied: null, mayExist: false },
          'blog-web-1': { applied: null, mayExist: false, provider: null },
        },
      },
      { changes: [], held: null },
    ],
    [
      'a server that is or may have been created is deleted',
      {
        rows: { 'blog-db': { applied: null, state: 'creating' }, 'blog-web-1': { applied: null, state: 'retrying' } },
        budget: 0,
      },
      {
        changes: ['blog-db', 'blog-web-1'].map((resource) => ({ action: 'delete', resource })),
        held: { instances: ['blog'], deletes: 1 },
      },
    ],
    [
      'a server that may exist of a retaining instance is left',
      { rows: { 'blog-db': { applied: null, state: 'creating' } }, files: retaining },
      { changes: [], retained: [{ resource: 'blog-db' }, { resource: 'blog-web-1' }] },
    ],
    [
      'an instance without a file retains as recorded',
      { rows: ofOld({ deletion: 'retain' }) },
      { retained: ['blog-db', 'blog-web-1'].map((resource) => ({ resource, instance: 'old' })) },
    ],
    [
      'a protected instance that is only recorded is kept',
      { rows: ofOld({ protected: true }) },
      { changes: [], problems: [{ code: 'protected_instance' }] },
    ],
  ])('of a removed file: %s', (_, given, plan) => {
    expect(planMerge(mergeOf({ ...given, texts: { [BLOG_FILE]: null } }))).toMatchObject(plan);
  });

  it('waiting deletes count for the budget, and approved ones do not', () => {
    const texts = {
      [BLOG_FILE]: 'stackTemplate: web\nparameters: { count: "0" }\n',
      [SHOP_FILE]: `${SHOP[SHOP_FILE]}  count: "2"\n`,
    };
    const rows = { 'blog-web-1': { wanted: null } };
    expect(planMerge(mergeOf({ rows, texts, budget: 1 })).held).toMatchObject({
      deletes: 2,
      instances: ['blog', 'shop'],
    });
    const settings = { percent: 0, least: 1, most: 1 };
    expect(planMerge(mergeOf({ rows, texts, budget: settings })).held).toMatchObject({ limit: 1 });
    const approved = { 'blog-web-1': { wanted: null, approved: true } };
    expect(planMerge(mergeOf({ rows: approved, texts, budget: 1 })).held).toBeNull();
  });

  it('an instance without recorded servers is new', () => {
    const rows = { 'blog-db': null, 'blog-web-1': null };
    expect(reasonsIn(planMerge(mergeOf({ rows })))).toEqual([
      'create blog-db: the stack instance "blog" becomes active for the first time',
      'create blog-web-1: the stack instance "blog" becomes active for the first time',
    ]);
  });
});
