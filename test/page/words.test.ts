// The words of the page: commands to paste, times, values, addresses, and the order of names.
import { expect, it } from 'vitest';
import { INSTANCE_STATUSES, STATES } from '../../src/model/state.ts';
import { questionsOf, viewAt } from '../../src/page/browser/addresses.js';
import { layoutOf } from '../../src/page/browser/layout.js';
import {
  actionParts,
  counted,
  distance,
  duration,
  forgeAddress,
  kindOf,
  lastLineFirst,
  STATE_ORDER,
  STATUS_ORDER,
  shownValue,
  signOf,
  textParts,
  worstFirst,
} from '../../src/page/browser/words.js';
import { ATTENTION_KINDS } from '../../src/service/answers.ts';

it.each([
  ['treeline approve beef', ['treeline approve beef']],
  ['correct that, then push, or: treeline retry --resource web-1', ['treeline retry --resource web-1']],
  [
    'treeline retry --resource web-1; or, to forget it and leave it as it is: treeline retain web-1',
    ['treeline retry --resource web-1', 'treeline retain web-1'],
  ],
  ['treeline problems; correct that, then push', ['treeline problems']],
  ['treeline retry --resource web-1, or push a commit that changes it', ['treeline retry --resource web-1']],
  ['treeline retry --resource $(reboot) --all', ['treeline retry --resource']],
  ['treeline retry a`reboot`; then push', ['treeline retry']],
  ['treeline retry "$(reboot)" a|b', ['treeline retry']],
  ['correct treeline.yaml, and start the controller again', []],
  ['correct stacks/instances/shop.yaml, and push', []],
])('the commands in %j are %j', (action, commands) => {
  const parts = actionParts(action);
  expect(parts.filter(({ kind }) => kind === 'command').map(({ text }) => text)).toEqual(commands);
  expect(parts.map(({ text }) => text).join('')).toBe(action);
});

it('every state, status and cause has its own words and order', () => {
  expect([...STATE_ORDER].sort()).toEqual([...STATES].sort());
  expect([...STATUS_ORDER].sort()).toEqual([...INSTANCE_STATUSES].sort());
  expect(ATTENTION_KINDS.filter((kind) => kindOf(kind)[1] === kind)).toEqual([]);
  const unknown = signOf('of a later version');
  const others = [...STATES, ...INSTANCE_STATUSES].filter((state) => state !== 'Invalid');
  expect(others.filter((state) => signOf(state).join() === unknown.join())).toEqual([]);
  expect(signOf('Failed')).toEqual(['bad', '✕']);
});

it.each([
  [0, '0 s'],
  [59_999, '59 s'],
  [60_000, '1 min'],
  [7_199_000, '1 h'],
  [172_800_000, '2 d'],
  [-5, '0 s'],
])('a duration of %d ms is shown as %s', (ms, words) => {
  expect(duration(ms)).toBe(words);
});

it('times, numbers and values are worded', () => {
  const now = Date.parse('2026-11-20T10:00:00Z');
  expect(distance('2026-11-20T09:58:00Z', now)).toBe('2 min ago');
  expect(distance('2026-11-20T10:00:30Z', now)).toBe('in 30 s');
  expect([counted(1, 'server'), counted(10_015, 'server')]).toEqual(['1 server', '10,015 servers']);
  expect([null, 'a', 5, false, ['a', 1], { a: 1 }].map(shownValue)).toEqual([
    '–',
    'a',
    '5',
    'false',
    'a, 1',
    '{"a":1}',
  ]);
});

it.each([
  ['see https://a.example/b?c=1.', [['address', 'https://a.example/b?c=1']]],
  ['javascript:alert(1) data:x http:', []],
  ['<a href="https://a.example">', [['address', 'https://a.example']]],
  [`revert ${'ab'.repeat(20)}, not ${'ab'.repeat(21)}`, [['commit', 'ab'.repeat(20)]]],
  ['since 2026-11-29T13:00:00.000Z: nothing', [['time', '2026-11-29T13:00:00.000Z']]],
])('the links and times of %j are found', (text, found) => {
  const parts = textParts(text);
  expect(parts.filter(({ kind }) => kind !== 'words').map((part) => [part.kind, part.text])).toEqual(found);
  expect(parts.map((part) => part.text).join('')).toBe(text);
});

it('links to the forge use http or https and an encoded path', () => {
  const place = { commit: 'abc', path: 'types/a b/#.yaml', line: 3 };
  const file = 'https://forge.example/{commit}/{path}#L{line}';
  expect(forgeAddress(file, place)).toBe('https://forge.example/abc/types/a%20b/%23.yaml#L3');
  expect([null, undefined, 'javascript:{commit}'].map((template) => forgeAddress(template, place))).toEqual([
    null,
    null,
    null,
  ]);
});

it('lists put the worst first, names in natural order, and the last line of a traceback first', () => {
  const servers = [
    ['done', 'a-2'],
    ['done', 'a-10'],
    ['failed', 'b'],
    ['done', 'a-1'],
  ] as const;
  const sorted = servers.toSorted(worstFirst(STATE_ORDER)).map(([, name]) => name);
  expect(sorted).toEqual(['b', 'a-1', 'a-2', 'a-10']);
  expect(lastLineFirst('Traceback:\n  at x\nValueError: no\n')).toEqual({
    line: 'ValueError: no',
    whole: 'Traceback:\n  at x\nValueError: no',
  });
  expect(lastLineFirst('no')).toEqual({ line: 'no', whole: null });
});

it('the graph draws groups after their dependencies, also in a cycle', () => {
  const server = (name: string, group: string, dependsOn: string[]) => ({ name, group, state: 'done', dependsOn });
  const servers = [server('w', 'web', ['d', 'other-db']), server('d', 'db', []), server('l', 'lb', ['w'])];
  const { boxes, lines } = layoutOf(servers);
  const at = Object.fromEntries(boxes.map(({ key, x }) => [key, x]));
  expect([at.db, at['other-db']]).toEqual([0, 0]);
  expect(at.lb).toBeGreaterThan(at.web ?? 0);
  expect(lines.map(({ from, to }) => `${from.key} ${to.key}`).sort()).toEqual(['db web', 'other-db web', 'web lb']);
  expect(layoutOf([server('a', 'x', ['b']), server('b', 'y', ['a'])]).boxes).toHaveLength(2);
});

it.each([
  ['/ui/', 'overview', ''],
  ['/ui/servers/', 'servers', ''],
  ['/ui/servers/a%2Fb', 'server', 'a/b'],
  ['/ui/instances/%E0%A4%A', 'instance', '%E0%A4%A'],
  ['/ui/changes/abc', 'change', 'abc'],
  ['/ui/instances', 'nowhere', ''],
  ['/ui/a/b/c', 'nowhere', ''],
])('%s shows %s', (address, kind, name) => {
  const view = viewAt(address);
  expect(view).toEqual({ kind, name });
  const { needed, optional } = questionsOf(view, { search: 'a&b=c' });
  for (const path of Object.values({ ...needed, ...optional })) expect(path).toMatch(/^\/[^\s#]*$/);
});
