// A small desired state that changes all the time: instances with a database and some web servers that depend on it, scaled up
// and down, moved to another release, made and removed.
import { compareNames } from '../../src/model/names.ts';
import type { FileChanges } from './git-repository.ts';

export interface Wanted {
  /** In the template, so that it changes every server. */
  readonly release: number;
  /** Web servers by instance. */
  readonly counts: Readonly<Record<string, number>>;
}

/** The instance that is always there. */
export const LASTING = 'shop';
const PASSING = 'lab';
const COUNT_MAX = 5;

export const FIRST: Wanted = { release: 1, counts: { [LASTING]: 3, [PASSING]: 1 } };

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

/** Returns the next wish. `chance` gives numbers in [0, 1). */
export function churned({ release, counts }: Wanted, chance: () => number): Wanted {
  const kind = chance();
  if (kind < 0.3) return { release: release + 1, counts };
  const count = Math.floor(chance() * (COUNT_MAX + 1));
  if (kind < 0.7) return { release, counts: { ...counts, [LASTING]: count } };
  const { [PASSING]: passing, ...others } = counts;
  return { release, counts: passing === undefined ? { ...counts, [PASSING]: count } : others };
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
