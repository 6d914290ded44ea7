// Defines the wanted spec of one server: the result of the pure pipeline from a template and an instance, and the input
// of every action.
import type { JsonMap } from './json.ts';
import type { DriftPolicy, Properties } from './objects.ts';

/** A part of a text: literal, or an output of one server or of each server of a group. */
export type OutputPiece = string | { readonly output: string; readonly of: string | readonly string[] };

/** A property that uses outputs of other servers: the parts of its text, or of each item of its list. */
export type OutputText = {
  readonly isList: boolean;
  readonly texts: readonly (readonly OutputPiece[])[];
};

/** The properties that use outputs, by name. */
export type OutputTexts = Readonly<Record<string, OutputText>>;

/** All values that are applied to a server. Plain data: it is compared, recorded, and sent to providers. */
export interface Spec {
  readonly kind: string;
  /** A property in `reads` has the value from the outputs; it is missing while they are not known. */
  readonly properties: Properties;
  /** The properties that use outputs of other servers. These servers are in `dependsOn`. Omitted if there are none. */
  readonly reads?: OutputTexts;
  /** The content of the objects of its provisioning layers, by type, without name, type and description. */
  readonly layers: Readonly<Record<string, JsonMap>>;
  /** Names of properties that are in the record but start no action, sorted. */
  readonly configurationOnly: readonly string[];
  /** Names of servers that must be up first, sorted. */
  readonly dependsOn: readonly string[];
  /**
   * Names of servers whose values its Array placeholders read, sorted. They do not order creation, but delay the
   * deletion of these servers.
   */
  readonly lists: readonly string[];
}

/** The place of a server in a stack, and its policy. Changing them does not change the server. */
export interface ServerPosition {
  readonly instance: string;
  /** The resource key under `resources:` of the template. */
  readonly key: string;
  /** The member's index as written (`01`), or null for a single server. */
  readonly index: string | null;
  readonly policy: ServerPolicy;
}

/** A wanted server: its spec, and its place in a stack. */
export interface WantedServer extends ServerPosition {
  readonly name: string;
  readonly spec: Spec;
}

/** The limits and permissions of actions on the server; not part of the applied spec. */
export interface ServerPolicy {
  /** The number or percentage of the group that may be away at the same time, as written: `1`, `25%`. */
  readonly maxUnavailable: string;
  readonly pauseSeconds: number;
  readonly drift: DriftPolicy | null;
  readonly deletion: 'delete' | 'retain';
  /** It is neither deleted nor replaced. Admission pins the instance before a delete; see desired/admit.ts. */
  readonly protected: boolean;
  readonly adopt: boolean;
}
