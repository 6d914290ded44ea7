// One instance: its state, waits, dependencies between its groups, servers and events.
import { pageAt } from './addresses.js';
import { Approval } from './approvals.js';
import { EventSection } from './events.js';
import { Graph } from './graph.js';
import { html } from './markup.js';
import { Attention, Choice } from './overview.js';
import {
  Advice,
  Ago,
  Bar,
  Commit,
  Empty,
  Instance,
  Legend,
  Linked,
  Message,
  Records,
  Section,
  Server,
  State,
  Table,
  Trail,
  Until,
} from './parts.js';
import { counted, STATE_ORDER, worstFirst } from './words.js';

/** The kinds of causes that stop every instance. */
const STOPS_ALL = ['store', 'leader', 'repository'];
const GRAPH_MAX = 60;

/** @param {any} props */
export function InstanceView(props) {
  const { name, status, why, servers: page, held = [], events, delivered, query, link } = props;
  const attention = (status?.attention ?? []).filter(
    (/** @type {any} */ { kind, instances }) =>
      kind !== 'held' && (STOPS_ALL.includes(kind) || instances.includes(name)),
  );
  const own = held.filter((/** @type {any} */ { instance }) => instance === name);
  const whole = why.waiting.filter((/** @type {any} */ { resource }) => resource === null);
  const listed = status?.instances.find((/** @type {any} */ one) => one.name === name);
  return html`<${Trail}><a href="/ui/">Overview</a>${listed?.folder && html` / ${listed.folder}`} / Instance<//>
    <h1 tabindex="-1">${name} <${State} of=${why.status} /></h1>
    <${Facts} status=${status} listed=${listed} summary=${attention.length + own.length + whole.length === 0 && why.summary} />
    ${attention.length > 0 && html`<${Attention} items=${attention} />`}
    ${own.map((/** @type {any} */ item) => html`<${Approval} key=${item.digest} item=${item} />`)}
    ${attention.length + own.length === 0 && whole.map((/** @type {any} */ item) => html`<article class="card warn"><p class="reason"><${State} of=${item.state} /> <${Linked} text=${item.reason} /></p><${Advice} of=${item.action} /></article>`)}
    ${page.total <= GRAPH_MAX && page.next === null && html`<${Graph} servers=${page.servers} />`}
    <${Section} id="servers" title="Servers" count=${page.total} aside=${html`<${StateFilter} ...${props} />`}>
      <div class="measure wide"><${Bar} counts=${why.counts} /></div>
      <p><${Legend} counts=${why.counts} link=${(/** @type {string} */ state) => link({ state, after: '' })} /></p>
      <${Records} delivered=${delivered} />
      <${List} ...${props} removed=${new Set(own.flatMap((/** @type {any} */ { resources }) => resources))} />
    <//>
    <${EventSection} of=${events} query=${query} link=${link} />`;
}

/** @param {any} props */
function Facts({ status, listed, summary }) {
  if (status === undefined) return null;
  const active = listed?.commit ?? status.commit;
  return html`<dl class="facts">
    <div><dt>Wanted</dt><dd><${Commit} of=${status.newest?.commit ?? status.commit} /></dd></div>
    <div><dt>Active</dt><dd><${Commit} of=${active} />${active !== status.commit && html` <span class="state warn">an older version</span>`}</dd></div>
    ${listed?.tenant && html`<div><dt>Tenant</dt><dd>${listed.tenant}</dd></div>`}
    ${summary && html`<div><dt>State</dt><dd>${summary}</dd></div>`}
    <div><dt>Changes</dt><dd><a href=${`${pageAt('changes')}?instance=${encodeURIComponent(listed?.name ?? '')}`}>commits that changed it</a></dd></div>
  </dl>`;
}

/** @param {any} props */
export function StateFilter({ query, link, go }) {
  const changed = (/** @type {Event} */ { currentTarget }) =>
    go(link({ state: /** @type {HTMLSelectElement} */ (currentTarget).value, after: '' }), { isSame: true });
  return html`<p class="filters"><${Choice} name="state" label="All states" options=${STATE_ORDER} value=${query.state} changed=${changed} /></p>`;
}

/** @param {any} props */
export function ServersView(props) {
  const { query, status, servers } = props;
  const part = (query.search ?? '').toLowerCase();
  const found =
    part === ''
      ? []
      : (status?.instances ?? []).filter((/** @type {any} */ { name }) => name.toLowerCase().includes(part));
  return html`<h1 tabindex="-1">${query.search ? `Search: ${query.search}` : 'Servers'}</h1>
    ${
      found.length > 0 &&
      html`<${Section} id="found" title="Instances" count=${found.length}>
      <p class="found">${found.slice(0, 20).map((/** @type {any} */ one) => html`<span key=${one.name}><${Instance} name=${one.name} /> <${State} of=${one.status} /></span>`)}
      ${found.length > 20 && html`<span class="quiet">and ${found.length - 20} more</span>`}</p><//>`
    }
    <${Section} id="servers" title="Servers" count=${servers.total} aside=${html`<${StateFilter} ...${props} />`}>
      <${List} ...${props} hasInstance />
    <//>`;
}

/** @param {any} props */
function List({ servers: page, query, link, removed = new Set(), hasInstance = false }) {
  if (page.servers.length === 0)
    return html`<${Empty}>No server fits. ${query.state && html`<a href=${link({ state: '', after: '' })}>Show all states</a>`}<//>`;
  const order = worstFirst(STATE_ORDER);
  // With several pages, keep the order of names.
  const rows =
    page.next === null && !query.after
      ? page.servers.toSorted((/** @type {any} */ a, /** @type {any} */ b) =>
          order([a.state, a.name], [b.state, b.name]),
        )
      : page.servers;
  return html`<${Table} label="Servers" columns=${['Server', hasInstance ? 'Instance' : 'Group', 'State', '#Tries', 'Since', 'Waits for']}>
      ${rows.map((/** @type {any} */ server) => html`<${Row} key=${server.name} server=${server} isRemoved=${removed.has(server.name)} hasInstance=${hasInstance} />`)}<//>
    <p class="pages">${counted(page.total, 'server')}${query.after && html` · <a href=${link({ after: '' })}>First page</a>`}
      ${page.next !== null && html` · <a href=${link({ after: page.next })}>Next page</a>`}</p>`;
}

/** @param {any} props */
function Row({
  server: { name, instance, group, state, since, attempt, reason, until, action, removal },
  isRemoved,
  hasInstance,
}) {
  const removed = removal ?? (isRemoved && 'delete');
  return html`<tr>
    <th scope="row"><${Server} name=${name} />${removed && html` <span class="tag bad">${removed} pending</span>`}</th>
    ${hasInstance ? html`<td data-column="Instance"><${Instance} name=${instance} /></td>` : html`<td data-column="Group" class="quiet">${group}</td>`}
    <td data-column="State"><${State} of=${state} /></td>
    <td data-column="Tries" class="amount">${attempt === 0 ? '' : attempt}</td>
    <td data-column="Since"><${Ago} at=${since} /></td>
    <td data-column="Waits for" class="why">${reason !== null && html`<div class="reason"><${Message} text=${reason} /><${Until} at=${until} /></div>`}<${Advice} of=${action} /></td>
  </tr>`;
}
