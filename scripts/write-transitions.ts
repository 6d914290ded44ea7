// Writes the table of transitions into ARCHITECTURE.md, between its two markers: `npm run docs:transitions`, after a
// change of src/machine/transitions.ts. A test fails where the two differ.
import { readFileSync, writeFileSync } from 'node:fs';
import { accepts, EVENT_MEANINGS, EVENTS, type Event, transition } from '../src/machine/transitions.ts';
import { STATES, type State } from '../src/model/state.ts';

const BEGIN = '<!-- transitions -->';
const END = '<!-- /transitions -->';

/** Returns a document with the table of now between its markers. Throws where it has not both, in that order. */
export function withTransitions(document: string): string {
  const begin = document.indexOf(BEGIN);
  const end = document.indexOf(END, begin);
  if (begin === -1 || end === -1) throw new Error(`the document needs a line ${BEGIN} and below it a line ${END}`);
  return `${document.slice(0, begin)}${BEGIN}\n${renderTransitions()}\n${document.slice(end)}`;
}

/** Returns two Markdown tables, of all states and of all events, in their order. No line break at the end. */
export function renderTransitions(): string {
  const states = table(
    ['in this state', 'an event leads to', 'these change nothing'],
    STATES.map((state) => [`\`${state}\``, moves(state), names(eventsBetween(state, state))]),
  );
  const events = table(
    ['event', 'says'],
    EVENTS.map((event) => [name(event), EVENT_MEANINGS[event]]),
  );
  return `${states}\n\n${events}`;
}

/** `` `done` on *succeed*, *settle*; `blocked` on *hold* `` */
function moves(from: State): string {
  const targets = STATES.filter((to) => to !== from && eventsBetween(from, to).length > 0);
  return targets.map((to) => `\`${to}\` on ${names(eventsBetween(from, to))}`).join('; ');
}

function eventsBetween(from: State, to: State): Event[] {
  return EVENTS.filter((event) => accepts(from, event) && transition(from, event) === to);
}

function names(events: readonly Event[]): string {
  return events.length === 0 ? '–' : events.map(name).join(', ');
}

function name(event: Event): string {
  return `*${event}*`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`);
  return lines.join('\n');
}

if (import.meta.main) {
  const file = new URL('../ARCHITECTURE.md', import.meta.url);
  writeFileSync(file, withTransitions(readFileSync(file, 'utf8')));
}
