// Each client has a limited number of pieces of work at once, whatever others do.
import { expect, it } from 'vitest';
import { Shares } from '../src/base/shares.ts';
import type { ServiceError } from '../src/model/service-error.ts';

/** Work that is at work until it is ended, in the order in which it began. */
class Scene {
  readonly shares = new Shares({ ofClient: 1, waitingOfClient: 3 });
  readonly begun: string[] = [];
  readonly #ends = new Map<string, PromiseWithResolvers<string>>();

  ask(client: string, name: string): Promise<string> {
    return this.shares.run(client, () => {
      this.begun.push(name);
      const end = Promise.withResolvers<string>();
      this.#ends.set(name, end);
      return end.promise;
    });
  }

  async end(name: string, failure?: Error): Promise<void> {
    if (failure === undefined) this.#ends.get(name)?.resolve(`${name} is done`);
    else this.#ends.get(name)?.reject(failure);
    await settle();
  }
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
}

it('Shares serves clients in turn, and each in order', async () => {
  const scene = new Scene();
  for (const name of ['low 1', 'low 2', 'low 3', 'low 4']) void scene.ask('low', name);
  void scene.ask('a', 'a 1');
  await settle();
  expect(scene.begun).toEqual(['low 1', 'a 1']);
  for (const name of ['low 1', 'low 2', 'low 3']) await scene.end(name);
  expect(scene.begun).toEqual(['low 1', 'a 1', 'low 2', 'low 3', 'low 4']);
});

it('Shares refuses one request too many of a client, and serves the others', async () => {
  const scene = new Scene();
  for (const name of ['low 1', 'low 2', 'low 3', 'low 4']) void scene.ask('low', name);
  const message =
    'Too many requests: a client has 1 requests like this one at once, and 3 more may wait; ask again once one of them is answered';
  const refusal = { code: 'too_many_requests', message } satisfies Partial<ServiceError>;
  await expect(scene.ask('low', 'low 5')).rejects.toThrow(expect.objectContaining(refusal));
  void scene.ask('a', 'a 1');
  await scene.end('low 1');
  void scene.ask('low', 'low 6');
  expect(scene.begun).toEqual(['low 1', 'a 1', 'low 2']);
});

it('Shares reports a failure to its client, and starts the next request', async () => {
  const scene = new Scene();
  const [first, second] = [scene.ask('a', 'a 1'), scene.ask('a', 'a 2')];
  const failed = expect(first).rejects.toThrow('broken');
  await settle();
  await scene.end('a 1', new Error('broken'));
  await failed;
  await scene.end('a 2');
  expect(await second).toBe('a 2 is done');
});
