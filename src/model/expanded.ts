// Defines a server after expansion: its own properties are final, but its configuration layers are not read yet.
import type { Entry } from './entry.ts';
import type { ServerPolicy, Spec, WantedServer } from './spec.ts';

/** The place where a value is written: a pointer in one of the files of a stack. */
export interface Origin {
  readonly entry: Entry<unknown>;
  /** The RFC 6901 pointer of the value. */
  readonly pointer: string;
}

/** A server name in `depends_on` that is not in the stack itself. Admission checks it against all stacks. */
export interface OutsideDependency {
  readonly server: string;
  readonly origin: Origin;
}

/**
 * One server of an expanded stack: its wanted spec without layers, and the pace of its group. Its properties include
 * `name`, but no structural properties and none that use outputs. `dependsOn` has no repeats.
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
