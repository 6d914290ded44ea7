// Summarizes the progress of all instances, and what needs a person. See docs/rest.md, operations.
import { type Steps, sortNames, visitAll } from '../../base/steps.ts';
import type { Client } from '../../model/objects.ts';
import type { AttentionItem, Overview } from '../answers.ts';
import { instanceNames } from '../read/instance-views.ts';
import { type ProgressFacts, type View, viewAtMoment } from '../views.ts';
import { type AttentionFacts, attentionIn, firstOf } from './attention.ts';
import { heldItems } from './held-items.ts';
import { StateCounter } from './server-items.ts';
import {
  explainWaits,
  type KnownReplicas,
  mistakesByInstance,
  type PresentFacts,
  replicaFacts,
  unfollowed,
  type WhyFacts,
} from './why.ts';

type OverviewFacts = PresentFacts & KnownReplicas;

/**
 * Returns work that finds how far all instances are. The rows are those of the moment of this call; the waits of servers, and the
 * stalls that follow from waits, are those of the moment at which an instance has its turn.
 */
export function buildOverview(by: Client, facts: OverviewFacts): Steps<Overview> {
  const held = heldItems(facts.view.rows, facts.refused);
  return overviewAt(by, { facts, held, ...concernedServers(facts), moment: viewAtMoment(facts.view) });
}

/** Returns work that lists all that needs a person, as administrators see it. Servers count as at the moment at which each has its turn. */
export function* buildAttention(facts: OverviewFacts): Steps<readonly AttentionItem[]> {
  const { rows, desired } = facts.view;
  const found = { held: heldItems(rows, facts.refused), ...concernedServers(facts) };
  const mistakesOf = yield* mistakesByInstance(desired);
  return yield* attentionIn({ role: 'administrator' }, { ...facts, ...found, mistakesOf });
}

function concernedServers({ view: { rows }, hasEntry, noticed }: OverviewFacts) {
  const orphaned = hasEntry && rows.index.serversOfEntries((entry) => !hasEntry(entry));
  const unheard = noticed && rows.index.serversOfProxies((tags) => noticed.unheardSince(tags) !== undefined);
  return { needing: rows.index.needingPerson(), orphaned, unheard };
}

interface OverviewParts {
  readonly facts: WhyFacts & KnownReplicas;
  readonly held: Overview['held'];
  readonly needing: ReadonlyMap<string, readonly string[]>;
  readonly orphaned: ReadonlyMap<string, readonly string[]> | undefined;
  readonly unheard: AttentionFacts['unheard'];
  readonly moment: Steps<View<ProgressFacts>>;
}

function* overviewAt(by: Client, { facts, held, needing, orphaned, unheard, moment }: OverviewParts): Steps<Overview> {
  const view = yield* moment;
  const refused = facts.isActive ? undefined : facts.refused;
  const mistakesOf = yield* mistakesByInstance(view.desired);
  const instances: Overview['instances'][number][] = [];
  yield* visitAll(yield* sortNames([...instanceNames(view)]), (name) => {
    // What is away is told once, and not of each.
    const own = { ...facts, view, refused, mistakesOf, outages: {}, noticed: undefined };
    const { status, summary, counts } = explainWaits(name, by, own, 1);
    instances.push({ name, status, summary, counts });
  });
  const counts = new StateCounter();
  yield* visitAll(view.rows.list('server').values(), ({ state }) => counts.add(state));
  return {
    commit: view.desired.commit,
    newest: unfollowed(by, facts.refused),
    held,
    ...(by.role === 'proxy' ? {} : { author: facts.author ?? null, ...facts.outages }),
    ...replicaFacts(by, facts),
    ...firstOf(yield* attentionIn(by, { ...facts, view, held, needing, orphaned, unheard, mistakesOf })),
    counts: counts.counts(),
    instances,
  };
}
