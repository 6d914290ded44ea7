// Sites that answer like real ones: what they observe is partial, spelled otherwise, more than was asked for, or the secret
// that a reference stands for. Nothing is updated, replaced or healed without end for that, and no secret is kept.
import { describe, expect, it } from 'vitest';
import type { JsonMap } from '../../src/model/json.ts';
import type { Call } from '../../src/providers/provider.ts';
import { answerOf } from './build.ts';
import { Core } from './core.ts';
import { shopFiles } from './shop.ts';

const PLAIN = 'S3cr3t!';
const SECRETS = 'secrets: { keys: ["_password$"], reference: "^secret/" }\n';
const PROPERTIES = { size: 'small', dns: ['b', 'a'], admin_password: 'secret/db/admin', token: 'secret/db/token' };
const WEB = 'size: small, dns: [b, a], admin_password: secret/db/admin, token: secret/db/token';
const HOURS = 3_600_000;
const ALL_MAY_GO = { percent: 100, least: 100, most: 100 };

/** What a site observes of a server that has these properties; and whether it tells of it in its own way. */
const SITES: Readonly<Record<string, { readonly spell: (own: JsonMap) => JsonMap; readonly isOther?: true }>> = {
  'all properties as wanted': { spell: (own) => own },
  nothing: { spell: () => ({}) },
  'a part': { spell: ({ size = '' }) => ({ size }) },
  'secrets too': { spell: (own) => ({ ...own, admin_password: PLAIN, token: `${PLAIN} too` }) },
  'only secrets': { spell: () => ({ admin_password: PLAIN, token: [PLAIN] }) },
  'its own defaults': { spell: (own) => ({ ...own, region: 'eu', zones: ['a'], Admin_Password: PLAIN }) },
  'lists in another order': { spell: (own) => ({ ...own, dns: ['a', 'b'] }), isOther: true },
  'another case of letters': { spell: (own) => ({ ...own, size: 'SMALL' }), isOther: true },
  'lists of one item': { spell: (own) => ({ ...own, size: ['small'] }), isOther: true },
};
const LIVES = ['made', 'adopted', 'made, and the answer is lost'] as const;

interface Site {
  readonly core: Core;
  /** Every row that was ever written. */
  readonly written: unknown[];
}

const OUTPUTS = { address: '10.0.0.1', root_password: PLAIN, old_password: 'secret/old' };

/** Plays two days of a server at such a site. `replaces`: it can only build a server anew. */
async function play(
  { spell }: { readonly spell: (own: JsonMap) => JsonMap },
  { life = 'made' as (typeof LIVES)[number], drift = 'heal' as 'heal' | 'report', replaces = false, days = 2 } = {},
): Promise<Site> {
  const core = new Core({ drift, budget: ALL_MAY_GO });
  const written: unknown[] = [];
  core.ledger.watch(({ value }) => written.push(value));
  let isLost = life === 'made, and the answer is lost';
  const answer = async (call: Call) => {
    if (call.operation === 'update' && replaces) return answerOf('replace', { message: 'it cannot be changed' });
    const done = core.provider.act(call);
    if (call.operation === 'create' && isLost) {
      isLost = false;
      throw new Error('the line was cut');
    }
    return done.outcome === 'done' ? { ...done, observed: spell(done.observed), outputs: OUTPUTS } : done;
  };
  core.provider.script = answer;
  if (life === 'adopted') core.provider.build('shop-web', { name: 'shop-web', ...PROPERTIES });
  await core.follow({ 'hierarchy.yaml': SECRETS, ...shopFiles({ web: WEB }, 'adopt: true\n') });
  for (let quarter = 0; quarter < 4 * days; quarter += 1) await core.pass(6 * HOURS);
  return { core, written };
}

/** All that was ever kept, told or sent to a provider. */
async function textOf({ core, written }: Site): Promise<string> {
  const { operator, reader, ledger, lines, provider } = core;
  const { events } = await ledger.listEvents({ after: 0, limit: 1_000 });
  const shown = [operator.why(core.order.by, 'shop'), operator.recorded(), reader.record('shop-web')];
  return JSON.stringify([written, events, shown, lines, provider.calls]);
}

describe.each(LIVES)('a server that is %s', (life) => {
  describe.each(['heal', 'report'] as const)('with the policy %s', (drift) => {
    describe.each([false, true])('at a site that replaces instead of updating: %s', (replaces) => {
      it.each(Object.entries(SITES))('whose checks observe %s', async (_, { spell, isOther }) => {
        const site = await play({ spell }, { life, drift, replaces });
        const { core } = site;
        const counts = [core.calls('create').length, core.calls('update').length, core.calls('delete').length];
        const [created, updated = 0, deleted = 0] = counts;
        // A lost create is verified by an update, where not all of it was observed; each heal is one, and after three they end.
        const heals = isOther && drift === 'heal' ? 3 : 0;
        const settling = isOther || life === 'made, and the answer is lost' ? 1 : 0;
        expect(updated).toBeLessThanOrEqual(heals + settling);
        expect(deleted).toBe(replaces ? updated : 0);
        expect(created).toBe(deleted + (life === 'adopted' ? 0 : 1));
        expect(core.states()).toEqual({ 'shop-web': isOther ? 'drifted' : 'done' });
        expect(await textOf(site)).not.toContain(PLAIN);
        // What ends within two days has ended.
        for (let quarter = 0; quarter < 8; quarter += 1) await core.pass(6 * HOURS);
        expect([core.calls('create').length, core.calls('update').length, core.calls('delete').length]).toEqual(counts);
      });
    });
  });
});
