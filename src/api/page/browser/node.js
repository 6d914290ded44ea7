// One node: every key of its record with its value and where that comes from, and on a click all layers that set the key.
import { html } from './markup.js';
import { CommitId, instanceLink, Table } from './parts.js';
import { shownValue } from './words.js';

/** @typedef {{ readonly file: string, readonly line: number } | null} Place */
/** @typedef {{ readonly layer: number, readonly value: unknown, readonly effect: string, readonly at: Place, readonly suppliedAt: Place,
 *   readonly outputs?: readonly { readonly output: string, readonly servers: readonly string[] }[] }} Statement */
/** @typedef {{ readonly value: unknown, readonly isSecret: boolean, readonly merge: string, readonly statements: readonly Statement[] }} Key */
/** @typedef {{ readonly kind: string, readonly type: string, readonly name: string | null }} Layer */
/**
 * As docs/rest.md has it, explanations.
 * @typedef {{ readonly node: string, readonly stackInstance: readonly string[], readonly commit: string | null, readonly isWanted: boolean,
 *   readonly layers: readonly Layer[], readonly keys: Readonly<Record<string, Key>> }} Explanation
 */

/** @param {{ readonly explanation: Explanation }} props */
export function NodeView({ explanation }) {
  const { node, stackInstance, commit, isWanted, layers, keys } = explanation;
  return html`<nav aria-label="Where this is"><a href="/ui/">Overview</a>${stackInstance.map((name) => html` / <a href=${instanceLink(name)}>${name}</a>`)}</nav>
    <h1 tabindex="-1">${node}</h1>
    <p class="quiet">${isWanted ? 'Its configuration' : 'No commit wants it any more. Its last configuration'}${commit === null ? '' : html`, computed from <${CommitId} of=${commit} />`}. Open a key to see every layer that sets it.</p>
    <section aria-labelledby="keys"><h2 id="keys">Keys <span class="number">${Object.keys(keys).length}</span></h2>
      <div class="keys">${Object.entries(keys).map(
        ([name, key]) => html`<details key=${name}>
          <summary><span class="key">${name}</span> <span class="value">${shown(key, key.value)}</span> <span class="quiet from">${fromWhere(key, layers)}</span></summary>
          <${Statements} name=${name} of=${key} layers=${layers} />
        </details>`,
      )}</div>
    </section>`;
}

/** @param {Key} key @param {unknown} value */
function shown({ isSecret }, value) {
  return isSecret && value !== null ? '(secret)' : shownValue(value);
}

/** @param {Key} key @param {readonly Layer[]} layers */
function fromWhere({ statements }, layers) {
  const used = statements.find(({ effect }) => effect !== 'overridden');
  return used === undefined ? '' : placeText(used.at) || layerName(layers[used.layer]);
}

/** @param {Place} place */
const placeText = (place) => (place === null ? '' : `${place.file}:${place.line}`);

/** @param {Layer | undefined} layer */
function layerName(layer) {
  if (layer === undefined) return '';
  return layer.kind === 'object' ? `${layer.type} ${layer.name ?? ''}` : layer.kind;
}

/** @param {Pick<Statement, 'at' | 'suppliedAt' | 'outputs'>} statement */
function writtenAt({ at, suppliedAt, outputs = [] }) {
  const parameter = suppliedAt ? `, with the parameter of ${placeText(suppliedAt)}` : '';
  const from = outputs.map(({ output, servers }) => `, from the output "${output}" of ${servers.join(', ')}`);
  return `${placeText(at) || 'in no file'}${parameter}${from.join('')}`;
}

/** @param {{ readonly name: string, readonly of: Key, readonly layers: readonly Layer[] }} props */
function Statements({ name, of: key, layers }) {
  return html`<p class="quiet">Merged by the rule "${key.merge}", the most specific layer first.</p>
    <${Table} label=${`Layers of ${name}`} columns=${['Layer', 'Value', 'Effect', 'Written at']}>
      <tbody>${key.statements.map(
        ({ layer, value, effect, ...places }) => html`<tr class=${effect === 'overridden' ? 'overridden' : ''}>
          <th scope="row">${layerName(layers[layer])}</th><td data-column="Value">${shown(key, value)}</td><td data-column="Effect">${effect}</td>
          <td data-column="Written at">${writtenAt(places)}</td>
        </tr>`,
      )}</tbody>
    <//>`;
}
