// Signed commits on the whole controller: keys of the real ssh-keygen and gpg, pushes over a real "git http-backend", and a forge.
import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { JsonMap } from '../../src/model/json.ts';
import { type FakeForge, startFakeForge } from '../support/fake-forge.ts';
import { startGitHttpServer } from '../support/git-http-server.ts';
import { PATIENCE, runController } from '../support/running-controller.ts';
import { type GpgKey, makeGpgKey, makeSshKey, type SshKey, signedCommit } from '../support/signed-commits.ts';
import { createSite } from '../support/site.ts';
import { headOf, type Scene } from './scene.ts';
import { instanceText, SHOP, STACKS } from './stacks.ts';

const BODY: JsonMap = { stackTemplate: 'web', parameters: { prefix: 'small', count: '1' } };
const SMALL = '/stacks/instances/small';

/** Several controllers run beside these tests, and each commit starts some programs. */
const TIMEOUT_MS = 120_000;

/** Returns the newest commit as the overview shows it, which is not followed. */
async function newestOf({ running }: Scene): Promise<unknown> {
  return ((await running.get('/operations/status')).body as JsonMap).newest;
}

interface SignedScene extends Scene {
  readonly jane: SshKey;
  readonly alice: GpgKey;
  /** The allowed signers; Treeline alone at first. */
  readonly allowedSigners: string;
  readonly forge: FakeForge;
  readonly followed: (commit: string) => Promise<void>;
}

/** Returns a controller whose repository is behind a real "git http-backend"; its first commit has no signature. */
async function upWithKeys(): Promise<SignedScene> {
  const site = await createSite(STACKS);
  const { repository, folder } = site;
  const [jane, treeline, alice] = [
    makeSshKey(folder, 'jane'),
    makeSshKey(folder, 'treeline'),
    makeGpgKey(folder, 'alice'),
  ];
  const allowedSigners = join(folder, 'allowed');
  writeFileSync(allowedSigners, `treeline@localhost ${treeline.publicKey}\n`);
  const forge = await startFakeForge('gitea');
  const server = await startGitHttpServer({ repository: repository.path, receivePack: true });
  const verify = { allowedSigners, keyring: alice.keyring };
  const signed = { url: server.url, verify, sign: { sshKeyFile: treeline.file } };
  const settings: Scene['settings'] = (all) => {
    return { ...all, id: 'eu', statuses: forge.settings, repository: { ...all.repository, ...signed } };
  };
  const running = await runController(site, settings);
  const followed = (commit: string) => running.untilDone(commit);
  return { site, settings, running, jane, alice, allowedSigners, forge, followed };
}

const short = (commit: string): string => commit.slice(0, 10);

it(
  'are followed, and commits of writes are signed',
  async () => {
    const scene = await upWithKeys();
    const { site, running, jane, alice, allowedSigners, followed } = scene;
    const { repository } = site;
    const first = await headOf(site);
    const message = async () => ((await running.get('/tree/')).body as JsonMap).message;
    await expect.poll(message, PATIENCE).toContain(`commit ${short(first)} by Test is not signed`);
    await followed(await signedCommit(repository, alice, { path: SHOP, text: instanceText('shop', 2) }));

    // Its key is listed later: the next poll follows it.
    const byJane = await signedCommit(repository, jane, { path: SHOP, text: instanceText('shop', 3) });
    const reason = `commit ${short(byJane)} by Test is signed with the key ${jane.id}, which repository.verify.allowedSigners does not list, or not for its time`;
    await expect
      .poll(() => newestOf(scene), PATIENCE)
      .toMatchObject({
        commit: byJane,
        reason,
        action: `push it with a valid signature, in place of the present one; if it is intended: treeline accept-history ${byJane}`,
      });
    appendFileSync(allowedSigners, `jane@example.org ${jane.publicKey}\n`);
    await followed(byJane);

    expect(await running.post(SMALL, BODY)).toMatchObject({ status: 201 });
    const written = await headOf(site);
    await followed(written);
    const config = ['-c', `gpg.ssh.allowedSignersFile=${allowedSigners}`];
    expect(await repository.git(...config, 'log', '-1', '--format=%G? %GS', written)).toBe('G treeline@localhost');
  },
  TIMEOUT_MS,
);

it(
  'are the only ones followed until an operator accepts others',
  async () => {
    const scene = await upWithKeys();
    const { site, running, jane, alice, allowedSigners, forge, followed } = scene;
    const { repository } = site;
    appendFileSync(allowedSigners, `jane@example.org ${jane.publicKey}\n`);
    const accept = async (commit: string) => {
      expect(await running.post('/operations/accept-history', { commit })).toMatchObject({ status: 200 });
      await followed(commit);
    };
    await followed(await signedCommit(repository, alice));

    // A signed commit does not bring in an unsigned one below it.
    const before = await signedCommit(repository, alice, { path: 'before', text: '1' });
    const unsigned = await repository.commit({ unsigned: '1' });
    const after = await signedCommit(repository, jane, { path: 'after', text: '1' });
    const reason = `commit ${short(unsigned)} by Test is not signed`;
    await expect.poll(() => newestOf(scene), PATIENCE).toMatchObject({ commit: after, reason });
    await followed(before);
    const told = () => forge.statuses.findLast(({ commit }) => commit === after);
    await expect.poll(() => told()?.description, PATIENCE).toBe(`not followed: ${reason}`);
    expect(await running.post(SMALL, BODY)).toMatchObject({ status: 409 });
    await accept(after);
  },
  TIMEOUT_MS,
);
