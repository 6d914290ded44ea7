// Plans against a running controller: servers are compared with what is recorded of them.
import { expect, it, onTestFinished } from 'vitest';
import { planOnRecorded, type RecordedOrder } from '../../../src/cli/plan/read-merge.ts';
import { textPlan } from '../../../src/cli/plan-command.ts';
import type { Plan } from '../../../src/plan/plan.ts';
import { openLocalRepository } from '../../../src/repository/local-repository.ts';
import type { RecordedState } from '../../../src/service/answers.ts';
import { actionsIn } from '../../plan/planned.ts';
import { headOf, push, type Scene, untilHeld, upAndDone } from '../../scenario/scene.ts';
import { instanceText, SHOP, TEMPLATE, templateText } from '../../scenario/stacks.ts';
import { treeline } from '../../support/command-here.ts';
import { runGit } from '../../support/git-repository.ts';
import { commandLineOptions } from '../../support/running-controller.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const BUDGET = 2;

async function opened({ site, running }: Scene) {
  const repository = await openLocalRepository(site.repository.path);
  onTestFinished(() => repository[Symbol.dispose]());
  const { body } = await running.get('/operations/recorded');
  const problems = (await running.get('/operations/problems')).body as RecordedOrder['problems'];
  return { repository, recorded: body as RecordedState, problems, budget: BUDGET };
}

async function planned(scene: Scene, head: string): Promise<Plan> {
  const { repository, ...order } = await opened(scene);
  return await planOnRecorded(repository, { ...order, head });
}

it('treeline plan --server compares with recorded servers, including held deletes', async () => {
  const scene = await upAndDone();
  const { repository } = scene.site;
  const head = await headOf(scene.site);
  expect(await planned(scene, head)).toMatchObject({ changes: [], configuration: [], held: null, problems: [] });

  await repository.commit({ [SHOP]: instanceText('shop', 3) }, { branch: 'smaller', parents: [head] });
  const smaller = await planned(scene, 'smaller');
  expect(actionsIn(smaller)).toEqual(['delete shop-web-4']);
  expect(smaller.changes[0]).toMatchObject({
    file: SHOP,
    line: 2,
    reason: '"web" of the stack instance "shop" has 3 servers, and had 4',
  });

  const clone = temporaryDirectory();
  await runGit(['clone', '--quiet', `file://${repository.path}`, clone]);
  const run = (...args: readonly string[]) =>
    treeline(['plan', clone, ...commandLineOptions(scene.site, scene.running), ...args]);
  expect(await run()).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining('No effect') });
  expect(await run('--base', 'HEAD')).toMatchObject({ code: 0 });
  const unknown = expect.stringContaining('there is no node "shop-web-44"; did you mean "shop-web-4"?');
  expect(await run('--node', 'shop-web-44')).toMatchObject({ code: 3, stderr: unknown });

  const commit = await push(scene, { [SHOP]: null });
  await untilHeld(scene, 'deletes');
  for (const [args, words] of [
    [[], /which this repository does not have: "git fetch" brings it/],
    [['--base', 'HEAD'], /which is not HEAD/],
  ] as const) {
    expect(await run(...args)).toMatchObject({ code: 3, stderr: expect.stringMatching(words) });
  }
  // A variable of the shell names the controller, and the commits alone are asked for.
  const env = { TREELINE_SERVER: 'https://127.0.0.1:1' };
  expect(await treeline(['plan', clone, '--base', 'HEAD'], { env })).toMatchObject({ code: 0 });

  await repository.commit({ [TEMPLATE]: templateText('large') }, { branch: 'branch', parents: [commit] });
  const plan = await planned(scene, 'branch');
  expect(plan.held).toMatchObject({ kind: 'budget', limit: 2, deletes: 5, instances: ['shop'] });
  expect(actionsIn(plan)).toEqual([
    'update office-web-1',
    ...['db', 'web-1', 'web-2', 'web-3', 'web-4'].map((name) => `delete shop-${name}`),
  ]);
  // The file went with an earlier commit, and rows do not name it.
  expect(plan.changes[1]).toMatchObject({ reason: 'the stack instance "shop" is removed', file: null, line: null });
  const text = textPlan(await planned(scene, 'main'));
  expect(text).toContain(`what is left to do at ${commit.slice(0, 12)}\n`);
  expect(text).toContain('If it is intended, an administrator runs `treeline held`, which prints');
  expect(text).toContain('or a later commit has the trailer');
}, 60_000);
