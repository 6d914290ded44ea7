// An explainer with fixed answers, for tests of the API.
import type { ExplainedKey, NodeExplanation } from '../../src/model/explanation.ts';
import { ServiceError } from '../../src/model/service-error.ts';
import type { Explainer } from '../../src/service/explain/explainer.ts';
import { COMMIT } from './sample-reader.ts';

const ZONE_KEY: ExplainedKey = {
  value: 'z1',
  merge: 'first',
  isSecret: false,
  statements: [
    { layer: 0, value: 'z1', effect: 'used', at: { file: 'stacks/templates/web.yaml', line: 7 }, suppliedAt: null },
  ],
};

const EXPLANATION: NodeExplanation = {
  node: 'shop-web',
  stackInstance: ['shop'],
  commit: COMMIT,
  isWanted: true,
  layers: [{ kind: 'properties', type: 'clientcert', name: 'shop-web', file: null, status: 'present' }],
  keys: { zone: ZONE_KEY },
  files: { 'stacks/templates/web.yaml': { commit: COMMIT, time: '2026-11-20T10:13:56Z', note: null } },
};

/** Returns an explainer that knows the node `shop-web` with the key `zone`. */
export function createSampleExplainer(): Explainer {
  function find(node: string, key: string | undefined): void {
    const isKnown = node === 'shop-web' && (key === undefined || key === 'zone');
    if (!isKnown) throw new ServiceError('not_found', `There is no "${node}" with "${key}"`);
  }
  const explainer: Explainer = {
    as: () => explainer,
    async explain(node, key) {
      find(node, key);
      return EXPLANATION;
    },
  };
  return explainer;
}
