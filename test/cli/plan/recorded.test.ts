// Plans against a running controller: servers are compared with what is recorded of them.
import { describe, expect, it, onTestFinished } from 'vitest';
import { planOfApproval, planOnRecorded, type RecordedOrder } from '../../../src/cli/plan/read-recorded.ts';
import { textPlan } from '../../../src/cli/plan/text-plan.ts';
import type { Plan } from '../../../src/plan/plan.ts';
import { openLocalRepository } from '../../../src/repository/local-repository.ts';
import type { RecordedState } from '../../../src/service/answers.ts';
import { actionsIn } from '../../plan/planned.ts';
import { headOf, push, pushAtOnce, type Scene, untilHeld, upAndDone } from '../../scenario/scene.ts';
import { instanceText, OFFICE, SHOP, TEMPLATE, templateText } from '../../scenario/stacks.ts';
import { treeline } from '../../support/command-line.ts';
import { runGit } from '../../support/git-repository.ts';
import { commandLineOptions } from '../../support/server-options.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const BUDGET = 2;

async function opened({ site, running }: Scene) {
  const repository = await openLocalRepository(site.repository.path);
  onTestFinished(() => repository.close());
  const { body } = await running.get('/operations/recorded');
  const problems = (await running.get('/operations/problems')).body as RecordedOrder['problems'];
  return { repository, recorded: body as RecordedState, problems, budget: BUDGET };
}

async function planned(scene: Scene, head: string): Promise<Plan> {
  const { repository, ...order } = await opened(scene);
  return await planOnRecorded(repository, { ...order, head });
}

async function approved(scene: Scene, digest: string): Promise<Plan> {
  const { repository, ...order } = await opened(scene);
  return await planOfApproval(repository, { ...order, digest });
}

describe('treeline plan --server', () => {
  it('shows what the merge does where all is done, and nothing without one', async () => {
    const scene = await upAndDone();
    const { repository } = scene.site;
    const head = await headOf(scene.site);
    expect(await planned(scene, head)).toMatchObject({ changes: [], configuration: [], held: null, problems: [] });

    await repository.commit({ [SHOP]: instanceText('shop', 3) }, { branch: 'branch', parents: [head] });
    const plan = await planned(scene, 'branch');
    expect(actionsIn(plan)).toEqual(['delete shop-web-4']);
    expect(plan.changes[0]).toMatchObject({
      file: SHOP,
      line: 2,
      reason: '"web" of the stack instance "shop" has 3 servers, and had 4',
    });
  });

  it('takes held deletes for what they are: nothing of the instance happens yet', async () => {
    const scene = await upAndDone();
    const commit = await push(scene, { [SHOP]: null });
    const item = await untilHeld(scene, 'deletes');
    const { repository } = scene.site;
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
    expect(text).toContain('if it is meant: "treeline held" shows the command to approve it\n  or a later commit has');

    const approval = await approved(scene, item.digest);
    expect(actionsIn(approval)).toEqual(
      ['db', 'web-1', 'web-2', 'web-3', 'web-4'].map((name) => `delete shop-${name}`),
    );
    expect(approval).toMatchObject({ held: null, problems: [], base: commit, head: commit });
    const approving = textPlan(approval, { approval: item.digest });
    expect(approving).toMatch(`approving ${item.digest} at ${commit.slice(0, 12)}\n5 deletes\n`);
  });

  it('shows what approving the deletes of an instance does besides', async () => {
    const scene = await upAndDone();
    await push(scene, {
      [SHOP]: instanceText('shop', 1).replace('prefix: shop', 'prefix: store'),
      'types/role/web.yaml': 'port: 81\n',
    });
    const item = await untilHeld(scene, 'deletes');
    const plan = await approved(scene, item.digest);
    expect(actionsIn(plan)).toEqual([
      ...['db', 'web-1', 'web-2', 'web-3', 'web-4'].map((name) => `delete shop-${name}`),
      ...['create store-db', 'create store-web-1'],
    ]);
    await expect(approved(scene, '0'.repeat(64))).rejects.toThrow(`held are ${item.digest}`);
  });

  it('shows the deletes of an instance whose protection was lifted before they were held', async () => {
    const scene = await upAndDone();
    await push(scene, { [SHOP]: instanceText('shop', 4, 'protected: true\n') });
    await pushAtOnce(scene, [{ files: { [SHOP]: instanceText('shop', 4) } }, { files: { [SHOP]: null } }]);
    const item = await untilHeld(scene, 'deletes');
    const deletes = ['db', 'web-1', 'web-2', 'web-3', 'web-4'].map((name) => `delete shop-${name}`);

    const plan = await approved(scene, item.digest);
    expect(actionsIn(plan)).toEqual(deletes);
    expect(plan.problems).toEqual([]);
    const merged = await planned(scene, await headOf(scene.site));
    expect(actionsIn(merged)).toEqual(deletes);
    expect(merged.held).toMatchObject({ instances: ['shop'], deletes: 5 });
  });

  it('shows what accepting a commit does that leaves nothing, or has another history', async () => {
    const scene = await upAndDone();
    await scene.site.repository.commit({ [SHOP]: null, [OFFICE]: null });
    const nothing = await untilHeld(scene, 'nothing left');
    const plan = await approved(scene, nothing.digest);
    expect(plan.changes).toHaveLength(7);
    expect(plan.held).toMatchObject({ kind: 'budget', deletes: 7, instances: ['office', 'shop'] });
  });

  it('shows that an emptied history would be held next', async () => {
    const scene = await upAndDone();
    const files = await scene.site.repository.git('ls-tree', '-r', '--name-only', 'main', 'clients/');
    const client = `${await scene.site.repository.git('show', `main:${files}`)}\n`;
    const texts = {
      'tree.yaml': 'name: global\ntype: common\n',
      [files]: client,
      [TEMPLATE]: templateText(),
      [OFFICE]: instanceText('office', 1),
    };
    await scene.site.repository.commit({ ...texts }, { parents: [] });
    const item = await untilHeld(scene, 'history');
    const plan = await approved(scene, item.digest);
    expect(plan.held).toMatchObject({ instances: ['shop'], deletes: 5 });
    expect(actionsIn(plan)).not.toContain('delete office-db');
  });

  it('is a command, and says where the commit of the controller is missing', async () => {
    const scene = await upAndDone();
    const { repository } = scene.site;
    const clone = temporaryDirectory();
    await runGit(['clone', '--quiet', `file://${repository.path}`, clone]);
    const run = (...args: readonly string[]) =>
      treeline(['plan', clone, ...commandLineOptions(scene.site, scene.running), ...args]);
    expect(await run()).toMatchObject({ code: 0, stderr: '', stdout: expect.stringContaining('No effect') });
    expect(await run('--base', 'HEAD')).toMatchObject({ code: 0 });
    expect(await run('--approval', 'x')).toMatchObject({
      code: 3,
      stderr: 'treeline: nothing is held, and nothing under "x"\n',
    });
    await push(scene, { 'types/role/web.yaml': 'port: 81\n' });
    expect(await run()).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(/which this repository does not have: "git fetch" brings it/),
    });
    expect(await run('--base', 'HEAD')).toMatchObject({ code: 3, stderr: expect.stringMatching(/which is not HEAD/) });
    expect(await treeline(['plan', clone, '--base', 'HEAD', '--approval', 'x'])).toMatchObject({
      code: 3,
      stderr: 'treeline: --approval asks a running controller: leave --base out\n',
    });
    expect(await treeline(['plan', clone, '--approval', 'x'])).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(/^treeline: say which controller, and who asks: --server/),
    });
    // A variable of the shell names the controller, and the commits alone are asked for.
    const env = { TREELINE_SERVER: 'https://127.0.0.1:1' };
    expect(await treeline(['plan', clone, '--base', 'HEAD'], { env })).toMatchObject({ code: 0 });
  });
});
