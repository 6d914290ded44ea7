// The parts of the cases of the benchmark `cliffs`: files, a controller that follows them, and checks in the end.
import type { TextChanges } from '../test/support/text-repository.ts';
import { CliffCore } from './cliff-core.ts';

/** Runs one step of a case and notes what it cost. */
export type Measure = (step: string, work: () => Promise<void>) => Promise<void>;

export interface CliffCase {
  readonly title: string;
  /** The things that the size counts. */
  readonly unit: string;
  /** The second is the double of the first. */
  readonly sizes: readonly [number, number];
  readonly run: (size: number, measure: Measure) => Promise<void>;
}

const BASE = {
  'tree.yaml': 'name: global\ntype: common\n',
  'clients/A1.yaml': 'role: administrator\n',
  'stacks/templates/one.yaml': 'resources: { s: { type: Platform::Server } }\n',
  'stacks/instances/keep.yaml': 'stackTemplate: one\n',
};

/** Returns a template of one group, with a pacing property. */
export function groupTemplate(pacing: string): string {
  return `parameters: { count: "1", version: "" }
resources:
  s:
    type: Platform::ResourceGroup
    properties: { count: "<<count>>", ${pacing}, resource_def: { properties: { version: "<<version>>" } } }
`;
}

/** Returns an instance of that template. */
export function groupInstance(count: number, version: string): string {
  return `stackTemplate: group\nparameters: { count: "${count}", version: "${version}" }\n`;
}

/** Returns a resource in one line: a group, with properties of its servers. */
export function groupResource(count: string, properties = ''): string {
  return `{ type: Platform::ResourceGroup, properties: { count: ${count}, resource_def: { properties: { ${properties} } } } }`;
}

/** Returns a controller that has followed a first commit of `files`, and rests. */
export async function started(files: TextChanges): Promise<CliffCore> {
  const core = new CliffCore();
  core.source.commit({ ...BASE, ...files });
  await core.poll();
  return core;
}

/** Throws unless something is true: what was measured counts only if it is. */
export function expectThat(isTrue: boolean, what: string): void {
  if (!isTrue) throw new Error(`the case did not do what it should: ${what}`);
}

/** Throws unless so many servers are in each state. */
export function expectStates(core: CliffCore, expected: Readonly<Record<string, number>>): void {
  expectCounts(core.states(), expected);
}

/** Throws unless so many instances have each status. */
export function expectStatuses(core: CliffCore, expected: Readonly<Record<string, number>>): void {
  const names = core.reader.instances().map(({ name }) => name);
  expectCounts(
    names.map((name) => core.reader.status(name)),
    expected,
  );
}

function expectCounts(values: readonly string[], expected: Readonly<Record<string, number>>): void {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  const found = JSON.stringify(Object.fromEntries([...counts].sort()));
  expectThat(found === JSON.stringify(expected), `${found} instead of ${JSON.stringify(expected)}`);
}
