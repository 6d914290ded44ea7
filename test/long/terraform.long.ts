// contrib/providers/terraform with the real program: what kills, edits by hand and changed modules do to it. Skipped where
// terraform is not installed. `npm run test:long`.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createRig, MODULE, REPLACED_WHOLE, SMALL, TERRAFORM } from '../contrib/terraform-rig.ts';

const PATIENCE = { timeout: 15_000, interval: 25 };

describe.skipIf(TERRAFORM === undefined)('the provider terraform (skipped if terraform is not installed)', () => {
  it('observes a property that another tool changed', async () => {
    const { call, folder } = createRig();
    await call('create', 'web-1', { properties: SMALL });
    writeFileSync(join(folder, 'files/web-1'), 'by hand');
    expect(await call('check', 'web-1')).toMatchObject({ outcome: 'done', observed: { ...SMALL, motd: 'by hand' } });
  });

  it('answers "replace" and applies nothing unless configured otherwise', async () => {
    const other = { ...SMALL, disk: '20' };
    const { call, logOf } = createRig();
    await call('create', 'web-1', { properties: SMALL });
    expect(await call('update', 'web-1', { properties: other })).toMatchObject({
      outcome: 'replace',
      message: 'Terraform has to replace terraform_data.disk, terraform_data.server',
    });
    expect(await call('check', 'web-1')).toMatchObject({ outcome: 'done', observed: SMALL });
    expect(logOf('web-1')).toEqual(['begin']);

    const told = createRig({ TREELINE_TERRAFORM_REPLACE: 'apply' });
    await told.call('create', 'web-1', { properties: SMALL });
    expect(await told.call('update', 'web-1', { properties: other })).toMatchObject({ outcome: 'done' });
    expect(told.logOf('web-1')).toEqual(['begin', 'destroyed', 'begin']);
  });

  it('answers "replace" for another module, and destroys with the original one', async () => {
    const { call, writeModule, folder, logOf } = createRig();
    writeModule('large', MODULE);
    await call('create', 'web-1', { properties: SMALL });
    expect(await call('update', 'web-1', { properties: { ...SMALL, shape: 'large' } })).toMatchObject({
      outcome: 'replace',
      message: 'the module small made it, and the call asks for large',
    });
    rmSync(join(folder, 'modules/small'), { recursive: true });
    expect(await call('delete', 'web-1')).toMatchObject({ outcome: 'done' });
    expect(logOf('web-1')).toEqual(['begin', 'destroyed']);
  });

  it('uses a changed module with the next update, and keeps no other copy', async () => {
    const { call, writeModule, serverFolder } = createRig();
    await call('create', 'web-1', { properties: SMALL });
    writeModule('small', MODULE.replace('["80", "443"]', '["22"]'));
    expect((await call('check', 'web-1')).outputs).toMatchObject({ ports: ['80', '443'] });
    expect((await call('update', 'web-1', { properties: SMALL })).outputs).toMatchObject({ ports: ['22'] });
    expect(readdirSync(join(serverFolder('web-1'), 'modules'))).toHaveLength(1);
  });

  it('identifies its state by a marker, and never marks a folder that may be wrong', async () => {
    const { call, folder } = createRig();
    expect(await call('check', 'web-1')).not.toHaveProperty('place');
    const { place } = await call('create', 'web-1', { properties: SMALL });
    expect(place).toBe(readFileSync(join(folder, 'state/place'), 'utf8').trim());
    expect(await call('check', 'web-1')).toMatchObject({ outcome: 'done', place });
    expect(await call('check', 'web-2')).toMatchObject({ outcome: 'absent', place });
    // Its disk is not mounted.
    renameSync(join(folder, 'state'), join(folder, 'unmounted'));
    mkdirSync(join(folder, 'state'));
    for (const operation of ['check', 'update', 'delete']) {
      const answer = await call(operation, 'web-1', { properties: SMALL });
      expect([answer.outcome, answer.place]).toEqual(['absent', undefined]);
    }
    expect(readdirSync(join(folder, 'state'))).toEqual([]);
    rmSync(join(folder, 'state'), { recursive: true });
    renameSync(join(folder, 'unmounted'), join(folder, 'state'));
    expect(await call('delete', 'web-1')).toMatchObject({ outcome: 'done', place });
  });

  it('continues after a kill -9 during an apply that leaves a lock', async () => {
    const { call, start, logOf, serverFolder } = createRig();
    const slow = { ...SMALL, sleep: '60' };
    const { process: program, answer } = start('create', 'web-1', { properties: slow });
    await expect.poll(() => logOf('web-1'), PATIENCE).toEqual(['begin']);
    process.kill(-(program.pid ?? 0), 'SIGKILL');
    expect(await answer).toBeUndefined();
    expect(readdirSync(serverFolder('web-1'))).toContain('.terraform.tfstate.lock.info');

    // The disk is there, and must not be forgotten: what was not finished is told as different from everything wanted.
    expect(await call('check', 'web-1')).toMatchObject({
      outcome: 'done',
      message: 'its create has not finished',
      observed: { shape: '(not finished)', motd: '(not finished)' },
    });
    expect(await call('update', 'web-1', { properties: SMALL })).toMatchObject({ outcome: 'done' });
    expect(await call('check', 'web-1')).toMatchObject({ outcome: 'done', observed: SMALL });
    expect(await call('delete', 'web-1')).toMatchObject({ outcome: 'done' });
  });

  it('refuses the next call while Terraform continues without its call', async () => {
    const { call, start, logOf } = createRig();
    const { process: program, answer } = start('create', 'web-1', { properties: { ...SMALL, sleep: '3' } });
    await expect.poll(() => logOf('web-1'), PATIENCE).toEqual(['begin']);
    process.kill(program.pid ?? 0, 'SIGKILL');
    await answer;
    const deadline = new Date(Date.now() + 1_500).toISOString();
    expect(await call('check', 'web-1', { deadline })).toMatchObject({
      outcome: 'retryable',
      message: 'another run of Terraform for web-1 is not finished',
    });
    expect(await call('check', 'web-1')).toMatchObject({ outcome: 'done' });
    expect(logOf('web-1')).toEqual(['begin']);
  });

  it('waits for a manual run, and does not take its empty state for an absent server', async () => {
    const { call, folder, serverFolder, writeModule, logOf } = createRig();
    writeModule('small', REPLACED_WHOLE);
    await call('create', 'web-1', { properties: SMALL });
    const variables = join(folder, 'hand.tfvars.json');
    const release = join(folder, 'release');
    const untilReleased = `0; for i in $(seq 600); do test -e '${release}' && break; sleep 0.1; done`;
    const properties = { ...SMALL, disk: '20', sleep: untilReleased };
    writeFileSync(variables, JSON.stringify({ name: 'web-1', properties }));
    const [copy = ''] = readdirSync(join(serverFolder('web-1'), 'modules'));
    const hand = spawn(TERRAFORM ?? '', ['apply', '-auto-approve', '-no-color', `-var-file=${variables}`], {
      cwd: join(serverFolder('web-1'), 'modules', copy),
      stdio: 'ignore',
      env: { ...process.env, TF_VAR_folder: join(folder, 'files') },
    });
    const ended = once(hand, 'exit');
    onTestFinished(() => void hand.kill('SIGKILL'));
    await expect.poll(() => logOf('web-1'), PATIENCE).toHaveLength(2);
    for (const operation of ['check', 'update', 'delete']) {
      expect(await call(operation, 'web-1', { properties: SMALL })).toMatchObject({
        outcome: 'retryable',
        message: expect.stringContaining('Error acquiring the state lock'),
      });
    }
    writeFileSync(release, '');
    await ended;
    expect(await call('check', 'web-1')).toMatchObject({ outcome: 'done' });
  }, 60_000);

  it('interrupts Terraform before the deadline', async () => {
    const { call } = createRig();
    const deadline = new Date(Date.now() + 6_000).toISOString();
    const answer = await call('create', 'web-1', { properties: { ...SMALL, sleep: '60' }, deadline });
    expect(answer).toMatchObject({ outcome: 'retryable' });
    expect(answer.message).toContain('terraform apply was interrupted at the deadline');
    await sleep(200);
    expect(await call('create', 'web-1', { properties: SMALL })).toMatchObject({ outcome: 'done' });
  });
});
