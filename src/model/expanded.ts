// A server as expansion leaves it: its own properties are final, its configuration layers are not looked at yet.
import type { Entry } from './entry.ts';
import type { Properties } from './objects.ts';

/** Where a value was written: a pointer in one of the files that a stack is made of. */
export interface Origin {
  readonly entry: Entry<unknown>;
  /** RFC 6901, of the value. */
  readonly pointer: string;
}

/** A server name in `depends_on` that no resource of the own stack has; whether it exists is seen with all stacks at hand. */
export interface OutsideDependency {
  readonly server: string;
  readonly origin: Origin;
}

export interface ExpandedServer {
  readonly name: string;
  readonly instance: string;
  /** The resource key under `resources:`. */
  readonly key: string;
  /** The member's index as written (`01`), or null for a single server. */
  readonly index: string | null;
  readonly kind: string;
  /**
   * The expanded properties, `name` always among them; without `depends_on` and `configuration_only`, which are
   * structure.
   */
  readonly properties: Properties;
  /** Names of properties that start no action when they change, sorted. */
  readonly configurationOnly: readonly string[];
  /** Names of all servers that have to be done first, outside dependencies included, sorted, without repeats. */
  readonly dependsOn: readonly string[];
  readonly outside: readonly OutsideDependency[];
  /** Names of the servers whose values its Array placeholders read, itself left out, sorted. */
  readonly lists: readonly string[];
  readonly maxUnavailable: string;
  readonly pauseSeconds: number;
  /** Where a property is written: in the template, or in the instance's additions. */
  readonly originOf: (property: string) => Origin;
  /** What has to change where a property's value is wrong: the parameter whose value it is, else where it is written. */
  readonly blameOf: (property: string) => Origin;
}
