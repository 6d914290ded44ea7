// A server is created only where a check has just found nothing there: what somebody else built meanwhile is not taken over.
import { describe, expect, it } from 'vitest';
import { answerOf } from './build.ts';
import { Core } from './core.ts';
import { answering, buildByHand, SHOP, shopFiles } from './shop.ts';

const MINUTE = 60_000;

/** A shop whose `web` waits for `db`, which fails for about an hour. */
async function waiting(instance = ''): Promise<Core> {
  const core = new Core({ retry: { attempts: 1, failedSeconds: 3600 } });
  core.source.commit(shopFiles({ db: 'name: db', web: 'name: web, depends_on: db, size: small' }, instance));
  answering(core, 'create', async () => answerOf('failed', { message: 'no disk' }));
  await core.poll();
  expect(core.states()).toEqual({ db: 'failed', web: 'pending' });
  core.provider.script = () => undefined;
  return core;
}

describe('a server that waited for its dependency', () => {
  it('is not created or deleted if another party has created it', async () => {
    const core = await waiting();
    buildByHand(core, 'web');
    await core.pass(60 * MINUTE);
    expect(core.states()).toEqual({ db: 'done', web: 'blocked' });
    expect(core.ledger.server('web')?.reason?.code).toBe('exists_already');
    await core.follow({ [SHOP]: null });
    expect(core.states()).toEqual({});
    expect(core.calls('create')).not.toContain('web');
    expect(core.calls('delete')).toEqual(['db']);
  });
});

describe('a failed create', () => {
  /** A shop whose `web` could not be created; `hasEffect`: it is there all the same. */
  async function failed(hasEffect: boolean): Promise<Core> {
    const core = new Core({ retry: { attempts: 1, failedSeconds: 3600 } });
    core.source.commit(shopFiles({ web: 'name: web, size: small' }));
    answering(core, 'create', async (call) => {
      if (hasEffect) core.provider.act(call);
      return answerOf('failed', { message: 'half made' });
    });
    await core.poll();
    expect(core.states()).toEqual({ web: 'failed' });
    core.provider.script = () => undefined;
    return core;
  }

  it('is repeated with the same id if it has created the server', async () => {
    const core = await failed(true);
    await core.pass(60 * MINUTE);
    expect(core.states()).toEqual({ web: 'done' });
    const [first, second] = core.provider.calls.filter(({ operation }) => operation === 'create');
    expect(second?.action).toBe(first?.action);
  });

  it('that left nothing does not touch a server of another party', async () => {
    const core = await failed(false);
    buildByHand(core, 'web');
    await core.pass(60 * MINUTE);
    expect(core.states()).toEqual({ web: 'blocked' });
    expect(core.calls('create')).toHaveLength(1);
  });
});
