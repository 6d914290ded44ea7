// Combines the results of all stages for each server. It decides nothing.
import { below } from '../model/entry.ts';
import type { ExpandedServer, Origin } from '../model/expanded.ts';
import { compareNames, SERVER } from '../model/names.ts';
import { listSharing } from '../model/shared-lists.ts';
import type { AmendedTemplate } from './amend-template.ts';
import type { Blueprint } from './blueprint.ts';
import { configurationOnlyOf } from './configuration-only.ts';
import type { ResolvedResource } from './resolve-dependencies.ts';
import type { Parameters } from './resolve-parameters.ts';

interface Assembly {
  readonly instance: string;
  readonly amended: AmendedTemplate;
  readonly parameters: Pick<Parameters, 'blame'>;
}

/** Returns the servers of all resources, in the order of resources and members. */
export function assembleServers(
  resources: readonly ResolvedResource[],
  { instance, amended, parameters }: Assembly,
): readonly ExpandedServer[] {
  const names = new Map(resources.map(({ members, servers }) => [members.blueprint, servers.map(({ name }) => name)]));
  return resources.flatMap(({ members, servers, sources }) => {
    const { blueprint, maxUnavailable, pauseSeconds } = members;
    const listed = [...sources].flatMap((source) => names.get(source) ?? []).sort(compareNames);
    const listsItself = sources.has(blueprint);
    const originOf = originsIn(blueprint, amended);
    const blameOf = (property: string): Origin => {
      const [text, second] = blueprint.properties.get(property)?.texts ?? [];
      return text === undefined || second !== undefined ? originOf(property) : parameters.blame(text);
    };
    const share = listSharing();
    return servers.map(
      (server): ExpandedServer => ({
        name: server.name,
        instance,
        key: blueprint.key,
        index: server.index,
        kind: SERVER,
        properties: server.properties,
        configurationOnly: share(configurationOnlyOf(server)),
        dependsOn: server.dependsOn,
        outside: server.outside,
        lists: listsItself ? listed.filter((name) => name !== server.name) : listed,
        maxUnavailable,
        pauseSeconds,
        originOf,
        blameOf,
      }),
    );
  });
}

/** Returns where a property is written; for a generated name, the resource that it is made from. */
function originsIn(
  { properties, propertiesPointer, pointer }: Blueprint,
  amended: AmendedTemplate,
): (property: string) => Origin {
  return (property) => amended.originOf(properties.has(property) ? below(propertiesPointer, property) : pointer);
}
