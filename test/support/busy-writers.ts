// Many who write through the interface at once, while an outsider pushes all the time: what was answered with 201 is in the
// history exactly once, and nothing else is.
import type { Agent } from 'node:https';
import { expect } from 'vitest';
import { keepAlive, type Reply } from './https-client.ts';
import { startOutsider } from './outsider.ts';
import { runController } from './running-controller.ts';
import { createSite } from './site.ts';
import { expectIntact, logOf, requestIdOf } from './written-history.ts';

const ATTEMPTS_MAX = 20;
const WRITES_MAX = 200;
const FILES = { 'tree.yaml': 'name: global\ntype: common\n' };

export interface Busy {
  readonly writers: number;
  /** How many writes each of them makes at least, one after the other: all go on until the outsider has pushed twice. */
  readonly writes: number;
}

/** Lets them write, and checks everything in the end. */
export async function writeBesideOutsider({ writers, writes }: Busy): Promise<void> {
  const site = await createSite(FILES);
  const { repository } = site;
  const running = await runController(site);
  const base = await repository.head();
  await running.untilDone(base);
  const outsider = await startOutsider(repository.path);

  /** Writes again what the repository had no room for, as `Retry-After` asks for. */
  async function post(writer: number, revision: number, agent: Agent): Promise<Reply> {
    const body = JSON.stringify({ name: `writer-${writer}`, revision });
    const headers = { 'Content-Type': 'application/json' };
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
      const reply = await running.request('/types/configuration/', { method: 'POST', headers, body, agent });
      if (reply.status === 201) return reply;
      expect(reply.body).toMatchObject({ error: 'not_ready', return_code: 503 });
    }
    throw new Error(`${body} was never written`);
  }

  async function write(writer: number): Promise<readonly Reply[]> {
    const agent = keepAlive();
    const own: Reply[] = [];
    const isOver = (revision: number): boolean => revision > writes && (outsider.pushed() > 1 || revision > WRITES_MAX);
    for (let revision = 1; !isOver(revision); revision += 1) {
      own.push(await post(writer, revision, agent));
      const read = await running.request(`/types/configuration/writer-${writer}/`, { agent });
      expect(read.body).toMatchObject({ revision });
    }
    agent.destroy();
    return own;
  }

  const replies = await Promise.all(Array.from({ length: writers }, (_, writer) => write(writer)));
  const outside = await outsider.stop();
  const history = await logOf(repository, `${base}..main`);
  const written = history.filter(({ requestId }) => requestId !== '').map(({ requestId }) => requestId);
  expect(written.toSorted()).toEqual(replies.flat().map(requestIdOf).toSorted());
  expect(history.filter(({ author }) => author === 'Test')).toHaveLength(outside);
  expect(history).toHaveLength(written.length + outside);
  expect(outside).toBeGreaterThan(1);
  for (const own of replies) {
    const order = own.map((reply) => written.indexOf(requestIdOf(reply)));
    expect(order).toEqual(order.toSorted((a, b) => a - b));
  }
  await expectIntact(repository);
}
