// Builds rows, specs and a world without obstacles for the tests of reconciling.

import type { DecisionContext } from '../../src/machine/decision.ts';
import type { Answer } from '../../src/model/call-result.ts';
import type { RunningAction, ServerRow } from '../../src/model/rows.ts';
import type { Spec } from '../../src/model/spec.ts';
import type { State } from '../../src/model/state.ts';
import { serverRow } from '../support/rows.ts';

export const NOW = Date.parse('2026-11-20T10:20:00.000Z');
export const SOON = NOW + 30_000;
export const RETRY = { attempts: 3, firstSeconds: 2, maxSeconds: 300, failedSeconds: 3600 };

/** Returns RFC 3339 with milliseconds. */
export function at(ms: number): string {
  return new Date(ms).toISOString();
}

/** The spec of web-1 with that size, with some fields replaced. */
export function specOf(size: string, fields: Partial<Spec> = {}): Spec {
  return {
    kind: 'Platform::Server',
    properties: { name: 'web-1', size },
    layers: {},
    configurationOnly: [],
    dependsOn: [],
    lists: [],
    ...fields,
  };
}

export const SMALL = specOf('small');
export const LARGE = specOf('large');

/** A server that was seen, is wanted small, and is looked after by the provider `lab`. */
export function rowIn(state: State, fields: Partial<ServerRow> = {}): ServerRow {
  return serverRow({ state, checked: true, provider: 'lab', wanted: SMALL, incarnation: 7, generation: 2, ...fields });
}

/** An action of `lab` that began a minute ago and may take two. */
export function running(operation: RunningAction['operation'], spec: Spec | null): RunningAction {
  return {
    id: `7.${operation}`,
    operation,
    spec,
    provider: 'lab',
    started: at(NOW - 60_000),
    deadline: at(NOW + 60_000),
  };
}

/** A world in which everything may be done at once, with some of it replaced. */
export function openContext(fields: Partial<DecisionContext> = {}): DecisionContext {
  return {
    now: NOW,
    waitMsMax: 24 * 3_600_000,
    providerFor: () => ({ name: 'lab', timeoutMs: 60_000 }),
    lostActionEnds: () => 0,
    outputs: { outputsOf: () => undefined, sinceOf: () => NOW },
    lostBecause: undefined,
    claimant: undefined,
    isInFlight: false,
    hasCapacity: () => true,
    lastCheck: 'answered',
    isCheckDue: false,
    stoppedUntil: undefined,
    updatesAreHeld: () => false,
    mayReplace: () => true,
    siteAwaitedUntil: () => undefined,
    unmetDependency: () => undefined,
    holder: () => undefined,
    hasSlot: () => true,
    ...fields,
  };
}

export function answerOf(outcome: Answer['outcome'], fields: Partial<Answer> = {}): Answer {
  return { outcome, message: '', outputs: {}, observed: {}, ...fields };
}
