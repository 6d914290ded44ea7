// Keeps equal parts of rows once that were read from files, as those of rows that this process has made are. Pure.

import { listSharing, SharedTexts } from '../base/lists.ts';
import { isSame, type JsonMap } from '../model/json.ts';
import { sharedOutputs } from '../model/outputs.ts';
import type { ServerRow } from '../model/rows.ts';
import type { OutputTexts, ServerPolicy, Spec } from '../model/spec.ts';
import type { Row } from './row-json.ts';

/** The parts that rows had which were read before: texts, and what the last row had of each kind. */
export class SharedValues {
  readonly #texts = new SharedTexts();
  readonly #configurationOnly = listSharing();
  readonly #lists = listSharing();
  readonly #dependsOn = listSharing();
  #policy: ServerPolicy | undefined;
  #layers: Spec['layers'] = {};
  #reads: OutputTexts = {};

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
      instance: this.#texts.text(row.instance),
      key: this.#texts.text(row.key),
      commit: this.#texts.text(row.commit),
      since: this.#texts.text(row.since),
      updated: this.#texts.text(row.updated),
      policy: this.#policyOf(row.policy),
      wanted,
      applied: specOf(row.applied),
      action: row.action === null ? null : { ...row.action, spec: specOf(row.action.spec) },
      outputs: sharedOutputs(row.outputs),
    };
  }

  #spec({ kind, properties, reads, layers, configurationOnly, dependsOn, lists }: Spec): Spec {
    if (!isSame(this.#layers as JsonMap, layers as JsonMap)) this.#layers = layers;
    if (reads !== undefined && !isSame({ ...this.#reads }, { ...reads })) this.#reads = reads;
    return {
      kind: this.#texts.text(kind),
      properties: this.#texts.properties(properties),
      ...(reads === undefined ? {} : { reads: this.#reads }),
      layers: this.#layers,
      configurationOnly: this.#configurationOnly(configurationOnly),
      dependsOn: this.#dependsOn(this.#texts.texts(dependsOn)),
      lists: this.#lists(this.#texts.texts(lists)),
    };
  }

  #policyOf(policy: ServerPolicy): ServerPolicy {
    const isKnown = this.#policy !== undefined && isSame({ ...this.#policy }, { ...policy });
    if (!isKnown) this.#policy = policy;
    return this.#policy ?? policy;
  }
}
