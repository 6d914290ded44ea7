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
async function run(args: readonly string[], failure?: string): Promise<string[]> {
  const printed: string[] = [];
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

it('with --follow prints what comes, from the last one on', async () => {
  const asked = answerWith([{}, {}], [], [{}]);
  expect(await run(['shop', '--follow'], 'there are no more pages')).toEqual([LINE, LINE, LINE]);
  expect(asked).toEqual([0, 2, 2, 3]);
}, 20_000);

it('fails where there is no such instance', async () => {
  await run(['shap'], 'There is no "shap"');
});
