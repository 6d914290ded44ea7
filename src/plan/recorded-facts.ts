// Defines the facts about recorded servers that a plan needs, and replaces the instances of a desired state by the
// versions that the controller wants: a held or pinned instance has other servers than its file.
import type { DesiredState } from '../desired/desired-state.ts';
import { type Unit, unitOfServers } from '../desired/unit.ts';
import { isSameSpec } from '../machine/existence.ts';
import { asWritten, type OutputFacts } from '../machine/read-outputs.ts';
import { instanceAddress } from '../model/address.ts';
import type { JsonMap } from '../model/json.ts';
import { isError, type Problem } from '../model/problem.ts';
import type { ServerRow } from '../model/rows.ts';
import type { ServerPolicy, WantedServer } from '../model/spec.ts';

type RowFields = 'instance' | 'key' | 'index' | 'state' | 'commit' | 'incarnation' | 'provider' | 'wanted' | 'applied';

/** The facts about one recorded server, from `GET /operations/recorded`. */
export interface RecordedFacts
  extends Pick<ServerRow, RowFields | 'mayExist' | 'dirty' | 'replacing' | 'approved'>,
    Pick<ServerPolicy, 'protected' | 'deletion'> {
  readonly name: string;
  /** The last reported outputs. */
  readonly outputs?: JsonMap;
}

/** Returns the known outputs of recorded servers. */
export function recordedOutputs(recorded: readonly RecordedFacts[] | undefined): OutputFacts {
  const servers = new Map(recorded?.map(({ name, outputs }) => [name, outputs]));
  return { outputsOf: (server) => servers.get(server) };
}

/**
 * Returns the desired state, with each instance whose recorded servers differ rebuilt from these. `problems`: the
 * controller's problems of the commit; the affected instances are already invalid there.
 */
export function withRecorded(
  desired: DesiredState,
  recorded: readonly RecordedFacts[],
  problems: readonly Problem[] = [],
): DesiredState {
  const wanted = Map.groupBy(
    recorded.filter((server) => server.wanted !== null),
    ({ instance }) => instance,
  );
  const units = new Map(desired.units);
  for (const [key, unit] of desired.units) {
    if (unit.type === 'stack-instance' && unit.servers.size > 0 && !wanted.has(unit.name)) units.delete(key);
  }
  for (const [instance, servers] of wanted) {
    const key = instanceAddress(instance);
    const unit = desired.units.get(key);
    if (unit === undefined || !isAsRecorded(unit, servers))
      units.set(key, unitOf(instance, servers, { desired, unit }));
  }
  const owners = new Map<string, string>();
  for (const { name, instance, wanted: spec } of recorded)
    if (spec !== null) owners.set(name, instanceAddress(instance));
  const stopped = problems.filter(isError).flatMap(({ instances = [] }) => instances);
  return { ...desired, units, owners, invalid: new Set([...desired.invalid, ...stopped]) };
}

function isAsRecorded({ servers }: Unit, recorded: readonly RecordedFacts[]): boolean {
  if (servers.size !== recorded.length) return false;
  return recorded.every(({ name, wanted, deletion, protected: isProtected }) => {
    const server = servers.get(name);
    if (server === undefined || wanted === null) return false;
    const { policy } = server;
    return (
      isSameSpec(server.spec, asWritten(wanted)) && policy.deletion === deletion && policy.protected === isProtected
    );
  });
}

interface KnownVersions {
  readonly desired: DesiredState;
  /** The version of another commit. */
  readonly unit: Unit | undefined;
}

/** Returns the wanted version of the instance. */
function unitOf(name: string, recorded: readonly RecordedFacts[], { desired, unit }: KnownVersions): Unit {
  const servers = new Map(recorded.flatMap((server) => wantedServer(server, unit)));
  const { commit, time } = desired;
  return unitOfServers({ name, entry: rebuildEntry(name, recorded), commit, time }, servers);
}

/**
 * Builds a wanted server. The recorded facts lack the pace and the drift policy, so it uses those of the known version.
 */
function wantedServer(server: RecordedFacts, unit: Unit | undefined): readonly [string, WantedServer][] {
  const { name, instance, key, index, wanted: spec, deletion, protected: isProtected } = server;
  if (spec === null) return [];
  const known = unit?.servers.get(name)?.policy ?? { maxUnavailable: '1', pauseSeconds: 0, drift: null, adopt: false };
  const policy = { ...known, deletion, protected: isProtected };
  return [[name, { name, instance, key, index, spec, policy }]];
}

/** Protection and retention come from the rows of the servers. */
function rebuildEntry(name: string, recorded: readonly RecordedFacts[]): Unit['entry'] {
  const isProtected = recorded.some((server) => server.protected);
  const deletion = recorded.some((server) => server.deletion === 'retain') ? 'retain' : 'delete';
  const texts = { name, description: '', stackTemplate: '' };
  const maps = { stackTemplateAdditions: {}, stackTemplateSubstractions: {}, parameters: {} };
  const object = { type: 'stack-instance', ...texts, ...maps, protected: isProtected, deletion } as const;
  return {
    path: `stacks/instances/${name}.yaml`,
    oid: '',
    object,
    problems: [],
    locate: () => ({ line: 1, column: 1 }),
  };
}
