// Differences with and without secrets: the same keys are told as changed whether or not they are secret; only their
// values are hidden.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { compareNames } from '../../src/model/names.ts';
import type { Plan } from '../../src/plan/plan.ts';
import { countRuns } from '../support/count-runs.ts';
import { TextRepository } from '../support/text-repository.ts';
import { plannedOn, SHOP } from './planned.ts';

const NO_SECRETS = 'order: [common, environment, location, zone, shape, role, configuration]\n';
const WITH_SECRETS = `${NO_SECRETS}secrets: { keys: ["_password$"], reference: "^secret/" }\n`;

const KEY = fc.constantFrom('a_password', 'b_password', 'c');
const REFERENCE = fc.constantFrom('secret/1', 'secret/2', 'secret/3');
const KEYS = fc.dictionary(KEY, REFERENCE, { maxKeys: 3 });
/** A commit: layers of every kind, the properties of servers, and the parameter that one of them takes. */
const COMMIT = fc.record({ common: KEYS, environment: KEYS, shape: KEYS, own: KEYS, token: REFERENCE });

type Commit = typeof COMMIT extends fc.Arbitrary<infer Value> ? Value : never;

function textsOf(hierarchy: string, { common, environment, shape, own, token }: Commit): Record<string, string> {
  return {
    ...SHOP,
    'hierarchy.yaml': hierarchy,
    'types/common/global.yaml': JSON.stringify(common),
    'types/environment/production.yaml': JSON.stringify(environment),
    'types/shape/small.yaml': JSON.stringify(shape),
    'types/clientcert/shop-web-1.yaml': JSON.stringify(own),
    'stacks/instances/shop.yaml': JSON.stringify({ stackTemplate: 'web', parameters: { token } }),
  };
}

/** All that a plan says of keys, without their values, which order the changes of one key. */
function keysOf({ changes, configuration, problems }: Plan): unknown {
  return {
    problems,
    changes: changes.map(({ action, resource, properties, reason, file, line }) => {
      return { action, resource, properties: Object.keys(properties), reason, file, line };
    }),
    configuration: configuration
      .map(({ key, nodes, examples, source }) => ({ key, nodes, examples, source }))
      .sort((a, b) => compareNames(JSON.stringify(a), JSON.stringify(b))),
  };
}

it('planMerge lists the same changed keys for secrets as for other keys', () => {
  let hiddenCount = 0;
  fc.assert(
    fc.property(COMMIT, COMMIT, (base, head) => {
      const [open, hidden] = [NO_SECRETS, WITH_SECRETS].map((hierarchy) => {
        const before = new TextRepository().commit(textsOf(hierarchy, base));
        const plan = plannedOn(before, textsOf(hierarchy, head));
        return { plan, keys: keysOf(plan) };
      });
      expect(hidden?.keys).toEqual(open?.keys);
      for (const { properties } of hidden?.plan.changes ?? []) {
        for (const [name, value] of Object.entries(properties)) {
          if (name.endsWith('_password')) expect(JSON.stringify(value)).not.toContain('secret/');
        }
      }
      for (const { key, from, to } of hidden?.plan.configuration ?? []) {
        if (!key.endsWith('_password')) continue;
        hiddenCount += 1;
        expect(JSON.stringify([from, to])).not.toContain('secret/');
      }
    }),
    { numRuns: countRuns(100) },
  );
  expect(hiddenCount).toBeGreaterThan(0);
});
