// Renders the table of transitions as Markdown for ARCHITECTURE.md. Pure; scripts/write-transitions.ts writes the file.
import { STATES, type State } from '../model/state.ts';
import { accepts, EVENT_MEANINGS, EVENTS, type Event, transition } from './transitions.ts';

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
