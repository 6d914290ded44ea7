// Defines a server after expansion: its own properties are final, its configuration layers are not read yet.
import type { Entry } from './entry.ts';
import type { Properties } from './objects.ts';

/** The place where a value is written: a pointer in one of the files of a stack. */
export interface Origin {
  readonly entry: Entry<unknown>;
  /** RFC 6901, of the value. */
  readonly pointer: string;
}

/** A server name in `depends_on` that no resource of the stack itself has; admission checks it against all stacks. */
export interface OutsideDependency {
  readonly server: string;
  readonly origin: Origin;
}

/** One server of an expanded stack. */
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
  /** Names of all servers that have to be up first, outside dependencies included, sorted, without repeats. */
  readonly dependsOn: readonly string[];
  readonly outside: readonly OutsideDependency[];
  /** Names of the servers whose values its Array placeholders read, without itself, sorted. */
  readonly lists: readonly string[];
  readonly maxUnavailable: string;
  readonly pauseSeconds: number;
  /** Returns where a property is written: in the template, or in the instance's additions. */
  readonly originOf: (property: string) => Origin;
  /**
   * Returns where to correct an invalid value of a property: at the parameter that supplies it, else where it is
   * written.
   */
  readonly blameOf: (property: string) => Origin;
}
