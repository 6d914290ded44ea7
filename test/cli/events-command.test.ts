// `treeline events`, run in this process against the interface alone.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { addEventsCommand } from '../../src/cli/events-command.ts';
import type { InstanceEvent } from '../../src/model/instance-event.ts';
import { ServiceError } from '../../src/model/service-error.ts';
import { EVENTS } from '../support/sample-operator.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { startTestApi, type TestApi } from '../support/test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.api.close());

function options(): string[] {
  const folder = temporaryDirectory();
  const { cert, key } = api.identities.administrator;
  for (const [name, text] of Object.entries({ cert, key, ca: api.server.ca })) writeFileSync(join(folder, name), text);
  const files = ['cert', 'key', 'ca'].flatMap((name) => [`--${name}`, join(folder, name)]);
  return ['--server', `https://127.0.0.1:${api.server.port}`, ...files];
}

/** Runs the command, and returns the lines that it prints before it ends, or fails as expected. */
async function run(args: readonly string[], failure?: string, printed: string[] = []): Promise<string[]> {
  const spy = vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    printed.push(String(text));
    return true;
  });
  try {
    const program = new Command('treeline').exitOverride().configureOutput({ writeErr: () => undefined });
    addEventsCommand(program);
    const ran = program.parseAsync(['events', ...args, ...options()], { from: 'user' });
    if (failure === undefined) await ran;
    else await expect(ran).rejects.toThrow(failure);
  } finally {
    spy.mockRestore();
  }
  return printed.join('').trimEnd().split('\n');
}

const LINE =
  '2026-11-20T10:13:56.000Z  shop-web: pending -> creating  create begins  (commit ' +
  `${EVENTS[0]?.commit?.slice(0, 12)})`;

function answerWith(...pages: readonly (readonly Partial<InstanceEvent>[])[]): number[] {
  const { events } = api.operator;
  onTestFinished(() => {
    api.operator.events = events;
  });
  const asked: number[] = [];
  const left = [...pages];
  api.operator.events = async (_by, _instance, { after }) => {
    asked.push(after);
    const page = left.shift();
    if (page === undefined) throw new ServiceError('not_found', 'there are no more pages');
    return {
      events: page.map((event, index) => ({ ...EVENTS[0], id: after + index + 1, ...event }) as InstanceEvent),
      gap: false,
    };
  };
  return asked;
}

it('prints a line for each, and says where some are missing', async () => {
  expect(await run(['shop'])).toEqual([
    '(events before the next one are not kept any more)',
    ...EVENTS.map(() => LINE),
  ]);
  expect(await run(['shop', '--after', '5'])).toEqual([LINE, LINE]);
});

it('prints one JSON object a line', async () => {
  const lines = await run(['shop', '--format', 'json']);
  expect(lines.map((line) => JSON.parse(line))).toEqual(EVENTS);
});

it('prints who asked, an event of the whole instance, and no line break of a reason', async () => {
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
  expect(await run(['shop'])).toEqual([
    '2026-11-20T10:13:56.000Z  nothing -> Suspended  suspend: a\\u000ab\\u001b[2J  (client A1)',
    '2026-11-20T10:13:56.000Z  approve  (client A1 "Ann\\u000aRoot")',
  ]);
});

it('reads all pages', async () => {
  const asked = answerWith(
    Array.from({ length: 1000 }, () => ({})),
    [{}],
  );
  expect(await run(['shop'])).toHaveLength(1001);
  expect(asked).toEqual([0, 1000]);
});

const RECORDED = { time: '2026-11-20T10:13:56.000Z', resource: null, from: null, to: null, commit: null, client: null };

it('prints the events of all instances with their names', async () => {
  const line = LINE.replace('Z  ', 'Z  shop  ');
  expect(await run([])).toEqual(['(events before the next one are not kept any more)', ...EVENTS.map(() => line)]);
  const [first] = await run(['--after', '6', '--format', 'json']);
  expect(JSON.parse(first ?? '')).toEqual({ ...EVENTS[4], instance: 'shop' });
});

it.each([
  ['2026-11-20T10:00:00Z', Date.parse('2026-11-20T10:00:00Z')],
  ['12h', expect.closeTo(Date.now() - 12 * 3_600_000, -6)],
  ['30m', expect.closeTo(Date.now() - 30 * 60_000, -6)],
  ['1795459980079', 1795459980079],
])('reads since %s', async (since, least) => {
  const asked = answerWith([]);
  await run(['shop', '--since', since]);
  expect(asked.map((after) => after + 1)).toEqual([least]);
});

it.each([['yesterday'], ['-1h'], ['9999999d']])('refuses to read since %s', async (since) => {
  await run([`--since=${since}`], `or an id, not "${since}"`);
});

it('with --follow prints what comes, from the last one on, and goes on where the stream ends', {
  timeout: 30_000,
}, async () => {
  const { ledger, streams } = api.sample;
  await ledger.recordEvents([{ ...RECORDED, instance: 'shop', reason: 'old' }]);
  const { newest } = await ledger.listEvents({ after: 0, limit: 0 });
  answerWith([{ id: newest }]);
  const printed: string[] = [];
  const ran = run(['shop', '--follow'], 'No client is registered', printed);
  await expect.poll(() => printed.length, { timeout: 10_000 }).toBe(1);
  await ledger.recordEvents([
    { ...RECORDED, instance: 'mail', reason: 'other' },
    { ...RECORDED, instance: 'shop', reason: 'ä new', client: 'A1', clientName: 'Ann' },
  ]);
  await expect.poll(() => printed[1], { timeout: 10_000 }).toBe(`${RECORDED.time}  ä new  (client A1 "Ann")\n`);
  streams.endAll();
  await ledger.recordEvents([{ ...RECORDED, instance: '*', reason: 'again' }]);
  await expect.poll(() => printed[2], { timeout: 10_000 }).toBe(`${RECORDED.time}  again\n`);
  expect(printed).toHaveLength(3);
  api.reader.registry.delete(api.identities.administrator.serial);
  streams.endAll();
  await ran;
  api.register(api.identities.administrator, { role: 'administrator' });
});

it('fails where there is no such instance', async () => {
  await run(['shap'], 'There is no "shap"');
});
