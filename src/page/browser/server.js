// One server, or a hand-written node: its waits, wanted and applied properties, its record with all layers, its events.
import { pageAt } from './addresses.js';
import { EventSection } from './events.js';
import { html } from './markup.js';
import {
  Advice,
  Ago,
  Commit,
  Instance,
  Message,
  Names,
  Place,
  Section,
  Server,
  State,
  Table,
  Trail,
  Until,
  Value,
} from './parts.js';
import { shownValue, signOf } from './words.js';

/** @typedef {{ readonly file: string, readonly line: number } | null} At */
/** @typedef {{ readonly layer: number, readonly value: unknown, readonly effect: string, readonly at: At, readonly suppliedAt: At,
 *   readonly outputs?: readonly { readonly output: string, readonly servers: readonly string[] }[] }} Statement */
/** @typedef {{ readonly value: unknown, readonly isSecret: boolean, readonly merge: string, readonly statements: readonly Statement[] }} Key */
/** @typedef {{ readonly kind: string, readonly type: string, readonly name: string | null }} Layer */

/** @param {any} props */
export function ServerView({ name, server, explanation, events, query, link }) {
  const instances = server === undefined ? (explanation?.stackInstance ?? []) : [server.instance];
  return html`<${Trail}><a href=${pageAt('servers')}>Servers</a>${instances.map((/** @type {string} */ one) => html` / <${Instance} name=${one} />`)} / Server<//>
    <h1 tabindex="-1">${name} ${server && html`<${State} of=${server.state} />`}</h1>
    ${server && html`<${Waiting} of=${server} /><${Facts} of=${server} /><${Properties} of=${server} />`}
    ${explanation && html`<${Record} of=${explanation} />`}
    <${EventSection} of=${events} query=${query} link=${link} isOfServer />`;
}

/** @param {any} props */
function Waiting({ of: { state, reason, message, until, action } }) {
  if (reason === null) return null;
  return html`<article class="card ${signOf(state)[0]}"><h2>Waits for</h2><p class="reason"><${Message} text=${message ?? reason} /><${Until} at=${until} /></p>
    <${Advice} of=${action} /></article>`;
}

/** @param {any} props */
function Facts({
  of: {
    state,
    group,
    since,
    attempt,
    provider,
    proxy,
    commit,
    generation,
    checked,
    delivered,
    dependsOn = [],
    neededBy = [],
  },
}) {
  // The check before a create is outdated: the create followed it.
  const isCurrent = checked && !(state === 'done' && checked.outcome === 'absent');
  return html`<dl class="facts">
    <div><dt>Since</dt><dd><${Ago} at=${since} /></dd></div>
    <div><dt>Group</dt><dd>${group}</dd></div>
    <div><dt>Wanted by</dt><dd><${Commit} of=${commit} /> <span class="quiet">version ${generation}</span></dd></div>
    <div><dt>Provider</dt><dd>${provider === null ? html`<span class="quiet">none yet</span>` : html`<a href=${pageAt('proxies')}>${proxy?.description ?? provider}</a>`}</dd></div>
    ${attempt > 0 && html`<div><dt>Failed tries</dt><dd>${attempt}</dd></div>`}
    ${isCurrent && html`<div><dt>Last check</dt><dd><${Ago} at=${checked.time} />: ${checked.outcome}</dd></div>`}
    ${delivered && html`<div><dt>Record</dt><dd><${State} of=${delivered.state} /> ${delivered.confirmed?.outcome} <${Ago} at=${delivered.confirmed?.time} />${delivered.confirmed?.message && html`<${Message} text=${delivered.confirmed.message} />`}</dd></div>`}
    ${dependsOn.length > 0 && html`<div><dt>Depends on</dt><dd><${Names} names=${dependsOn} of=${Server} /></dd></div>`}
    ${neededBy.length > 0 && html`<div><dt>Needed by</dt><dd><${Names} names=${neededBy} of=${Server} /></dd></div>`}
  </dl>`;
}

/** @param {any} props */
function Properties({ of: { name, properties, outputs = {} } }) {
  // A server that was never created has no differences.
  const isMade = properties.some((/** @type {any} */ { applied }) => applied !== null);
  const isDifferent = (/** @type {any} */ { wanted, applied, observed }) =>
    observed !== undefined || (isMade && shownValue(wanted) !== shownValue(applied));
  const sorted = properties.toSorted(
    (/** @type {any} */ a, /** @type {any} */ b) => Number(isDifferent(b)) - Number(isDifferent(a)),
  );
  const isFound = properties.some((/** @type {any} */ { observed }) => observed !== undefined);
  const made = Object.entries(outputs);
  return html`${
    properties.length > 0 &&
    html`<${Section} id="properties" title="Properties" count=${properties.length}>
    <${Table} label=${`Properties of ${name}`} columns=${['Property', 'Wanted', 'Applied', ...(isFound ? ['Found'] : [])]}>${sorted.map(
      (/** @type {any} */ one) => html`<tr key=${one.property} class=${isDifferent(one) ? 'different' : ''}>
        <th scope="row">${one.property}${isDifferent(one) && html` <span class="state warn"><span class="sign" aria-hidden="true">≠</span>differs</span>`}</th>
        <td data-column="Wanted"><${Value} of=${one.wanted} /></td><td data-column="Applied"><${Value} of=${one.applied} /></td>${isFound && html`<td data-column="Found">${one.observed !== undefined && html`<${Value} of=${one.observed} />`}</td>`}</tr>`,
    )}<//><//>`
  }
    ${
      made.length > 0 &&
      html`<${Section} id="outputs" title="Outputs" count=${made.length}>
      <dl class="facts">${made.map(([key, value]) => html`<div key=${key}><dt>${key}</dt><dd><${Value} of=${value} /></dd></div>`)}</dl><//>`
    }`;
}

/** @param {any} props */
function Record({ of: { commit, isWanted, layers, keys } }) {
  const entries = /** @type {[string, Key][]} */ (Object.entries(keys));
  return html`<${Section} id="record" title="Record" count=${entries.length} aside=${commit !== null && html`<span class="quiet">computed from <${Commit} of=${commit} /></span>`}>
    <p class="quiet">${isWanted ? '' : 'No commit wants this node any more; this is its last record. '}Open a key to see every layer that sets it.</p>
    <div class="keys">${entries.map(
      ([name, key]) => html`<details key=${name}>
      <summary><span class="key">${name}</span> <span class="value">${shown(key, key.value)}</span> <span class="from">${fromWhere(key, layers)}</span></summary>
      <${Statements} name=${name} of=${key} layers=${layers} commit=${commit} />
    </details>`,
    )}</div><//>`;
}

/** @param {Key} key @param {unknown} value */
function shown({ isSecret }, value) {
  return isSecret && value !== null ? '(secret)' : shownValue(value);
}

/** @param {Key} key @param {readonly Layer[]} layers */
function fromWhere({ statements }, layers) {
  const used = statements.find(({ effect }) => effect !== 'overridden');
  const at = used?.suppliedAt ?? used?.at;
  return at ? `${at.file}:${at.line}` : used === undefined ? '' : layerName(layers[used.layer]);
}

/** @param {Layer | undefined} layer */
function layerName(layer) {
  if (layer === undefined) return '';
  return layer.kind === 'object' ? `${layer.type} ${layer.name ?? ''}` : layer.kind;
}

/** @param {{ readonly name: string, readonly of: Key, readonly layers: readonly Layer[], readonly commit: string | null }} props */
function Statements({ name, of: key, layers, commit }) {
  return html`<p class="quiet">Merge rule ${key.merge}; the most specific layer is first.</p>
    <${Table} label=${`Layers of ${name}`} columns=${['Layer', 'Value', 'Effect', 'Written at']}>${key.statements.map(
      ({
        layer,
        value,
        effect,
        at,
        suppliedAt,
        outputs = [],
      }) => html`<tr class=${effect === 'overridden' ? 'overridden' : ''}>
        <th scope="row">${layerName(layers[layer])}</th><td data-column="Value">${shown(key, value)}</td><td data-column="Effect">${effect}</td>
        <td data-column="Written at">${at === null ? html`<span class="quiet">in no file</span>` : html`<${Place} ...${at} commit=${commit} />`}${
          suppliedAt && html`, with the parameter of <${Place} ...${suppliedAt} commit=${commit} />`
        }${outputs.map(({ output, servers }) => `, from the output "${output}" of ${servers.join(', ')}`)}</td></tr>`,
    )}<//>`;
}
