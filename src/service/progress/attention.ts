// Lists the causes that need an operator, with their acknowledgements. docs/concepts.md, what needs an operator.
import { compareNames } from '../../model/names.ts';
import { ATTENTION_KINDS, type Attention, type AttentionItem, type Cause } from '../answers.ts';
import type { Facts } from './facts.ts';
import { clientNameFor } from './why.ts';

const ITEMS_MAX = 1_000;
const INSTANCES_MAX = 100;

/** Returns the causes by kind, then by id, acknowledged ones last. Each has all of its instances. */
export function attentionIn(causes: readonly Cause[], facts: Facts): readonly AttentionItem[] {
  const rank = ({ kind, acknowledged }: AttentionItem): number =>
    ATTENTION_KINDS.indexOf(kind) + (acknowledged === null ? 0 : ATTENTION_KINDS.length);
  const items = causes.map((cause) => acknowledgedIn(cause, facts));
  return items.sort((a, b) => rank(a) - rank(b) || compareNames(a.id, b.id));
}

/** Returns the items to show, and the number of those left out. */
export function firstOf(items: readonly AttentionItem[]): Attention {
  const attention = items.slice(0, ITEMS_MAX).map(shortened);
  const leftOut = items.length - attention.length;
  return { attention, ...(leftOut > 0 ? { attentionLeftOut: leftOut } : {}) };
}

/** Returns an item with only the instances to show. */
export function shortened(item: AttentionItem): AttentionItem {
  return item.instances.length <= INSTANCES_MAX ? item : { ...item, instances: item.instances.slice(0, INSTANCES_MAX) };
}

/** A cause counts as acknowledged only if it is acknowledged for every instance that it concerns. */
function acknowledgedIn(cause: Cause, { scope, view: { rows, desired, now } }: Facts): AttentionItem {
  const known = cause.instances.flatMap((instance) => {
    const row = rows.read('acknowledgement', instance);
    return row?.causes.includes(cause.id) && Date.parse(row.until) > now ? [row] : [];
  });
  const [first] = known.sort((a, b) => Date.parse(a.until) - Date.parse(b.until));
  if (first === undefined || known.length < cause.instances.length) return { ...cause, acknowledged: null };
  const { until, reason } = first;
  return { ...cause, acknowledged: { by: clientNameFor(first.by, scope, desired), until, reason } };
}
