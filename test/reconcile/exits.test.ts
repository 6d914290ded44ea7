// From every state, with every reason, an operation or a commit leads out and destroys nothing: decide and conclude play
// against one server. A reason or state without an exit fails here, and in every test that produces it: see core.ts.
import { expect, it } from 'vitest';
import { conclude } from '../../src/machine/conclude.ts';
import { decide } from '../../src/machine/decide.ts';
import type { DecisionContext } from '../../src/machine/decision.ts';
import { adoptedRow, correctedRow, keptRow, retainedRow, retriedRow } from '../../src/machine/requests.ts';
import { wantRow } from '../../src/machine/want.ts';
import { REASON_CODES, type ReasonCode, type RunningAction, type ServerRow } from '../../src/model/rows.ts';
import { type Operation, STATES, type State } from '../../src/model/state.ts';
import { answerOf, at, LARGE, NOW, openContext, RETRY, rowIn, running, SMALL, SOON, specOf } from './build.ts';
import { EXITS, exitKeyOf } from './exits.ts';

type Facts = Partial<DecisionContext>;

/** A row in a state, and the way out. */
interface Play {
  readonly fields?: Partial<ServerRow>;
  /** Why it stays: the facts before somebody acts. */
  readonly before?: Facts;
  /** What a user does to the row; omitted: it needs nobody, or the facts change. */
  readonly asks?: (row: ServerRow) => ServerRow | undefined;
  /** The facts afterwards. */
  readonly after?: Facts;
  /** How it ends; `left`: its row is gone, and the server is not. */
  readonly end?: 'gone' | 'left';
  /** The server does not exist at first. */
  readonly isAbsent?: true;
}

interface World {
  size: string | undefined;
  readonly calls: Operation[];
}

const ENTRIES = { match: () => 'lab' };
const READS = specOf('small', {
  reads: { db: { isList: false, texts: [[{ of: 'db', output: 'address' }]] } },
});
const UPDATED = { applied: SMALL, wanted: LARGE };
const UPDATING = { ...UPDATED, dirty: true, action: running('update', LARGE) };
const UNWANTED = { applied: SMALL, wanted: null };
const DELETING = { ...UNWANTED, dirty: true, action: running('delete', null) };
const CREATING = { mayExist: true, action: running('create', SMALL) };
const DUE = { due: at(SOON), attempt: 1 };
const PROTECTED = { ...rowIn('done').policy, protected: true };

const STOPPED: Facts = { stoppedUntil: Number.POSITIVE_INFINITY };
const unprovided = (code: ReasonCode): Facts => ({
  providerFor: () => ({ name: null, reason: { code, text: 'nobody' } }),
});
const addressed = (outputs: Readonly<Record<string, string>>): Facts => ({
  outputs: { outputsOf: () => outputs, sinceOf: () => NOW },
});

const retry = (row: ServerRow): ServerRow | undefined => retriedRow(row, at(NOW)) ?? correctedRow(row, at(NOW));
const adopt = (row: ServerRow): ServerRow | undefined => adoptedRow(row, at(NOW), ENTRIES);
const retain = (row: ServerRow): ServerRow => retainedRow(row, at(NOW));
const want = (row: ServerRow): ServerRow =>
  wantRow(row, { ...row, name: 'web-1', spec: SMALL }, { commit: 'c', time: at(NOW), now: NOW });

const LEFT = { asks: retain, end: 'left' } as const;

const PLAYS: Readonly<Record<keyof typeof EXITS, Play>> = {
  creating: { fields: CREATING, isAbsent: true },
  updating: { fields: UPDATING },
  deleting: { fields: DELETING, end: 'gone' },
  'pending/-/wanted': { fields: UPDATED, before: STOPPED },
  'pending/drifted/wanted': { fields: { applied: SMALL, observed: { size: 'tiny' } }, before: STOPPED },
  'pending/must_replace/wanted': {
    fields: { ...UPDATED, replacing: true },
    before: { mayReplace: () => false, stoppedUntil: Number.POSITIVE_INFINITY },
    asks: want,
  },
  'blocked/exists_already/wanted': { fields: { checked: false }, asks: adopt },
  'blocked/no_provider/wanted': {
    fields: { provider: null, checked: false },
    before: unprovided('no_provider'),
    isAbsent: true,
  },
  'blocked/no_proxy/wanted': {
    fields: { provider: null, checked: false },
    before: unprovided('no_proxy'),
    isAbsent: true,
  },
  'blocked/protected/wanted': {
    fields: { applied: SMALL, replacing: true, policy: PROTECTED },
    asks: (row) => keptRow(row, at(NOW), false),
  },
  'blocked/provider_changed/wanted': {
    fields: { applied: SMALL },
    before: unprovided('provider_changed'),
    asks: adopt,
  },
  'blocked/no_proxy/unwanted': { fields: UNWANTED, before: unprovided('no_proxy'), ...LEFT },
  'blocked/provider_changed/unwanted': { fields: UNWANTED, before: unprovided('provider_changed'), ...LEFT },
  'blocked/no_output/wanted': {
    fields: { applied: SMALL, wanted: READS },
    before: addressed({}),
    after: addressed({ address: '10.0.0.1' }),
  },
  'blocked/output_fight/wanted': {
    fields: { ...UPDATED, wanted: { ...READS, properties: LARGE.properties }, rereads: Array(10).fill(at(NOW)) },
    before: addressed({ address: '10.0.0.1' }),
    asks: retry,
    after: addressed({ address: '10.0.0.1' }),
  },
  'retrying/action_failed/wanted': { fields: { ...UPDATED, ...DUE, dirty: true } },
  'retrying/check_failed/wanted': { fields: { ...DUE, checked: false }, isAbsent: true },
  'retrying/outcome_lost/wanted': { fields: { ...UPDATED, ...DUE, dirty: true } },
  'retrying/action_failed/unwanted': { fields: { ...UNWANTED, ...DUE }, ...LEFT },
  'retrying/outcome_lost/unwanted': { fields: { ...UNWANTED, ...DUE }, asks: want },
  'failed/action_failed/wanted': { fields: { ...UPDATED, ...DUE }, asks: retry },
  'failed/check_failed/wanted': { fields: { ...DUE, checked: false }, asks: retry, isAbsent: true },
  'failed/outcome_lost/wanted': { fields: { ...UPDATED, ...DUE }, asks: retry },
  'failed/action_failed/unwanted': { fields: { ...UNWANTED, ...DUE }, ...LEFT },
  'failed/outcome_lost/unwanted': { fields: { ...UNWANTED, ...DUE }, ...LEFT },
  'unknown/-/wanted': { fields: UPDATING },
  'unknown/-/unwanted': { fields: DELETING, ...LEFT },
  'unknown/check_failed/wanted': { fields: { ...UPDATING, ...DUE }, asks: retry },
  'unknown/check_failed/unwanted': { fields: { ...DELETING, ...DUE }, ...LEFT },
  'unknown/outcome_lost/wanted': { fields: UPDATING },
  'unknown/outcome_lost/unwanted': { fields: DELETING, ...LEFT },
  'unknown/provider_changed/wanted': { fields: UPDATING, before: unprovided('provider_changed') },
  'unknown/provider_changed/unwanted': { fields: DELETING, ...LEFT },
  'unknown/no_provider/wanted': { fields: { ...UPDATING, provider: null }, before: unprovided('no_provider') },
  'unknown/no_proxy/wanted': { fields: CREATING, before: unprovided('no_proxy'), isAbsent: true },
  'unknown/no_proxy/unwanted': { fields: { ...CREATING, wanted: null }, ...LEFT, isAbsent: true },
  'done/-/wanted': { fields: { applied: SMALL }, before: {} },
  'drifted/drifted/wanted': { fields: { applied: SMALL, observed: { size: 'tiny' } }, before: {}, asks: retry },
  'drifted/drift_fight/wanted': { fields: { applied: SMALL, observed: { size: 'tiny' } }, before: {}, asks: retry },
  'drifted/many_gone/wanted': { fields: { applied: SMALL, observed: null }, before: {}, asks: retry, isAbsent: true },
  'marked for delete/-/unwanted': { fields: UNWANTED, before: STOPPED, asks: want },
};

function act(world: World, operation: Operation, { spec }: Pick<RunningAction, 'spec'>) {
  const isThere = world.size !== undefined;
  if (operation === 'delete') world.size = undefined;
  else if (operation !== 'check') world.size = String(spec?.properties.size);
  const observed = world.size === undefined ? {} : { size: world.size };
  return answerOf((operation === 'create' ? true : isThere) ? 'done' : 'absent', { observed });
}

/** Lets everything happen to a row that waits for no person; time passes. */
function drive(first: ServerRow, world: World, facts: Facts): ServerRow | null {
  let row: ServerRow | null = first;
  let now = NOW;
  for (let step = 0; step < 50 && row !== null; step += 1) {
    const decided = decide(row, openContext({ now, ...facts }));
    const { next } = decided;
    row = decided.row;
    if (row === null || next.kind === 'rest') return row;
    if (next.kind === 'check' || next.kind === 'run') {
      const kind = next.kind === 'check' ? 'check' : 'action';
      const operation = next.kind === 'check' ? 'check' : (row.action?.operation ?? 'check');
      world.calls.push(operation);
      const answer = act(world, operation, row.action ?? { spec: null });
      row = conclude(row, { kind, provider: 'lab', answer }, { now, retry: RETRY, random: () => 0.5 });
    } else if ('until' in next && next.until !== undefined && Number.isFinite(next.until)) now = next.until;
    else return row;
  }
  return row;
}

function rowOf(key: string, { fields }: Play): ServerRow {
  const [state, code = '-', owner] = key.split('/') as [State, (ReasonCode | '-')?, string?];
  const reason = code === '-' ? null : { code, text: 'x' };
  return rowIn(state, { reason, ...fields, ...(owner === 'unwanted' ? { wanted: null } : {}) });
}

it('every state and reason has an exit', () => {
  const parts = Object.keys(EXITS).map((key) => key.split('/'));
  const states = new Set(parts.map(([state]) => state));
  expect(STATES.filter((state) => !states.has(state))).toEqual([]);
  const codes = new Set(parts.map(([, code]) => code));
  expect(REASON_CODES.filter((code) => !codes.has(code))).toEqual([]);
});

it.each(Object.entries(EXITS))('%s ends by: %s', (key) => {
  const play = PLAYS[key as keyof typeof EXITS];
  const row = rowOf(key, play);
  expect(exitKeyOf(row)).toBe(key);
  const world: World = { size: play.isAbsent ? undefined : 'small', calls: [] };
  const stays = play.before === undefined ? row : drive(row, world, play.before);
  if (stays === null) throw new Error('its row is gone before anybody acts');
  expect([exitKeyOf({ ...stays, reason: row.reason }), world.calls]).toEqual([key, []]);
  const asked = play.asks === undefined ? stays : play.asks(stays);
  if (asked === undefined) throw new Error('the request is not for it');
  const end = drive(asked, world, play.after ?? {});
  if (play.end === undefined) expect(end).toMatchObject({ state: 'done' });
  else expect(end).toBeNull();
  expect(world.calls.includes('delete')).toBe(play.end === 'gone');
  expect(world.size !== undefined).toBe(play.end !== 'gone' && !(play.end === 'left' && play.isAbsent === true));
});
