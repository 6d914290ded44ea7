// Writes the values of a plan as Markdown: as JSON in code spans, cut, and of two long ones only what differs.
import { SECRET_VALUE } from '../../hiera/secrets.ts';
import { countOf } from '../../model/count-words.ts';
import type { Json } from '../../model/json.ts';
import type { Difference } from '../../plan/plan.ts';
import { code } from './markdown-text.ts';
import { missingIn } from './missing-items.ts';
import { secretText } from './secret-text.ts';

/** The length of a value in characters, beyond which it is cut. */
const VALUE_LENGTH_MAX = 100;
/** Items of a list that are added or removed and named. */
const ITEMS_MAX = 6;
/** Characters that two long texts have in common and that are shown before the first difference. */
const CONTEXT_LENGTH = 12;

/** Returns a value as JSON in a code span; `none` where there is none. */
export function valueText(value: Json | null): string {
  return value === null ? 'none' : code(JSON.stringify(value), VALUE_LENGTH_MAX);
}

/** Returns both values with an arrow between; of long lists the items, and of long texts the part, that differ; of secrets no value. */
export function differenceText({ from, to }: Difference): string {
  if (from === SECRET_VALUE || to === SECRET_VALUE) return secretText({ from, to });
  if (isLong(from) && isLong(to)) {
    if (Array.isArray(from) && Array.isArray(to)) return listDifference(from, to);
    return longDifference(JSON.stringify(from), JSON.stringify(to));
  }
  return `${valueText(from)} → ${valueText(to)}`;
}

function isLong(value: Json | null): boolean {
  return value !== null && JSON.stringify(value).length > VALUE_LENGTH_MAX;
}

function listDifference(from: readonly Json[], to: readonly Json[]): string {
  const parts = [
    ...itemsText('removes', missingIn(from, to)),
    ...itemsText('adds', missingIn(to, from)),
    `${countOf(from.length, 'item')} → ${to.length}`,
  ];
  if (parts.length === 1) return `another order of ${countOf(to.length, 'item')}`;
  return parts.join(', ');
}

function itemsText(verb: string, items: readonly Json[]): readonly string[] {
  if (items.length === 0) return [];
  const more = items.length > ITEMS_MAX ? ` and ${items.length - ITEMS_MAX} more` : '';
  return [`${verb} ${items.slice(0, ITEMS_MAX).map(valueText).join(', ')}${more}`];
}

function longDifference(from: string, to: string): string {
  let same = 0;
  while (same < from.length && from[same] === to[same]) same += 1;
  const start = Math.max(0, same - CONTEXT_LENGTH);
  const part = (text: string): string => code(`${start > 0 ? '…' : ''}${text.slice(start)}`, VALUE_LENGTH_MAX);
  return `${part(from)} → ${part(to)}`;
}

/** Returns a property with its difference. */
export function propertyText(name: string, difference: Difference): string {
  return `${code(name)}: ${differenceText(difference)}`;
}
