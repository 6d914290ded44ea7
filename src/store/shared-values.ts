// Keeps equal parts of rows once that were read from files, as those of rows that this process has made are. Pure.
import { emptyMap, isSame, type Json, type JsonMap } from '../model/json.ts';
import type { Properties, PropertyValue } from '../model/objects.ts';
import { sharedOutputs } from '../model/outputs.ts';
import type { ServerRow } from '../model/rows.ts';
import { listSharing } from '../model/shared-lists.ts';
import type { ServerPolicy, Spec } from '../model/spec.ts';
import type { Row } from './row-json.ts';

/** So many texts are remembered; then it begins anew. The servers of a group stand near each other. */
const TEXTS_MAX = 10_000;

/** The parts that rows had which were read before: texts, and what the last row had of each kind. */
export class SharedValues {
  readonly #texts = new Map<string, string>();
  readonly #configurationOnly = listSharing();
  readonly #lists = listSharing();
  readonly #dependsOn = listSharing();
  /** The lists among the properties of the last row, by property. */
  readonly #properties = new Map<string, readonly string[]>();
  #policy: ServerPolicy | undefined;
  #layers: Spec['layers'] = {};

  /** Returns a row that is equal to `row`, and shares what it can. */
  share(row: Row): Row {
    const { kind, name, value } = row;
    return kind === 'server' && value !== null ? { kind, name, value: this.#row(value as ServerRow) } : row;
  }

  #row(row: ServerRow): ServerRow {
    const wanted = row.wanted === null ? null : this.#spec(row.wanted);
    const specOf = (spec: Spec | null): Spec | null => {
      if (spec === null) return null;
      if (spec === row.wanted) return wanted;
      const shared = this.#spec(spec);
      return wanted !== null && isSame({ ...shared }, { ...wanted }) ? wanted : shared;
    };
    return {
      ...row,
      instance: this.#text(row.instance),
      key: this.#text(row.key),
      commit: this.#text(row.commit),
      since: this.#text(row.since),
      updated: this.#text(row.updated),
      policy: this.#policyOf(row.policy),
      wanted,
      applied: specOf(row.applied),
      action: row.action === null ? null : { ...row.action, spec: specOf(row.action.spec) },
      outputs: sharedOutputs(row.outputs),
    };
  }

  #spec({ kind, properties, layers, configurationOnly, dependsOn, lists }: Spec): Spec {
    if (!isSame(this.#layers as JsonMap, layers as JsonMap)) this.#layers = layers;
    return {
      kind: this.#text(kind),
      properties: this.#propertiesOf(properties),
      layers: this.#layers,
      configurationOnly: this.#configurationOnly(configurationOnly),
      dependsOn: this.#dependsOn(this.#namesOf(dependsOn)),
      lists: this.#lists(this.#namesOf(lists)),
    };
  }

  #propertiesOf(properties: Properties): Properties {
    const own = emptyMap<PropertyValue>();
    for (const [key, value] of Object.entries(properties)) {
      own[key] = typeof value === 'string' ? this.#text(value) : this.#listOf(key, value);
    }
    return own;
  }

  #listOf(property: string, list: readonly string[]): readonly string[] {
    const last = this.#properties.get(property);
    if (last !== undefined && isSame(last as Json, list as Json)) return last;
    const names = this.#namesOf(list);
    this.#properties.set(property, names);
    return names;
  }

  #namesOf(names: readonly string[]): readonly string[] {
    return names.map((name) => this.#text(name));
  }

  #policyOf(policy: ServerPolicy): ServerPolicy {
    const isKnown = this.#policy !== undefined && isSame({ ...this.#policy }, { ...policy });
    if (!isKnown) this.#policy = policy;
    return this.#policy ?? policy;
  }

  #text(text: string): string {
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    if (this.#texts.size >= TEXTS_MAX) this.#texts.clear();
    this.#texts.set(text, text);
    return text;
  }
}
