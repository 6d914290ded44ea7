// `treeline events` and --follow.
import { expect, it, onTestFinished, vi } from 'vitest';
import { createProgram } from '../../src/cli/run.ts';
import type { InstanceEvent } from '../../src/model/instance-event.ts';
import { ServiceError } from '../../src/model/service-error.ts';
import { EVENTS } from '../support/sample-operator.ts';
import { CommandsHere } from './commands-here.ts';

const commands = new CommandsHere();

const GAP = '(events before the next one are not kept any more)';
const LINE =
  '2026-11-20T10:13:56.000Z  shop-web: pending -> creating  create begins  (commit ' +
  `${EVENTS[0]?.commit?.slice(0, 12)})`;

/** Answers with these pages, and returns the ids after which they were asked for. */
function answerWith(...pages: readonly (readonly Partial<InstanceEvent>[])[]): number[] {
  const asked: number[] = [];
  const left = [...pages];
  commands.answer('operator', {
    async events(_by, _instance, { after }) {
      asked.push(after);
      const page = left.shift();
      if (page === undefined) throw new ServiceError('not_found', 'there are no more pages');
      const events = page.map((event, index) => ({ ...EVENTS[0], id: after + index + 1, ...event }) as InstanceEvent);
      return { events, gap: false };
    },
  });
  return asked;
}

it('treeline events prints a line per event, and reports gaps', async () => {
  expect(await commands.lines('events', 'shop')).toEqual([GAP, ...EVENTS.map(() => LINE)]);
  expect(await commands.lines('events', 'shop', '--since', '6')).toEqual([LINE, LINE]);
  expect(await commands.lines('events', 'shop', '--since', '9')).toEqual(['there are no events']);
  const all = LINE.replace('Z  ', 'Z  shop  ');
  expect(await commands.lines('events')).toEqual([GAP, ...EVENTS.map(() => all)]);
});

it('treeline events prints one JSON object per line', async () => {
  const lines = await commands.lines('events', 'shop', '--format', 'json');
  expect(lines.map((line) => JSON.parse(line))).toEqual(EVENTS);
  const [first = ''] = await commands.lines('events', '--since', '7', '--format', 'json');
  expect(JSON.parse(first)).toEqual({ ...EVENTS[4], instance: 'shop' });
});

it('treeline events prints client and reason on one line', async () => {
  const whole = {
    resource: null,
    from: null,
    to: 'Suspended',
    commit: null,
    client: 'A1',
    clientName: null,
    reason: 'suspend: a\nb\u001b[2J',
  };
  answerWith([whole, { ...whole, to: null, reason: 'approve', clientName: 'Ann\nRoot' }]);
  expect(await commands.lines('events', 'shop')).toEqual([
    '2026-11-20T10:13:56.000Z  nothing -> Suspended  suspend: a\\u000ab\\u001b[2J  (client A1)',
    '2026-11-20T10:13:56.000Z  approve  (client A1 "Ann\\u000aRoot")',
  ]);
});

it('treeline events reads all pages', async () => {
  const asked = answerWith(
    Array.from({ length: 1000 }, () => ({})),
    [{}],
  );
  expect(await commands.lines('events', 'shop')).toHaveLength(1001);
  expect(asked).toEqual([0, 1000]);
});

it.each([
  ['2026-11-20T10:00:00Z', Date.parse('2026-11-20T10:00:00Z')],
  ['12h', expect.closeTo(Date.now() - 12 * 3_600_000, -6)],
  ['30m', expect.closeTo(Date.now() - 30 * 60_000, -6)],
  ['1795459980079', 1795459980079],
])('treeline events reads since %s', async (since, least) => {
  const asked = answerWith([]);
  await commands.run('events', 'shop', '--since', since);
  expect(asked.map((after) => after + 1)).toEqual([least]);
});

it.each([
  [['--since=yesterday'], 'or an id, not "yesterday"'],
  [['--since=-1h'], 'or an id, not "-1h"'],
  [['--since=9999999d'], 'or an id, not "9999999d"'],
  [['shap'], 'There is no "shap"'],
])('treeline events fails for %j', async (args, message) => {
  expect(await commands.failure(['events', ...args])).toContain(message);
});

it('treeline events --follow prints new events, and continues after the stream ends', { timeout: 30_000 }, async () => {
  const { sample, reader, register, identities } = commands.api;
  const { ledger, streams } = sample;
  const time = '2026-11-20T10:13:56.000Z';
  const recorded = { time, resource: null, from: null, to: null, commit: null, client: null };
  await ledger.recordEvents([{ ...recorded, instance: 'shop', reason: 'old' }]);
  const { newest } = await ledger.listEvents({ after: 0, limit: 0 });
  answerWith([{ id: newest }]);
  const printed: string[] = [];
  const spy = vi.spyOn(process.stdout, 'write').mockImplementation((text) => printed.push(String(text)) > 0);
  onTestFinished(() => spy.mockRestore());
  const program = await createProgram('events');
  const ran = program.parseAsync(['events', 'shop', '--follow', ...commands.options()], { from: 'user' });
  const failed = expect(ran).rejects.toThrow('No client is registered');
  await expect.poll(() => printed.length, { timeout: 10_000 }).toBe(1);
  await ledger.recordEvents([
    { ...recorded, instance: 'mail', reason: 'other' },
    { ...recorded, instance: 'shop', reason: 'ä new', client: 'A1', clientName: 'Ann' },
  ]);
  await expect.poll(() => printed[1], { timeout: 10_000 }).toBe(`${time}  ä new  (client A1 "Ann")\n`);
  streams.endAll();
  await ledger.recordEvents([{ ...recorded, instance: '*', reason: 'again' }]);
  await expect.poll(() => printed[2], { timeout: 10_000 }).toBe(`${time}  again\n`);
  reader.registry.delete(identities.administrator.serial);
  streams.endAll();
  await failed;
  register(identities.administrator, { role: 'administrator' });
});
