// Codes of problems with tree.yaml and hierarchy.yaml.
import type { CodeEntry, CodeGroup } from './code-entry.ts';

const HIERARCHY = 'hierarchy.yaml';
const TREE = 'tree.yaml';
const ROOT = 'name: global\ntype: common\nchildren:\n';
const PRODUCTION =
  '  - { name: production, type: environment, children: [{ name: dmz, type: zone }] }\n  - { name: staging, type: environment }\n';

const CODES = {
  bad_pattern: {
    severity: 'error',
    isWholeCommit: true,
    meaning:
      'a pattern under `secrets` is no regular expression of [RE2](concepts.md#patterns), names a group, or compiles to more than 1,000 instructions, alone or with the others of its list',
    remedy: 'the message names what RE2 does not know, and the hint what to write instead',
    example: {
      wrong: { [HIERARCHY]: 'secrets: { keys: ["(?=db)_password$"], reference: "^secret/" }\n' },
      right: { [HIERARCHY]: 'secrets: { keys: ["db_password$"], reference: "^secret/" }\n' },
    },
  },
  hierarchy_name: {
    severity: 'error',
    isWholeCommit: true,
    meaning: "the name of a compound level holds no placeholder of a selected type, or can be no object's name",
    remedy: 'write it like `<<environment>>-<<location>>`',
    example: {
      wrong: { [HIERARCHY]: 'order: [common, environment, zone, { type: configuration, name: "<<zoen>>" }, role]\n' },
      right: { [HIERARCHY]: 'order: [common, environment, zone, { type: configuration, name: "<<zone>>" }, role]\n' },
    },
  },
  hierarchy_order: {
    severity: 'error',
    isWholeCommit: true,
    meaning: "the order turns the tree's levels round",
    remedy: 'keep environment, location, zone in this order',
    example: {
      wrong: { [HIERARCHY]: 'order: [common, zone, environment, role]\n' },
      right: { [HIERARCHY]: 'order: [common, environment, zone, role]\n' },
    },
  },
  hierarchy_provisioning: {
    severity: 'error',
    isWholeCommit: true,
    meaning: '`provisioning` names a type that is no level of the order',
    remedy: 'add the level, or remove the type',
    example: {
      wrong: { [HIERARCHY]: 'order: [common, environment, zone, role]\nprovisioning: [shape]\n' },
      right: { [HIERARCHY]: 'order: [common, environment, zone, shape, role]\nprovisioning: [shape]\n' },
    },
  },
  hierarchy_repeated: {
    severity: 'error',
    isWholeCommit: true,
    meaning: 'a level, or a type under `provisioning`, stands there twice',
    remedy: 'remove one of the two',
    example: {
      wrong: { [HIERARCHY]: 'order: [common, environment, zone, role, role]\n' },
      right: { [HIERARCHY]: 'order: [common, environment, zone, role]\n' },
    },
  },
  tree_level: {
    severity: 'error',
    isWholeCommit: true,
    meaning: "a node's level does not come after the level of the node above it, or is no level of the order",
    remedy: 'move the node, or change the order',
    example: {
      wrong: { [TREE]: `${ROOT}  - { name: dmz, type: zone, children: [{ name: production, type: environment }] }\n` },
      right: { [TREE]: `${ROOT}${PRODUCTION}` },
    },
  },
  tree_sibling: {
    severity: 'error',
    isWholeCommit: true,
    meaning: 'two nodes below one node have the same name',
    remedy: 'join them, or rename one',
    example: {
      wrong: { [TREE]: `${ROOT}${PRODUCTION}  - { name: staging, type: environment }\n` },
      right: { [TREE]: `${ROOT}${PRODUCTION}` },
    },
  },
} as const satisfies Record<string, CodeEntry>;

/** The codes of the tree and the hierarchy. */
export const TREE_CODES: CodeGroup<typeof CODES> = {
  heading: 'Tree and hierarchy',
  intro: 'Any error in `tree.yaml` or `hierarchy.yaml`, those above included, holds the whole commit.',
  codes: CODES,
};
