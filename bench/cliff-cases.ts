// The cases of the benchmark `cliffs`: desired states at which a controller once stood still. Each runs the real follower,
// reconciler and executor on rows in memory and a provider that answers at once, so what is measured is their own work.
import type { TextChanges } from '../test/support/text-repository.ts';
import {
  type CliffCase,
  expectStates,
  expectStatuses,
  expectThat,
  groupInstance,
  groupResource,
  groupTemplate,
  type Measure,
  started,
} from './cliff-parts.ts';

const LONG = 'a-name-that-is-as-long-as-a-name-may-become-'.repeat(6).slice(0, 230);

/** The cases by name, in the order in which they run. */
export const CLIFF_CASES: Readonly<Record<string, CliffCase>> = {
  'one-by-one': {
    title: 'A group is updated one by one',
    unit: 'servers',
    sizes: [1_000, 2_000],
    run: (size, measure) => update(groupTemplate('max_unavailable: "1"'), size, measure),
  },
  'all-at-once': {
    title: 'A group with `max_unavailable: 100%` is updated',
    unit: 'servers',
    sizes: [2_500, 5_000],
    run: (size, measure) => update(groupTemplate('max_unavailable: "100%"'), size, measure),
  },
  'wrong-role': {
    title: 'One wrong `role`, twice as many roles as servers',
    unit: 'servers',
    sizes: [1_000, 2_000],
    run: (size, measure) => wrongRole({ size, prefix: 'role', wrong: 'rolle-1' }, measure),
  },
  'wrong-long-role': {
    title: 'One wrong `role`, all names long',
    unit: 'servers',
    sizes: [1_000, 2_000],
    run: (size, measure) => wrongRole({ size, prefix: LONG, wrong: `${LONG}-x-1` }, measure),
  },
  'wrong-roles': {
    title: 'Another wrong `role` for each server',
    unit: 'servers',
    sizes: [1_000, 2_000],
    run: (size, measure) => wrongRole({ size, prefix: 'role', wrong: 'rolle-<<index>>' }, measure),
  },
  'removed-template': {
    title: 'The template of all instances is removed, half as many others stay',
    unit: 'instances',
    sizes: [2_500, 5_000],
    run: removedTemplate,
  },
  chain: {
    title: 'Stacks in a chain, the first becomes wrong',
    unit: 'instances',
    sizes: [4_000, 8_000],
    run: chain,
  },
  'removed-instance': {
    title: 'An instance is removed',
    unit: 'servers',
    sizes: [25_000, 50_000],
    run: removedInstance,
  },
  'listed-group': {
    title: 'A group depends on all servers of another, then both go',
    unit: 'dependencies',
    sizes: [250_000, 500_000],
    run: dependentGroups,
  },
  'too-many-names': {
    title: 'A stack with dependencies of long names beyond the limit',
    unit: 'dependencies',
    sizes: [2_500_000, 5_000_000],
    run: tooManyNames,
  },
  'depends-on-one': {
    title: 'All depend on one server, then all go',
    unit: 'servers',
    sizes: [5_000, 10_000],
    run: (size, measure) => hub({ size, ofAll: `depends_on: hub-s` }, measure),
  },
  'one-depends': {
    title: 'One server depends on all, then all go',
    unit: 'servers',
    sizes: [5_000, 10_000],
    run: (size, measure) => hub({ size, ofHub: true }, measure),
  },
};

async function update(template: string, size: number, measure: Measure): Promise<void> {
  const core = await started({
    'stacks/templates/group.yaml': template,
    'stacks/instances/shop.yaml': groupInstance(size, '1'),
  });
  expectStates(core, { done: size + 1 });
  core.source.commit({ 'stacks/instances/shop.yaml': groupInstance(size, '2') });
  await measure('update', () => core.poll());
  expectStates(core, { done: size + 1 });
  expectThat(core.calls('update') === size, 'every server was updated once');
  await core.stop();
}

interface WrongRole {
  readonly size: number;
  readonly prefix: string;
  readonly wrong: string;
}

async function wrongRole({ size, prefix, wrong }: WrongRole, measure: Measure): Promise<void> {
  const roles = Array.from({ length: 2 * size }, (_, role) => [`types/role/${prefix}-${role}.yaml`, 'port: 1\n']);
  const instance = (role: string): string =>
    `stackTemplate: group\nparameters: { count: "${size}", role: "${role}" }\n`;
  const template = `parameters: { count: "1", role: "" }
resources:
  s:
    type: Platform::ResourceGroup
    properties: { count: "<<count>>", resource_def: { properties: { role: "${wrong.includes('<<') ? wrong : '<<role>>'}" } } }
`;
  const core = await started({ ...Object.fromEntries(roles) });
  core.source.commit({
    'stacks/templates/group.yaml': template,
    'stacks/instances/shop.yaml': instance(wrong.includes('<<') ? '' : wrong),
  });
  await measure('the commit', () => core.poll());
  core.source.commit({ 'stacks/instances/other.yaml': 'stackTemplate: one\n' });
  await measure('the next commit', () => core.poll());
  expectStatuses(core, { Done: 2, Invalid: 1 });
  await core.stop();
}

async function removedTemplate(size: number, measure: Measure): Promise<void> {
  const instances = Array.from({ length: size }, (_, each) => [
    `stacks/instances/i-${each}.yaml`,
    `stackTemplate: template-9999\ndescription: "${each}"\n`,
  ]);
  const others = Array.from({ length: size / 2 }, (_, each) => [
    `stacks/templates/template-${each + 1_000}.yaml`,
    'resources: { s: { type: Platform::Server } }\n',
  ]);
  const template = { 'stacks/templates/template-9999.yaml': 'resources: { s: { type: Platform::Server } }\n' };
  const core = await started({ ...Object.fromEntries([...instances, ...others]), ...template });
  expectStates(core, { done: size + 1 });
  core.source.commit({ 'stacks/templates/template-9999.yaml': null });
  await measure('the commit', () => core.poll());
  core.source.commit({ 'stacks/instances/other.yaml': 'stackTemplate: one\n' });
  await measure('the next commit', () => core.poll());
  expectStatuses(core, { Done: 2, Invalid: size });
  expectStates(core, { done: size + 2 });
  await core.stop();
}

async function chain(size: number, measure: Measure): Promise<void> {
  const template = `parameters: { after: "", v: "1" }
resources: { s: { type: Platform::Server, properties: { v: "<<v>>", depends_on: "<<after>>" } } }
`;
  const link = (each: number, v: number): string =>
    `stackTemplate: link\nparameters: { v: "${v}", after: "${each === 0 ? '' : `i-${each - 1}-s`}" }\n`;
  const links = (v: number): TextChanges =>
    Object.fromEntries(Array.from({ length: size }, (_, each) => [`stacks/instances/i-${each}.yaml`, link(each, v)]));
  const core = await started({ 'stacks/templates/link.yaml': template });
  const first = 'stacks/instances/i-0.yaml';
  core.source.commit({ ...links(1), [first]: 'stackTemplate: link\nparameters: { after: nowhere }\n' });
  await measure('the commit', () => core.poll());
  expectStatuses(core, { Done: 1, Invalid: size });
  core.source.commit({ 'stacks/instances/other.yaml': 'stackTemplate: one\n' });
  await measure('the next commit', () => core.poll());
  core.source.commit({ [first]: link(0, 1) });
  await measure('the first is corrected', () => core.poll());
  expectStates(core, { done: size + 2 });
  await core.stop();
}

async function removedInstance(size: number, measure: Measure): Promise<void> {
  const groups = Array.from({ length: 5 }, (_, each) => `  g${each}: ${groupResource(`"${size / 5}"`)}\n`);
  const core = await started({
    'types/common/global.yaml': 'ntp_servers: [ntp1.example, ntp2.example]\nlog_level: info\n',
    'stacks/templates/large.yaml': `resources:\n${groups.join('')}`,
    'stacks/instances/shop.yaml': 'stackTemplate: large\n',
  });
  expectStates(core, { done: size + 1 });
  core.source.commit({ 'stacks/instances/shop.yaml': null });
  await measure('remove', () => core.poll());
  expectStates(core, { done: 1 });
  expectStatuses(core, { Done: 1 });
  await core.stop();
}

async function dependentGroups(size: number, measure: Measure): Promise<void> {
  const members = 250;
  const template = `resources:
  low: ${groupResource(`"${size / members}"`)}
  top: ${groupResource(`"${members}"`, 'depends_on: low')}
`;
  const servers = size / members + members;
  const core = await started({ 'stacks/templates/two.yaml': template });
  core.source.commit({ 'stacks/instances/shop.yaml': 'stackTemplate: two\n' });
  await measure('create', () => core.poll());
  expectStates(core, { done: servers + 1 });
  core.source.commit({ 'stacks/instances/shop.yaml': null });
  await measure('remove', () => core.poll());
  expectStates(core, { done: 1 });
  await core.stop();
}

async function tooManyNames(size: number, measure: Measure): Promise<void> {
  const servers = 1_000;
  const named = `name: "${LONG.slice(0, 60)}-<<index>>"`;
  const template = `resources:
  low: ${groupResource(`"${size / servers}"`, named)}
  top: ${groupResource(`"${servers}"`, 'depends_on: low')}
`;
  const core = await started({ 'stacks/templates/two.yaml': template });
  core.source.commit({
    'stacks/instances/shop.yaml': 'stackTemplate: two\n',
    'stacks/instances/other.yaml': 'stackTemplate: one\n',
  });
  await measure('the commit', () => core.poll());
  expectThat(core.reader.status('other') === 'Done', 'the others go on');
  await core.stop();
}

interface Hub {
  readonly size: number;
  /** A property of the many. */
  readonly ofAll?: string;
  /** The one depends on the many. */
  readonly ofHub?: boolean;
}

async function hub({ size, ofAll = '', ofHub = false }: Hub, measure: Measure): Promise<void> {
  const many = Array.from({ length: 10 }, (_, each) => `stacks/instances/many-${each}.yaml`);
  const names = many.flatMap((_, each) =>
    Array.from({ length: size / 10 }, (_unused, index) => `many-${each}-s-${index + 1}`),
  );
  const files = {
    'stacks/templates/hub.yaml': `resources: { s: { type: Platform::Server, properties: { depends_on: [${ofHub ? names.join(', ') : ''}] } } }\n`,
    'stacks/templates/many.yaml': `resources:\n  s: ${groupResource(`"${size / 10}"`, ofAll)}\n`,
  };
  const core = await started(files);
  core.source.commit({
    'stacks/instances/hub.yaml': 'stackTemplate: hub\n',
    ...Object.fromEntries(many.map((path, each) => [path, `stackTemplate: many\ndescription: "${each}"\n`])),
  });
  await measure('create', () => core.poll());
  expectStates(core, { done: size + 2 });
  core.source.commit({
    'stacks/instances/hub.yaml': null,
    ...Object.fromEntries(many.map((path) => [path, null])),
  });
  await measure('remove', () => core.poll());
  expectStates(core, { done: 1 });
  await core.stop();
}
