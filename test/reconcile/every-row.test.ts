// Whatever a row says, there is a next step, and every answer can be taken in: a pass that throws is tried again for ever.

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { conclude } from '../../src/machine/conclude.ts';
import { decide } from '../../src/machine/decide.ts';
import type { DecisionContext, ResponsibleProvider } from '../../src/machine/decision.ts';
import {
  adoptedRow,
  correctedRow,
  replacedRow,
  replaceRefusal,
  retainedRow,
  retainRefusal,
  retriedRow,
} from '../../src/machine/requests.ts';
import { unwantRow, wantRow } from '../../src/machine/want.ts';
import type { AnswerOutcome } from '../../src/model/call-result.ts';
import type { Reason, ServerRow } from '../../src/model/rows.ts';
import { STATES, type State } from '../../src/model/state.ts';
import { countRuns } from '../support/count-runs.ts';
import { answerOf, at, LARGE, NOW, openContext, RETRY, rowIn, running, SMALL, SOON } from './build.ts';

const RUNNING: Readonly<Partial<Record<State, 'create' | 'update' | 'delete'>>> = {
  creating: 'create',
  updating: 'update',
  deleting: 'delete',
};
const OUTCOMES: readonly AnswerOutcome[] = ['done', 'absent', 'replace', 'retryable', 'failed'];
const PAST = NOW - 60_000;
const anySpec = fc.constantFrom(null, SMALL, LARGE);

const anyReason = fc.constantFrom<Reason | null>(
  null,
  { code: 'exists_already', text: 'x' },
  { code: 'no_provider', text: 'x' },
);

/** Rows of every state with any facts. Those in the middle of an action hold it, as no others do. */
const anyRow: fc.Arbitrary<ServerRow> = fc
  .record({
    state: fc.constantFrom(...STATES),
    lost: fc.constantFrom('create' as const, 'update' as const, 'delete' as const, null),
    spec: fc.constantFrom(SMALL, LARGE),
    deletion: fc.constantFrom('delete' as const, 'retain' as const),
    protected: fc.boolean(),
    adopt: fc.boolean(),
    facts: fc.record({
      wanted: anySpec,
      applied: anySpec,
      reason: anyReason,
      approved: fc.boolean(),
      adopting: fc.boolean(),
      checked: fc.boolean(),
      mayExist: fc.boolean(),
      dirty: fc.boolean(),
      replacing: fc.boolean(),
      gaveUp: fc.boolean(),
      attempt: fc.nat({ max: 5 }),
      due: fc.constantFrom(null, at(PAST), at(SOON)),
      provider: fc.constantFrom(null, 'lab'),
    }),
  })
  .map(({ state, lost, spec, deletion, protected: isProtected, adopt, facts }) => {
    const operation = state === 'unknown' ? lost : (RUNNING[state] ?? null);
    const row = rowIn(state, facts);
    const policy = { ...row.policy, deletion, protected: isProtected, adopt };
    if (operation === null) return { ...row, policy };
    return { ...row, policy, action: running(operation, operation === 'delete' ? null : spec) };
  });

const anyContext: fc.Arbitrary<DecisionContext> = fc
  .record({
    isInFlight: fc.boolean(),
    isCheckDue: fc.boolean(),
    hasCapacity: fc.boolean().map((has) => () => has),
    lastCheck: fc.constantFrom(undefined, 'answered' as const, 'failed' as const),
    unmetDependency: fc.constantFrom(undefined, 'db').map((name) => () => name),
    holder: fc.constantFrom(undefined, 'db').map((name) => () => name),
    stoppedUntil: fc.constantFrom(undefined, SOON, Number.POSITIVE_INFINITY),
    lostActionEnds: fc.constantFrom(0, SOON).map((time) => () => time),
    mayReplace: fc.constantFrom(undefined, true, false).map((may) => () => may),
    hasSlot: fc.constantFrom(true, false, SOON).map((slot) => () => slot),
    providerFor: fc.boolean().map((has) => (): ResponsibleProvider => {
      return has ? { name: 'lab', timeoutMs: 60_000 } : { name: null, reason: { code: 'no_provider', text: 'nobody' } };
    }),
  })
  .map((fields) => openContext(fields));

const anyAnswer = fc.record({
  outcome: fc.constantFrom(...OUTCOMES),
  kind: fc.constantFrom('check' as const, 'action' as const),
  observed: fc.constantFrom({}, { size: 'small' }, { name: 'web-1', size: 'large' }),
  drift: fc.constantFrom('report' as const, 'heal' as const, 'off' as const),
});

const ENTRIES = { has: () => true, match: () => 'lab' };

/** What may happen to a row beside the end of a call. */
const EVENTS: Readonly<Record<string, (row: ServerRow) => ServerRow>> = {
  retry: (row) => retriedRow(row, at(NOW)) ?? correctedRow(row, at(NOW)) ?? row,
  adopt: (row) => adoptedRow(row, at(NOW), ENTRIES) ?? row,
  retain: (row) => (retainRefusal(row) === undefined ? retainedRow(row, at(NOW)) : row),
  replace: (row) => (replaceRefusal(row, ENTRIES) === undefined ? replacedRow(row, at(NOW)) : row),
  unwant: (row) => unwantRow(row, { commit: 'c', now: NOW, lastRecord: null }),
  small: (row) => wantAgain(row, SMALL),
  large: (row) => wantAgain(row, LARGE),
};

function wantAgain(row: ServerRow, spec: typeof SMALL): ServerRow {
  const { instance, key, index, policy } = row;
  const server = { name: 'web-1', instance, key, index, policy, spec };
  return wantRow(row, server, { commit: 'c', time: at(NOW), now: NOW });
}

it('every row has a next step after any event in any context', () => {
  const history = fc.array(fc.tuple(anyAnswer, anyContext, fc.constantFrom(...Object.keys(EVENTS))), {
    minLength: 1,
    maxLength: 6,
  });
  fc.assert(
    fc.property(anyRow, history, (first, events) => {
      let row: ServerRow | null = first;
      for (const [{ outcome, kind, observed, drift }, context, event] of events) {
        const ended = { kind, provider: 'lab', answer: answerOf(outcome, { observed }) };
        const { row: decided } = decide(row, context);
        if (decided === null) return;
        row = conclude(decided, ended, { now: NOW, retry: RETRY, random: () => 0.5, drift });
        if (row === null) return;
        row = EVENTS[event]?.(row) ?? row;
      }
    }),
    { numRuns: countRuns(20_000) },
  );
});

it('an idle server is as wanted, or has a reason', () => {
  fc.assert(
    fc.property(anyRow, (row) => {
      const { row: after, next } = decide(row, openContext());
      if (next.kind !== 'rest' || after === null) return;
      const isSettled = after.state === 'done' || after.state === 'drifted';
      expect(isSettled || after.state === 'blocked', `${after.state}`).toBe(true);
    }),
    { numRuns: countRuns(5_000) },
  );
});
