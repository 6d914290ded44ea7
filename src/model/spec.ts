// What one server should be: the end of the pure way from a template and an instance, and the start of every action.
import type { JsonMap } from './json.ts';
import type { DriftPolicy, Properties } from './objects.ts';

/** Everything that is applied to a server. Plain data: it is compared, recorded, and sent to providers. */
export interface Spec {
  readonly kind: string;
  readonly properties: Properties;
  /** The content of the objects of its provisioning layers, by type, without name, type and description. */
  readonly layers: Readonly<Record<string, JsonMap>>;
  /** Names of properties that are in the record but start no action. */
  readonly configurationOnly: readonly string[];
  /** Server names that have to be done first, sorted. */
  readonly dependsOn: readonly string[];
  /** Server names whose values its Array placeholders read, sorted. They imply no order, but hold up their deletion. */
  readonly lists: readonly string[];
}

/** A wanted server: its spec, and where it belongs. Changing where it belongs is no change of the server. */
export interface WantedServer {
  readonly name: string;
  readonly instance: string;
  /** The resource key under `resources:` of the template. */
  readonly key: string;
  /** The member's index as written (`01`), or null for a single server. */
  readonly index: string | null;
  readonly spec: Spec;
  readonly policy: ServerPolicy;
}

/** How actions on the server are paced and allowed; not part of what is applied. */
export interface ServerPolicy {
  /** Number or percent of the group that may be away at once, as written: `1`, `25%`. */
  readonly maxUnavailable: string;
  readonly pauseSeconds: number;
  readonly drift: DriftPolicy | null;
  readonly deletion: 'delete' | 'retain';
  /** It is neither deleted nor replaced. Deletes do not get as far as this: see desired/admit.ts. */
  readonly protected: boolean;
  readonly adopt: boolean;
}
