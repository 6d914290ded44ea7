// Plans a change of texts, as a merge of it.
import { wantsBlob } from '../../src/catalog/load-catalog.ts';
import type { DesiredState } from '../../src/desired/desired-state.ts';
import type { DeleteBudget } from '../../src/model/settings.ts';
import type { Spec } from '../../src/model/spec.ts';
import type { Plan } from '../../src/plan/plan.ts';
import { planMerge } from '../../src/plan/plan-merge.ts';
import { safetyOfServers } from '../../src/plan/planned-safety.ts';
import type { RecordedFacts } from '../../src/plan/recorded-facts.ts';
import { snapshotOf } from '../catalog/snapshots.ts';
import { type TextChanges, TextRepository, textsAfter } from '../support/text-repository.ts';

/** A shop of three web servers and one database, in two instances. */
export const SHOP = {
  'tree.yaml':
    'name: global\ntype: common\nchildren:\n  - { name: production, type: environment }\n  - { name: staging, type: environment }\n',
  'hierarchy.yaml': 'secrets:\n  keys: ["_password$"]\n  reference: "^secret/"\n',
  'clients/A1.yaml': 'role: administrator\n',
  'types/common/global.yaml': 'ntp: [a]\nlog: info\nadmin_password: secret/admin\n',
  'types/environment/production.yaml': 'stage: live\n',
  'types/environment/staging.yaml': 'stage: test\n',
  'types/shape/small.yaml': 'cpus: 2\n',
  'types/shape/large.yaml': 'cpus: 8\n',
  'stacks/templates/web.yaml': `parameters: { count: "3", port: "80", shape: small, token: secret/token }
resources:
  web:
    type: Platform::ResourceGroup
    properties:
      count: "<<count>>"
      max_unavailable: "1"
      resource_def:
        properties:
          environment: production
          shape: "<<shape>>"
          port: "<<port>>"
          api_password: "<<token>>"
  db:
    type: Platform::Server
    properties: { environment: staging, shape: large, peers: "<<(Array)['web']['name']>>" }
`,
  'stacks/instances/shop.yaml': 'stackTemplate: web\nparameters:\n  port: "8080"\n',
  'stacks/instances/blog.yaml': 'stackTemplate: web\nparameters:\n  count: "1"\n',
} as const;

export interface PlanOptions {
  /** The files of base; default: the shop. */
  readonly files?: TextChanges;
  /** How many deletes need no approval; default: many. */
  readonly budget?: number | DeleteBudget;
  readonly approvedCount?: number;
  /** Lists only the changes of this node. */
  readonly node?: string;
}

const MANY = 100;

/** Plans a merge that changes these texts; null removes a file. */
export function planned(changes: TextChanges, { files = SHOP, ...options }: PlanOptions = {}): Plan {
  const before = new TextRepository().commit(files);
  return plannedOn(before, { ...files, ...changes }, options);
}

/** Plans a merge after which the texts are these. */
export function plannedOn(
  before: DesiredState | undefined,
  files: TextChanges,
  { budget = MANY, approvedCount = 0, node }: PlanOptions = {},
): Plan {
  return planMerge({
    base: '1'.repeat(40),
    head: '2'.repeat(40),
    before,
    node,
    snapshot: snapshotOf(textsAfter({}, files), { wants: wantsBlob(before?.catalog) }),
    safety: before && safetyOfServers(before, { budget, approvedCount }),
  });
}

/** Returns `create shop-web-4` and the like. */
export function actionsIn({ changes }: Plan): readonly string[] {
  return changes.map(({ action, resource }) => `${action} ${resource}`);
}

/** Returns `ntp on 8` and the like. */
export function keysIn({ configuration }: Plan): readonly string[] {
  return configuration.map(({ key, nodes }) => `${key} on ${nodes}`);
}

export const COMMIT = '1'.repeat(40);

/** Returns every server as it is recorded once the desired state is done; `known` is the spec that it was made with. */
export function doneIn({ units }: DesiredState, known = (spec: Spec): Spec => spec): readonly RecordedFacts[] {
  return [...units.values()].flatMap(({ servers }) =>
    [...servers.values()].map(({ name, instance, key, index, spec, policy }) => ({
      name,
      instance,
      key,
      index,
      commit: COMMIT,
      incarnation: 1,
      provider: 'lab',
      wanted: known(spec),
      applied: known(spec),
      state: 'done',
      mayExist: true,
      dirty: false,
      replacing: false,
      approved: false,
      protected: policy.protected,
      deletion: policy.deletion,
    })),
  );
}
