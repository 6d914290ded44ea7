// Servers: those of one instance with its reasons and events, or those that a search finds; each with what is wanted against what was applied.
import { html } from './markup.js';
import { AttentionList } from './overview.js';
import { Action, Ago, CommitId, Counts, instanceLink, nodeLink, Records, StateSign, Table } from './parts.js';
import { counted, distance, STATE_ORDER, shownValue } from './words.js';

/** @typedef {import('../../../service/answers.ts').ListedServer} ListedServer */
/** @typedef {import('../../../service/answers.ts').ServerPage} ServerPage */
/** @typedef {import('../../../service/answers.ts').ServerDetails} ServerDetails */
/** @typedef {import('../../../service/answers.ts').Overview} Overview */
/** @typedef {import('../../../service/answers.ts').Why} Why */
/** @typedef {import('../../../model/instance-event.ts').InstanceEvent} InstanceEvent */
/** @typedef {Readonly<Record<string, string>>} Query */
/**
 * The servers that are shown, and the one whose details are.
 * @typedef {{ readonly page: ServerPage, readonly opened: string, readonly details: ServerDetails | undefined, readonly now: number,
 *   readonly query: Query, readonly link: (changes: Query) => string, readonly go: (address: string) => void }} ListProps
 */

const EVENTS_SHOWN = 30;
const INSTANCES_SHOWN = 20;

/** @param {ListProps & { readonly name: string, readonly why: Why, readonly attention: Overview['attention'], readonly events: readonly InstanceEvent[], readonly delivered: import('../../../service/answers.ts').Delivered | undefined }} props */
export function InstanceDetails(props) {
  const { name, why, attention, events, now, link } = props;
  const whole = why.waiting.filter(({ resource }) => resource === null);
  return html`<nav aria-label="Where this is"><a href="/ui/">Overview</a> / Instances</nav>
    <h1 tabindex="-1">${name}</h1>
    <p class="summary"><${StateSign} of=${why.status} /> ${attention.length === 0 ? why.summary : ''}</p>
    ${attention.length === 0 ? null : html`<${AttentionList} items=${attention} now=${now} />`}
    ${
      whole.length === 0 || attention.length > 0
        ? null
        : html`<ul class="items">${whole.map(
            ({ state, reason, action }) =>
              html`<li class="item"><p><${StateSign} of=${state} /> ${reason}</p>${action !== null && html`<p class="do"><b>Do:</b> <${Action} of=${action} /></p>`}</li>`,
          )}</ul>`
    }
    <section aria-labelledby="servers">
      <h2 id="servers">Servers</h2>
      <p><${Counts} counts=${why.counts} link=${(/** @type {string} */ state) => link({ state, after: '' })} /></p>
      <${Records} delivered=${props.delivered} />
      <${Filter} ...${props} />
      <${List} ...${props} />
    </section>
    <${Events} events=${events} now=${now} />`;
}

/** @param {ListProps & { readonly instances: Overview['instances'] }} props */
export function SearchView(props) {
  const { query, instances, page } = props;
  const part = (query.search ?? '').toLowerCase();
  const found = part === '' ? [] : instances.filter(({ name }) => name.toLowerCase().includes(part));
  return html`<nav aria-label="Where this is"><a href="/ui/">Overview</a> / Servers</nav>
    <h1 tabindex="-1">${query.search ? `Search: ${query.search}` : 'Servers'}</h1>
    ${
      found.length === 0
        ? null
        : html`<section aria-labelledby="found"><h2 id="found">Instances <span class="number">${found.length}</span></h2>
          <ul class="plain">${found.slice(0, INSTANCES_SHOWN).map(({ name, status }) => html`<li key=${name}><a href=${instanceLink(name)}>${name}</a> <${StateSign} of=${status} /></li>`)}</ul>
          ${found.length > INSTANCES_SHOWN ? html`<p class="quiet">and ${found.length - INSTANCES_SHOWN} more</p>` : null}</section>`
    }
    <section aria-labelledby="servers">
      <h2 id="servers">Servers <span class="number">${page.total.toLocaleString('en')}</span></h2>
      <${Filter} ...${props} />
      <${List} ...${props} hasInstance=${true} />
    </section>`;
}

/** @param {ListProps} props */
function Filter({ query, link, go }) {
  const changed = (/** @type {Event} */ { currentTarget }) =>
    go(link({ state: /** @type {HTMLSelectElement} */ (currentTarget).value, after: '' }));
  return html`<p class="filter"><label>State <select onChange=${changed}>
    <option value="" selected=${!query.state}>all</option>
    ${STATE_ORDER.map((state) => html`<option value=${state} selected=${query.state === state}>${state}</option>`)}
  </select></label>${query.state ? html` <a href=${link({ state: '', after: '' })}>show all</a>` : null}</p>`;
}

/** @param {ListProps & { readonly hasInstance?: boolean }} props */
function List(props) {
  const { page, query, link, hasInstance = false } = props;
  if (page.servers.length === 0) return html`<p class="quiet">No servers.</p>`;
  const columns = ['Server', hasInstance ? 'Instance' : 'Group', 'State', 'Since', 'Failed tries', 'Waits for'];
  const servers = hasInstance
    ? page.servers
    : page.servers.toSorted((a, b) => Number(a.group > b.group) - Number(a.group < b.group));
  return html`<${Table} label="Servers" columns=${columns}>
      <tbody>${servers.map((server) => html`<${Row} key=${server.name} server=${server} ...${props} width=${columns.length} />`)}</tbody>
    <//>
    <p class="pages">${counted(page.total, 'server')}${query.after ? html` · <a href=${link({ after: '' })}>first page</a>` : null}
      ${page.next === null ? null : html` · <a href=${link({ after: page.next })}>next page</a>`}</p>`;
}

/** @param {ListProps & { readonly server: ListedServer, readonly hasInstance?: boolean, readonly width: number }} props */
function Row({ server, opened, details, now, link, hasInstance, width }) {
  const { name, instance, group, state, since, attempt, reason, until, action } = server;
  const isOpen = opened === name;
  return html`<tr>
      <th scope="row"><a class="toggle" role="button" href=${link({ open: isOpen ? '' : name })} data-keep="true" aria-expanded=${String(isOpen)}>${name}</a></th>
      ${hasInstance ? html`<td data-column="Instance"><a href=${instanceLink(instance)}>${instance}</a></td>` : html`<td data-column="Group" class="quiet">${group}</td>`}
      <td data-column="State"><${StateSign} of=${state} /></td>
      <td data-column="Since"><${Ago} at=${since} now=${now} /></td>
      <td data-column="Failed tries">${attempt === 0 ? '' : attempt}</td>
      <td data-column="Waits for" class="why">${reason}${until === null ? '' : html` <span class="quiet">(<time datetime=${until} title=${until}>${distance(until, now)}</time>)</span>`}
        ${action === null ? null : html`<div class="do"><b>Do:</b> <${Action} of=${action} /></div>`}</td>
    </tr>
    ${isOpen ? html`<tr class="details"><td colspan=${width}>${details === undefined ? 'Loading…' : html`<${Details} of=${details} />`}</td></tr>` : null}`;
}

/** @param {{ readonly of: ServerDetails }} props */
function Details({ of: { name, commit, generation, provider, properties } }) {
  const isDifferent = (/** @type {ServerDetails['properties'][number]} */ { wanted, applied, observed }) =>
    observed !== undefined || shownValue(wanted) !== shownValue(applied);
  return html`<p>Wanted by <${CommitId} of=${commit} />, version ${generation}, made by ${provider ?? 'nobody yet'}. <a href=${nodeLink(name)}>Configuration of ${name}</a></p>
    ${
      properties.length === 0
        ? null
        : html`<${Table} label=${`Properties of ${name}`} columns=${['Property', 'Wanted', 'Applied', 'Found']}>
          <tbody>${properties.map(
            (one) => html`<tr key=${one.property} class=${isDifferent(one) ? 'different' : ''}>
              <th scope="row">${one.property}${isDifferent(one) ? html`<span class="state warn"> <span class="sign" aria-hidden="true">≠</span>differs</span>` : null}</th>
              <td data-column="Wanted">${shownValue(one.wanted)}</td><td data-column="Applied">${shownValue(one.applied)}</td>
              <td data-column="Found">${one.observed === undefined ? '' : shownValue(one.observed)}</td>
            </tr>`,
          )}</tbody>
        <//>`
    }`;
}

/** Returns whether a server is gone where no state begins: an operation begins none either. @param {Pick<InstanceEvent, 'resource' | 'from'>} event */
const isGone = ({ resource, from }) => resource !== null && from !== null;

/** @param {{ readonly events: readonly InstanceEvent[], readonly now: number }} props */
function Events({ events, now }) {
  return html`<section aria-labelledby="events"><h2 id="events">Events</h2>
    ${
      events.length === 0
        ? html`<p class="quiet">None of late.</p>`
        : html`<ol class="events" tabindex="0" aria-label="Events, the newest first">${events
            .toReversed()
            .slice(0, EVENTS_SHOWN)
            .map(
              ({
                id,
                time,
                resource,
                from,
                to,
                reason,
              }) => html`<li key=${id}><${Ago} at=${time} now=${now} /> <b>${resource ?? 'instance'}</b>
            ${to === null ? isGone({ resource, from }) && html` <span class="quiet">gone</span>` : html` <${StateSign} of=${to} />`} ${reason}</li>`,
            )}</ol>`
    }
  </section>`;
}
