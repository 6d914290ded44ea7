// What is limited is divided among clients: each has its share, and those who wait take turns.
import { expect, it } from 'vitest';
import { FairLine, type ShareLimits, Shares } from '../src/base/shares.ts';
import type { ServiceError } from '../src/model/service-error.ts';

/** Work that is at work until it is ended, in the order in which it began. */
class Scene {
  readonly shares: Shares;
  readonly begun: string[] = [];
  readonly #ends = new Map<string, PromiseWithResolvers<string>>();

  /** `others`: what is done before work that waited begins. */
  constructor(limits: Partial<ShareLimits> = {}, others = (): void => undefined) {
    const nextTurn = async (): Promise<void> => others();
    this.shares = new Shares({ atOnce: 2, ofClient: 1, waitingOfClient: 3, ...limits }, { nextTurn });
  }

  ask(
    client: string,
    name: string,
    more: { question?: string; isGone?: () => boolean } = {},
  ): Promise<string | undefined> {
    return this.shares.run({ client, ...more }, () => {
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

it('one client keeps no other away, however much it asks for', async () => {
  const scene = new Scene();
  for (const name of ['low 1', 'low 2', 'low 3', 'low 4']) void scene.ask('low', name);
  void scene.ask('a', 'a 1');
  expect(scene.begun).toEqual(['low 1', 'a 1']);
});

it('clients take turns, and one client is served in order', async () => {
  const scene = new Scene({ atOnce: 1 });
  for (const name of ['low 1', 'low 2', 'low 3', 'low 4']) void scene.ask('low', name);
  for (const name of ['a 1', 'a 2', 'b 1']) void scene.ask(name.slice(0, 1), name);
  for (let done = 0; done < 7; done += 1) await scene.end(scene.begun.at(-1) ?? '');
  expect(scene.begun).toEqual(['low 1', 'low 2', 'a 1', 'b 1', 'low 3', 'a 2', 'low 4']);
});

it('one more of a client than may wait is refused, and others are not', async () => {
  const scene = new Scene();
  for (const name of ['low 1', 'low 2', 'low 3', 'low 4']) void scene.ask('low', name);
  const words =
    'Too many requests: a client has 1 requests like this one at once, and 3 more may wait; ask again once one of them is answered';
  const refusal = { code: 'too_many_requests', message: words } satisfies Partial<ServiceError>;
  expect(() => scene.ask('low', 'low 5')).toThrow(expect.objectContaining(refusal));
  void scene.ask('a', 'a 1');
  await scene.end('low 1');
  void scene.ask('low', 'low 6');
  expect(scene.begun).toEqual(['low 1', 'a 1', 'low 2']);
});

it('equal questions that wait are answered by one piece of work, which begins after all of them', async () => {
  const scene = new Scene({ atOnce: 3, ofClient: 2 });
  const question = 'list';
  const told = [scene.ask('a', 'a 1', { question }), scene.ask('a', 'a 2', { question })];
  for (const name of ['a 3', 'a 4', 'a 5', 'a 6', 'a 7']) told.push(scene.ask('a', name, { question }));
  told.push(scene.ask('b', 'b 1', { question }));
  expect(scene.begun).toEqual(['a 1']);
  await scene.end('a 1');
  expect(scene.begun).toEqual(['a 1', 'a 2']);
  await scene.end('a 2');
  expect(await Promise.all(told)).toEqual(['a 1 is done', ...Array.from({ length: 7 }, () => 'a 2 is done')]);
  void scene.ask('b', 'b 2', { question });
  expect(scene.begun).toEqual(['a 1', 'a 2', 'b 2']);
});

it('nothing is done for those who have gone', async () => {
  const scene = new Scene({ atOnce: 1 });
  void scene.ask('a', 'a 1');
  const gone = scene.ask('b', 'b 1', { isGone: () => true });
  const shared = [
    scene.ask('b', 'b 2', { question: 'list', isGone: () => true }),
    scene.ask('c', 'c 1', { question: 'list', isGone: () => false }),
  ];
  await scene.end('a 1');
  expect(await gone).toBeUndefined();
  await scene.end('c 1');
  expect(await Promise.all(shared)).toEqual(['c 1 is done', 'c 1 is done']);
  expect(scene.begun).toEqual(['a 1', 'c 1']);
});

it('a failure is that of those who asked, and the next has its turn', async () => {
  const scene = new Scene({ atOnce: 1 });
  const [first, second] = [scene.ask('a', 'a 1'), scene.ask('b', 'b 1')];
  const failed = expect(first).rejects.toThrow('broken');
  await scene.end('a 1', new Error('broken'));
  await failed;
  await scene.end('b 1');
  expect(await second).toBe('b 1 is done');
});

it('others have their turn before work that waited begins', async () => {
  const order: string[] = [];
  const scene = new Scene({ atOnce: 1 }, () => void order.push('others'));
  void scene.ask('a', 'a 1');
  void scene.ask('a', 'a 2');
  expect(order).toEqual([]);
  await scene.end('a 1');
  expect([order, scene.begun]).toEqual([['others'], ['a 1', 'a 2']]);
  await scene.end('a 2');
  expect(order).toEqual(['others']);
});

it('a line gives its items out in turn, and forgets those that are removed', () => {
  const line = new FairLine<string>();
  for (const item of ['a1', 'a2', 'a3', 'b1', 'c1']) line.add(item.slice(0, 1), item);
  line.remove('c', 'c1');
  line.remove('c', 'c1');
  expect([line.size, line.countOf('a'), line.countOf('c')]).toEqual([4, 3, 0]);
  expect(line.takeNext((item) => item !== 'a1')).toBe('b1');
  expect(line.takeUpTo(2)).toEqual(['a1', 'a2']);
  line.add('b', 'b2');
  expect(line.takeUpTo(5)).toEqual(['a3', 'b2']);
  expect([line.size, line.takeNext()]).toEqual([0, undefined]);
});
