// Watches idle servers: reported drift causes no action, healing stops after some rounds, and a server that is gone is created again
// only after two checks.
import type { Answer } from '../../src/model/call-result.ts';
import type { DriftPolicy } from '../../src/model/objects.ts';
import type { ServerRow } from '../../src/model/rows.ts';
import type { Spec } from '../../src/model/spec.ts';
import type { Call } from '../../src/providers/provider.ts';
import { siteOfRow } from './build-sites.ts';
import { validShape } from './edit-files.ts';
import type { Followed } from './followed.ts';
import type { World } from './world.ts';

const DAY_MS = 86_400_000;
/** How often a property may be healed within a day. */
const HEALS_MAX = 3;

interface Heal {
  readonly property: string;
  /** In time that passed for anybody: simulated time, and what clocks were set forward. */
  readonly time: number;
}

export class DriftWatch {
  readonly #world: World;
  readonly #followed: Followed;
  /** Returns the drift policy of a provider entry. */
  readonly #entryPolicy: (provider: string) => DriftPolicy;
  /** Since the last commit or request that lets healing begin anew. */
  readonly #heals = new Map<string, Heal[]>();
  /** The site of each server that was at rest, and of which no action has begun since. */
  readonly #atRest = new Map<string, string | null>();
  /** How many checks and updates in a row have found such a server gone. */
  readonly #absences = new Map<string, number>();

  constructor(world: World, followed: Followed, entryPolicy: (provider: string) => DriftPolicy) {
    this.#world = world;
    this.#followed = followed;
    this.#entryPolicy = entryPolicy;
  }

  /** Looks at a row that was written. */
  noteRow(name: string, before: ServerRow | undefined, after: ServerRow | null): void {
    if (after === null) {
      this.#forget(name);
      this.#world.goneUnasked.delete(name);
      return;
    }
    if (isIdle(after)) this.#atRest.set(name, siteOfRow(after));
    if (after.wanted === null) this.#world.asked.uncounted.delete(name);
    if (before === undefined || after.wanted === null) return;
    const isChanged = before.wanted !== after.wanted && JSON.stringify(before.wanted) !== JSON.stringify(after.wanted);
    // Commits that are followed at once may change it and take that back: the approval was for what it was before.
    if (isChanged || after.generation !== before.generation) this.#world.asked.uncounted.delete(name);
    // Of many that are gone, none is made again by itself: what was to be one round of healing is none.
    if (after.reason?.code === 'many_gone' && before.state === 'pending') this.#heals.get(name)?.pop();
    if (isChanged || this.#world.asked.explains(name)) {
      // After a request or a commit, earlier healing no longer counts.
      this.#heals.delete(name);
    } else if (isIdle(before) && !isIdle(after)) this.#leavesRest(name, after, hasMissedCommit(before));
  }

  /** Looks at a call that begins. */
  began(site: string, { resource, operation }: Call): void {
    if (operation === 'check') return;
    const isRemade = operation === 'create' && this.#atRest.get(resource) === site;
    if (isRemade && (this.#absences.get(resource) ?? 0) < 2) {
      this.#world.fail('a server that one check alone finds gone is not made again', `${resource} at ${site}`);
    }
    if (operation === 'create') this.#absences.delete(resource);
    this.#atRest.delete(resource);
  }

  /** Looks at how a check has ended, or another call that did not find its server. */
  checked(resource: string, answer: Answer | undefined): void {
    if (answer?.outcome === 'absent') this.#absences.set(resource, (this.#absences.get(resource) ?? 0) + 1);
    else if (answer?.outcome === 'done') this.#absences.delete(resource);
  }

  /** The store is lost. */
  forget(): void {
    for (const name of [...this.#atRest.keys(), ...this.#heals.keys()]) this.#forget(name);
  }

  /** Returns the drift policy of a recorded server; undefined where its instance is not at the version of the last commit. */
  policyOf({ instance, provider }: ServerRow): DriftPolicy | undefined {
    const { last } = this.#followed;
    if (last === undefined || last.staying.has(instance)) return undefined;
    const shape = validShape(last.files, instance);
    if (shape === undefined || provider === null) return undefined;
    return shape.drift === '' ? this.#entryPolicy(provider) : shape.drift;
  }

  #forget(name: string): void {
    this.#heals.delete(name);
    this.#atRest.delete(name);
    this.#absences.delete(name);
  }

  /**
   * Nobody asked for it and no commit did: only healing explains that something is done for the server, or that the update
   * of a commit did not find it.
   */
  #leavesRest(name: string, after: ServerRow, wasMissed: boolean): void {
    const policy = this.policyOf(after);
    if (after.applied === null || policy === undefined) return;
    if (policy !== 'heal' && !wasMissed) {
      this.#world.fail(
        'no action follows from drift that is only reported',
        `${name} is ${after.state}, with ${policy}`,
      );
      return;
    }
    const { scheduler, wall } = this.#world;
    const time = scheduler.now + wall.forwardMs;
    const heals = (this.#heals.get(name) ?? []).filter((heal) => heal.time > time - DAY_MS);
    // A pass that begins the update at once leaves nothing of what a check has observed but its reason.
    const differing = /^differs in (.+)$/.exec(after.reason?.text ?? '')?.[1]?.split(', ');
    const properties = after.observed === null ? [''] : (differing ?? ['']);
    for (const property of properties) heals.push({ property, time });
    this.#heals.set(name, heals);
    const fought = properties.find((property) => heals.filter((heal) => heal.property === property).length > HEALS_MAX);
    if (fought === undefined) return;
    const words = fought === '' ? 'its absence' : fought;
    this.#world.fail('healing stops after three rounds within a day', `${words} of ${name}`);
  }
}

/** Returns true if a commit has changed a server or its layers, its update did not find it, and it is not known to be gone. */
function hasMissedCommit({ reason, wanted, applied }: ServerRow): boolean {
  return reason?.code === 'many_gone' && contentOf(wanted) !== contentOf(applied);
}

function contentOf(spec: Spec | null): string {
  return JSON.stringify([spec?.properties, spec?.layers]);
}

function isIdle({ state, wanted, applied }: ServerRow): boolean {
  return (state === 'done' || state === 'drifted') && wanted !== null && applied !== null;
}
