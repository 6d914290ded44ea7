// Defines a server after expansion: its own properties are final, its configuration layers are not read yet.
import type { Entry } from './entry.ts';
import type { ServerPolicy, Spec, WantedServer } from './spec.ts';

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

/**
 * One server of an expanded stack: its wanted spec but for the layers, and the pace of its group. Its properties are
 * without
 * `depends_on` and `configuration_only`, which are structure; `name` is always among them, and what takes outputs never is.
 * `dependsOn` has no repeats.
 */
export interface ExpandedServer
  extends Pick<WantedServer, 'name' | 'instance' | 'key' | 'index'>,
    Omit<Spec, 'layers'>,
    Pick<ServerPolicy, 'maxUnavailable' | 'pauseSeconds'> {
  readonly outside: readonly OutsideDependency[];
  /** Returns where a property is written: in the template, or in the instance's additions. */
  readonly originOf: (property: string) => Origin;
  /**
   * Returns where to correct an invalid value of a property: at the parameter that supplies it, else where it is
   * written.
   */
  readonly blameOf: (property: string) => Origin;
}
