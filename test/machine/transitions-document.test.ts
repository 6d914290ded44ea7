import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { renderTransitions, withTransitions } from '../../scripts/write-transitions.ts';
import { EVENT_MEANINGS, EVENTS } from '../../src/machine/transitions.ts';
import { STATES } from '../../src/model/state.ts';

const lines = renderTransitions().split('\n');

describe('the tables', () => {
  test('have a row for every state and every event, in order', () => {
    const firsts = lines.map((line) => line.split(' | ')[0]?.replace('| ', ''));
    const states = STATES.map((state) => `\`${state}\``);
    const events = EVENTS.map((event) => `*${event}*`);
    expect(firsts).toEqual(['in this state', '---', ...states, '', 'event', '---', ...events]);
  });

  test('a state names where each event leads, and what changes nothing', () => {
    expect(lines).toContain(
      '| `deleting` | `pending` on *succeed*; `retrying` on *fail*; `unknown` on *lose*; `failed` on *give up* | *want*, *unwant* |',
    );
    expect(lines.find((line) => line.startsWith('| `retrying` |'))).toMatch(/ \| – \|$/);
  });

  test('an event says what it means', () => {
    for (const event of EVENTS) expect(lines).toContain(`| *${event}* | ${EVENT_MEANINGS[event]} |`);
  });

  test('no cell breaks a row', () => {
    const widths = new Set(lines.filter((line) => line !== '').map((line) => line.split('|').length - 2));
    expect(widths).toEqual(new Set([3, 2]));
  });
});

describe('in a document', () => {
  test('the table stands between the markers, and nothing else changes', () => {
    const before = '# A\n\n<!-- transitions -->\nold\nrows\n<!-- /transitions -->\n\nB\n';
    const after = withTransitions(before);
    expect(after).toBe(`# A\n\n<!-- transitions -->\n${renderTransitions()}\n<!-- /transitions -->\n\nB\n`);
    expect(withTransitions(after)).toBe(after);
  });

  test.each(['# A\n', '<!-- transitions -->\n', '<!-- /transitions -->\n<!-- transitions -->\n'])(
    '%j has no place',
    (text) => {
      expect(() => withTransitions(text)).toThrow('<!-- /transitions -->');
    },
  );

  test('ARCHITECTURE.md shows the table as it is', () => {
    const document = readFileSync(new URL('../../ARCHITECTURE.md', import.meta.url), 'utf8');
    expect(withTransitions(document), 'run: npm run docs:transitions').toBe(document);
  });
});
