// Small stacks for tests of the desired state: an instance makes the servers that it names, and says what they depend on.
import type { DesiredState } from '../../src/desired/desired-state.ts';
import { TextRepository } from '../support/text-repository.ts';

/** A template of one server, `<<name>>`, and one of two, `<<first>>` and `<<second>>`. */
export const TEMPLATES = {
  'tree.yaml': 'name: global\ntype: common\n',
  'stacks/templates/one.yaml': `parameters: { name: "", needs: "" }
resources:
  server: { type: Platform::Server, properties: { name: "<<name>>", depends_on: "<<needs>>" } }
`,
  'stacks/templates/two.yaml': `parameters: { first: "", second: "" }
resources:
  a: { type: Platform::Server, properties: { name: "<<first>>" } }
  b: { type: Platform::Server, properties: { name: "<<second>>" } }
`,
};

/** Returns a repository with the templates and no instance. */
export function stacksRepository(reuses = true): TextRepository {
  const repository = new TextRepository(reuses);
  repository.commit(TEMPLATES);
  return repository;
}

/** Returns the file of an instance that makes one server. */
export function one(name: string, needs = ''): string {
  return `stackTemplate: one\nparameters: { name: "${name}", needs: "${needs}" }\n`;
}

/** Returns the file of an instance that makes two servers. */
export function two(first: string, second: string): string {
  return `stackTemplate: two\nparameters: { first: "${first}", second: "${second}" }\n`;
}

/** An instance that lacks a value for a parameter. */
export const WRONG = 'stackTemplate: one\nparameters: { needs: "" }\n';

export function instanceFile(name: string): string {
  return `stacks/instances/${name}.yaml`;
}

/** Returns who makes each server that is in force: `web-1: shop`. */
export function ownersIn({ owners }: DesiredState): string[] {
  return [...owners].map(([server, key]) => `${server}: ${key.slice('stack-instance/'.length)}`).sort();
}
