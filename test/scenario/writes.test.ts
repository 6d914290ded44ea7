// The interface as it is written to, on the whole controller: every write is a commit that git itself finds right, and
// what was answered is what happened.
import { describe, expect, it } from 'vitest';
import type { JsonMap } from '../../src/model/json.ts';
import { keepAlive } from '../support/https-client.ts';
import { existing, PATIENCE } from '../support/running-controller.ts';
import { logOf, requestIdOf } from '../support/written-history.ts';
import { twoServers, upAndDone } from './scene.ts';
import { instanceText, OFFICE, SHOP, STACKS } from './stacks.ts';
import { identityOf, registrationOf, upAndWriting } from './writing.ts';

describe('writing through a repository of one’s own', () => {
  const role = (name: string) => ({ body: { name, description: 'x' } });

  it('proposes each write on its own branch if the settings say so', async () => {
    const scene = await upAndWriting(() => ({ writes: 'propose' }));
    const { site, base, running, write } = scene;
    const replies = [
      await write('/types/role/', role('a')),
      await write('/stacks/instances/shop', { method: 'DELETE' }),
    ];
    const branches = replies.map((reply, index) => {
      const id = requestIdOf(reply).slice(0, 8);
      return index === 0 ? `treeline/role-a-${id}` : `treeline/stack-instance-shop-${id}`;
    });
    expect(replies.map(({ status, body }) => [status, body])).toEqual(
      branches.map((branch) => {
        const message = `Proposed on the branch ${branch}; it takes effect when the branch is merged`;
        return [202, { message, return_code: 202 }];
      }),
    );
    expect(await site.repository.head()).toBe(base);
    for (const branch of branches) expect(await logOf(site.repository, `main..${branch}`)).toHaveLength(1);
    expect((await running.get('/types/role/a/')).status).toBe(404);
    await site.repository.git('update-ref', 'refs/heads/main', `refs/heads/${branches[0]}`);
    await expect.poll(async () => (await running.get('/types/role/a/')).status, PATIENCE).toBe(200);
    // What a push that was refused left behind is no fault.
    expect(await site.repository.git('fsck', '--full', '--strict', '--no-progress', '--no-dangling')).toBe('');
  });
});

describe('clients', () => {
  it('are admitted and refused as soon as the write is answered, also on open connections', async () => {
    const { site, running, write } = await upAndWriting();
    const agent = keepAlive();
    const ask = async (): Promise<unknown> => {
      const { status, body } = await running.request('/tree/', { identity: identityOf(site, 'proxy'), agent });
      return status === 200 ? 200 : (body as JsonMap).error;
    };
    const body = registrationOf(site, 'proxy');
    expect(await ask()).toBe('client_not_registered');
    expect((await write('/clients', { body })).status).toBe(201);
    expect(await ask()).toBe(200);
    expect((await write(`/clients/${body.serial}`, { method: 'DELETE' })).status).toBe(202);
    expect(await ask()).toBe('client_not_registered');
    agent.destroy();
  });

  it('keep their last administrator against every kind of write', async () => {
    const { site, base, running, write } = await upAndWriting();
    const { serial } = registrationOf(site, 'administrator');
    const path = `clients/${serial}.yaml`;
    expect((await write(`/clients/${serial}`, { method: 'DELETE' })).status).toBe(409);
    expect((await write('/clients', { body: { serial: String(serial), role: 'proxy' } })).status).toBe(409);
    expect(await site.repository.head()).toBe(base);
    for (const text of [`role: proxy\nserial: "${serial}"\n`, 'role: [wrong\n', null]) {
      await running.untilDone(await site.repository.commit({ [path]: text, 'clients/B2.yaml': 'role: proxy\n' }));
      expect((await running.get('/clients?role=administrator')).body).toMatchObject({ result: [{ serial }] });
    }
    expect((await write('/types/role/', { body: { name: 'a', description: 'still let in' } })).status).toBe(201);
  });
});

it('an administrator deletes a large instance without a hold, an automation with one', async () => {
  const five = { ...STACKS, [SHOP]: instanceText('shop', 4), [OFFICE]: instanceText('office', 4) };
  const other = { 'stacks/instances/other.yaml': instanceText('other', 0) };
  const { site, running } = await upAndDone({ ...five, ...other }, twoServers);
  const body = JSON.stringify(registrationOf(site, 'automation-endpoint'));
  const registered = await running.request('/clients', {
    method: 'POST',
    body,
    headers: { 'Content-Type': 'application/json' },
  });
  expect(registered.status).toBe(201);
  const automation = { method: 'DELETE', identity: identityOf(site, 'automation-endpoint') };
  expect((await running.request('/stacks/instances/shop', automation)).status).toBe(202);
  expect(await running.status('shop')).toBe('Awaiting approval');
  expect((await running.request('/stacks/instances/office', { method: 'DELETE' })).status).toBe(202);
  const left = (): string[] => Object.keys(existing(site));
  await expect.poll(() => left().filter((name) => name.startsWith('office')), PATIENCE).toEqual([]);
  expect(left().filter((name) => name.startsWith('shop'))).toHaveLength(5);
  expect((await running.request('/stacks/instances/shop', { method: 'DELETE' })).status).toBe(202);
  await expect.poll(left, PATIENCE).toEqual(['other-db']);
});
