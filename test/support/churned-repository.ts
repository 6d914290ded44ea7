// A small desired state in versions: instances with a database and some web servers that depend on it.
import { compareNames } from '../../src/model/names.ts';
import type { FileChanges } from './git-repository.ts';

/** What commits ask for. */
export interface Wanted {
  /** In the template, so that it changes every server. */
  readonly release: number;
  /** Web servers by instance. */
  readonly counts: Readonly<Record<string, number>>;
}

/** Returns every file of the desired state; those of instances that are not wanted are removed. The site of a server begins its name. */
export function filesOf({ release, counts }: Wanted, instances: readonly string[] = ['shop', 'lab']): FileChanges {
  const properties = `release: "${release}", site: "<<site>>"`;
  const template = `resources:
  db: { type: Platform::Server, properties: { ${properties} } }
  web:
    type: Platform::ResourceGroup
    properties:
      count: "<<count>>"
      index_start: "1"
      max_unavailable: "2"
      resource_def: { properties: { ${properties}, depends_on: db } }
`;
  return {
    'tree.yaml': 'name: global\ntype: common\n',
    'stacks/templates/web.yaml': `parameters: { count: "", site: "" }\n${template}`,
    ...Object.fromEntries(instances.map((name) => [`stacks/instances/${name}.yaml`, instanceOf(name, counts[name])])),
  };
}

/** Returns the release of every server that should be there, by its name. */
export function serversOf({ release, counts }: Wanted): Readonly<Record<string, string>> {
  const names = Object.entries(counts).flatMap(([instance, count]) => [
    `${instance}-db`,
    ...Array.from({ length: count }, (_, index) => `${instance}-web-${index + 1}`),
  ]);
  return Object.fromEntries(names.sort(compareNames).map((name) => [name, String(release)]));
}

function instanceOf(name: string, count: number | undefined): string | null {
  if (count === undefined) return null;
  return `stackTemplate: web\nparameters: { count: "${count}", site: ${name.split('-')[0]} }\n`;
}
