// Events, the newest first, with the commit or the client that caused each.
import { EVENTS_ASKED } from './addresses.js';
import { html } from './markup.js';
import { Choice } from './overview.js';
import { Ago, Commit, Empty, Instance, Message, Section, Server, State } from './parts.js';
import { byName } from './words.js';

/** @param {any} props */
export function EventsView({ events, status, query, link, go }) {
  const changed = (/** @type {Event} */ { currentTarget }) =>
    go(link({ instance: /** @type {HTMLSelectElement} */ (currentTarget).value }));
  const names = (status?.instances ?? []).map((/** @type {{ name: string }} */ { name }) => name).sort(byName);
  return html`<h1 tabindex="-1">Events</h1>
    <p class="filters"><${Choice} name="instance" label="All instances" options=${names} value=${query.instance} changed=${changed} /></p>
    <${EventList} of=${events} query=${query} link=${link} hasInstance />`;
}

/** @param {any} props */
export function EventSection(props) {
  return html`<${Section} id="events" title="Events"><${EventList} ...${props} /><//>`;
}

/** @param {any} props */
function EventList({ of, query, link, hasInstance = false, isOfServer = false }) {
  if (of === undefined) return html`<${Empty}>This client may not see events.<//>`;
  const { events, gap } = of;
  const isFull = events.length === EVENTS_ASKED;
  return html`${
    events.length === 0
      ? html`<${Empty}>No ${query.before ? 'older ' : ''}events are kept.<//>`
      : html`<ol class="events">${events
          .toReversed()
          .map(
            (/** @type {any} */ event) =>
              html`<${Entry} key=${event.id} event=${event} hasInstance=${hasInstance} isOfServer=${isOfServer} />`,
          )}</ol>`
  }
  ${!isFull && gap && html`<p class="quiet">Older events have been deleted.</p>`}
  <p class="pages">${query.before && html`<a href=${link({ before: '' })}>Newest events</a> `}${isFull && html`<a href=${link({ before: String(events[0].id) })}>Older events</a>`}</p>`;
}

/** Returns whether an event without a new state means that the server is gone. Operations have no `from`. @param {any} event */
const isGone = ({ resource, from }) => resource !== null && from !== null;

/** @param {any} props */
function Entry({ event, hasInstance, isOfServer }) {
  const { time, resource, instance, to, reason, commit, client, clientName } = event;
  const subject =
    resource === null
      ? hasInstance && instance
        ? html`<${Instance} name=${instance} />`
        : 'instance'
      : html`<${Server} name=${resource} />`;
  return html`<li>
    <${Ago} at=${time} />
    ${!isOfServer && html`<span class="subject">${subject}</span>`}
    <span class="to">${to === null ? isGone(event) && html`<span class="quiet">gone</span>` : html`<${State} of=${to} />`}</span>
    <span class="text"><${Message} text=${reason} />${client !== null && html` <span class="quiet">by ${clientName || client}</span>`}${commit !== null && html` <${Commit} of=${commit} />`}</span>
  </li>`;
}
