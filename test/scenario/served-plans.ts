// A merge of real commits: `treeline plan` says what it does, git makes it, and a controller that serves does it.
import { expect } from 'vitest';
import type { NodeRecord } from '../../src/model/record.ts';
import type { Plan } from '../../src/plan/plan.ts';
import type { HeldItem } from '../../src/service/answers.ts';
import { Chance } from '../simulation/chance.ts';
import { edited } from '../simulation/edit-files.ts';
import {
  actionsOf,
  configurationOf,
  type Effects,
  heldOf,
  missingAndSurplus,
  nodesOf,
  plannedEffects,
} from '../simulation/effects.ts';
import { editOf } from '../simulation/plan-run.ts';
import { firstFiles, type ModelFiles } from '../simulation/stacks.ts';
import { someInstances } from '../simulation/themes/theme.ts';
import { treeline } from '../support/command-line.ts';
import type { FileChange, FileChanges } from '../support/git-repository.ts';
import { effectsIn, PATIENCE, type RunningController, runController } from '../support/running-controller.ts';
import { createSite, type Site } from '../support/site.ts';
import { headOf, twoServers } from './scene.ts';

/** As `twoServers` sets it. */
const BUDGET = 2;

/** A comparison; `differences` is empty where the controller did what the plan says. */
interface ServedPlan {
  readonly plan: Plan;
  readonly differences: readonly string[];
}

/** Returns the comparison of a random merge. */
export async function planAndServe(seed: number): Promise<ServedPlan> {
  const chance = new Chance(seed);
  const before = edited(firstFiles(), someInstances(chance), () => []);
  const edits = Array.from({ length: 1 + chance.below(3) }, () => editOf(chance));
  const after = edited(before, edits, (path) => [before.get(path) ?? []].flat());
  const site = await createSite(changesOf(new Map(), before));
  const base = await headOf(site);
  const head = await site.repository.commit(changesOf(before, after), { branch: 'change', parents: [base] });
  const running = await runController(site, twoServers);
  await atRest(running, base);
  const start = await momentOf(running, site);
  const plan = await planOf(site);
  const merge = await site.repository.commit(changesOf(before, after), { parents: [base, head], message: 'merge' });
  await atRest(running, merge);
  return {
    plan,
    differences: missingAndSurplus('at once', plannedEffects(plan).atOnce, await effectsSince(start, running, site)),
  };
}

async function planOf({ repository }: Site): Promise<Plan> {
  const args = ['plan', '--base', 'main', '--head', 'change', '--delete-budget', String(BUDGET), '--format', 'json'];
  const { code, stdout, stderr } = await treeline([...args, repository.path]);
  expect([0, 1, 2], stderr).toContain(code);
  return JSON.parse(stdout) as Plan;
}

/** Returns the changes from one version of the files to another. */
function changesOf(before: ModelFiles, after: ModelFiles): FileChanges {
  const changes: Record<string, FileChange> = {};
  for (const path of before.keys()) if (!after.has(path)) changes[path] = null;
  for (const [path, { mode, bytes, oid }] of after) {
    if (before.get(path)?.oid === oid && before.get(path)?.mode === mode) continue;
    changes[path] = { mode, content: mode === '160000' ? oid : Buffer.from(bytes).toString() };
  }
  return changes;
}

interface Moment {
  readonly effects: number;
  readonly records: ReadonlyMap<string, NodeRecord>;
  readonly invalid: ReadonlySet<string>;
}

async function momentOf(running: RunningController, site: Site): Promise<Moment> {
  const { body } = await running.get('/hiera/all');
  const records = new Map(Object.entries(body as Readonly<Record<string, NodeRecord>>));
  return { effects: effectsIn(site).length, records, invalid: await invalidIn(running) };
}

async function invalidIn(running: RunningController): Promise<ReadonlySet<string>> {
  const { body } = await running.get('/stacks/instances');
  const names = (body as readonly { readonly name: string }[]).map(({ name }) => name);
  const statuses = await Promise.all(names.map(async (name) => [name, await running.status(name)] as const));
  return new Set(statuses.filter(([, status]) => status === 'Invalid').map(([name]) => name));
}

async function effectsSince(start: Moment, running: RunningController, site: Site): Promise<Effects> {
  const now = await momentOf(running, site);
  const calls = effectsIn(site)
    .slice(start.effects)
    .map(({ operation, server }) => ({ operation, resource: server }));
  const { body } = await running.get('/operations/held');
  const { held } = body as { readonly held: readonly HeldItem[] };
  return {
    actions: actionsOf(calls),
    configuration: configurationOf(start.records, now.records),
    nodes: nodesOf(start.records, now.records),
    held: heldOf(held),
    invalid: [...now.invalid.difference(start.invalid)].sort(),
  };
}

/** Resolves once the commit is judged, and nothing is left to do without a person. */
async function atRest(running: RunningController, commit: string): Promise<void> {
  const judged = async (): Promise<boolean> => {
    const followed = (await running.get('/tree/')).headers['x-treeline-commit'] === commit;
    const { body } = await running.get('/operations/status');
    return followed || JSON.stringify(body).includes(commit);
  };
  await expect.poll(judged, PATIENCE).toBe(true);
  await expect.poll(() => unsettled(running), { ...PATIENCE, interval: 200 }).toEqual([]);
}

/** Servers that are neither as wanted nor wait for a person. */
async function unsettled(running: RunningController): Promise<readonly string[]> {
  const { body } = await running.get('/operations/recorded');
  const { servers } = body as {
    readonly servers: readonly {
      readonly name: string;
      readonly state: string;
      readonly held: boolean;
      readonly wanted: unknown;
    }[];
  };
  return servers
    .filter(({ state, held, wanted }) => !(state === 'done' && wanted !== null) && !held && state !== 'blocked')
    .map(({ name, state }) => `${name} ${state}`);
}
