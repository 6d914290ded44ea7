// A small desired state in versions: instances with a database and some web servers that depend on it.
import { compareNames } from '../../src/model/names.ts';
import type { FileChanges } from './git-repository.ts';

interface Wanted {
  /** In the template, so that it changes every server. */
  readonly release: number;
  /** Web servers by instance. */
  readonly counts: Readonly<Record<string, number>>;
}

/** The instance that is always there. */
const LASTING = 'shop';
const PASSING = 'lab';

/** Returns every file of the desired state; those of instances that are not there are removed. */
export function filesOf({ release, counts }: Wanted): FileChanges {
  const template = `resources:
  db: { type: Platform::Server, properties: { release: "${release}" } }
  web:
    type: Platform::ResourceGroup
    properties:
      count: "<<count>>"
      index_start: "1"
      max_unavailable: "2"
      resource_def: { properties: { release: "${release}", depends_on: db } }
`;
  return {
    'tree.yaml': 'name: global\ntype: common\n',
    'stacks/templates/web.yaml': `parameters: { count: "" }\n${template}`,
    [pathOf(LASTING)]: instanceOf(counts[LASTING]),
    [pathOf(PASSING)]: instanceOf(counts[PASSING]),
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

function pathOf(instance: string): string {
  return `stacks/instances/${instance}.yaml`;
}

function instanceOf(count: number | undefined): string | null {
  return count === undefined ? null : `stackTemplate: web\nparameters: { count: "${count}" }\n`;
}
