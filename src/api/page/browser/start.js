// Starts the page: finds the view of an address, has its data kept current, and shows it.
import { Live } from './live.js';
import { html, render } from './markup.js';
import { NodeView } from './node.js';
import { OverviewView } from './overview.js';
import { announce } from './parts.js';
import { InstanceDetails, SearchView } from './servers.js';
import { counted, duration } from './words.js';

/** @typedef {{ readonly kind: 'overview' | 'instance' | 'node' | 'servers' | 'nowhere', readonly name: string }} View */
/** @typedef {Record<string, string>} Query */

const STATUS = '/operations/status';
/** Of its answer, the sentence and the counts are shown. */
const DELIVERED = '/operations/delivered?limit=1';
const CLIENTS = '/operations/clients';
const HELD = '/operations/held';
/** Kinds of causes for which no instance continues. */
const STOPS_ALL = ['store', 'leader', 'repository'];
const SERVERS_A_PAGE = 200;
const EVENTS_ASKED = 1_000;
/** Ids of events are at least their time in milliseconds. */
const EVENTS_MS = 3_600_000;
/** The times on the page count on, and whether it is current is looked at. */
const TICK_MS = 1_000;
const SEARCH_MS = 250;

const root = /** @type {HTMLElement} */ (document.getElementById('page'));
root.textContent = '';
const live = new Live(document.documentElement.dataset.api ?? '', () => show());
/** The events of an instance are asked for from here on. */
let eventsFrom = 0;
/** Another view was asked for, and is not shown yet: its heading gets the focus. */
let isArriving = false;
/** What was announced last. */
let announced = '';

/** Returns the view of the address. @returns {{ readonly view: View, readonly query: Query }} */
function here() {
  const query = Object.fromEntries(new URLSearchParams(location.search));
  const match = /^\/ui\/(?:(instances|nodes)\/([^/]+)|(servers))?\/?$/.exec(location.pathname);
  if (match === null) return { view: { kind: 'nowhere', name: '' }, query };
  const [, section, name = '', servers] = match;
  if (servers !== undefined) return { view: { kind: 'servers', name: '' }, query };
  if (section === undefined) return { view: { kind: 'overview', name: '' }, query };
  return { view: { kind: section === 'nodes' ? 'node' : 'instance', name: decodeURIComponent(name) }, query };
}

/** Returns this address with some of its query changed; empty values are left out. @param {Query} changes */
function link(changes) {
  const query = Object.entries({ ...here().query, ...changes }).filter(([, value]) => value !== '');
  const text = new URLSearchParams(query).toString();
  return `${location.pathname}${text === '' ? '' : `?${text}`}`;
}

/** Returns what a view asks for, by what it is. @param {View} view @param {Query} query @returns {Query} */
function pathsOf({ kind, name }, query) {
  const at = encodeURIComponent(name);
  if (kind === 'nowhere') return {};
  if (kind === 'node') return { explanation: `/operations/explain/${at}/` };
  if (kind === 'overview') return { status: STATUS, held: HELD, clients: CLIENTS, delivered: DELIVERED };
  const { state = '', after = '', search = '', open = '' } = query;
  const asked = { limit: String(SERVERS_A_PAGE), state, after, search, instance: name };
  const list = new URLSearchParams(Object.entries(asked).filter(([, value]) => value !== ''));
  /** @type {Query} */
  const paths = { status: STATUS, servers: `/operations/servers?${list}` };
  if (open !== '') paths.details = `/operations/servers/${encodeURIComponent(open)}/`;
  if (kind === 'servers') return paths;
  const events = `/stacks/instances/${at}/events?after=${eventsFrom}&limit=${EVENTS_ASKED}`;
  return { ...paths, why: `/stacks/instances/${at}/why`, events, delivered: `${DELIVERED}&instance=${at}` };
}

function show() {
  const { view, query } = here();
  const paths = pathsOf(view, query);
  const of = (/** @type {string} */ key) => (paths[key] === undefined ? undefined : live.body(paths[key]));
  render(html`<${Frame} title=${titleOf(view)}>${contentOf(view, query, paths, of)}<//>`, root);
  announceChanges(of('status'));
  const isLoaded = Object.entries(paths).every(([key, path]) => isLate(key) || (live.body(path) ?? live.failure(path)));
  if (!isArriving || !isLoaded) return;
  isArriving = false;
  if (document.activeElement === document.body) document.querySelector('h1')?.focus({ preventScroll: true });
}

/** What a view is shown without until it is there. @param {string} key */
const isLate = (key) => ['clients', 'delivered', 'details', 'held'].includes(key);

/**
 * @param {View} view
 * @param {Query} query
 * @param {Query} paths
 * @param {(key: string) => any} of
 */
function contentOf(view, query, paths, of) {
  const failed = Object.entries(paths).find(([key, path]) => !isLate(key) && live.failure(path) !== undefined);
  if (view.kind === 'nowhere')
    return html`<h1 tabindex="-1">There is nothing here</h1><p><a href="/ui/">Overview</a></p>`;
  if (failed !== undefined)
    return html`<h1 tabindex="-1">${view.name || 'Not shown'}</h1><p>${live.failure(failed[1])?.message}</p><p><a href="/ui/">Overview</a></p>`;
  const { now } = live;
  const list = { page: of('servers'), opened: query.open ?? '', details: of('details'), now, query, link, go };
  const status = of('status');
  const attention =
    status?.attention?.filter(
      (/** @type {import('./overview.js').AttentionItem} */ { kind, instances }) =>
        STOPS_ALL.includes(kind) || instances.includes(view.name),
    ) ?? [];
  const isWaiting = Object.entries(paths).some(([key, path]) => !isLate(key) && live.body(path) === undefined);
  if (isWaiting) return html`<h1 tabindex="-1">${view.name || titleOf(view)}</h1><p class="quiet">Loading…</p>`;
  if (view.kind === 'node') return html`<${NodeView} key=${view.name} explanation=${of('explanation')} />`;
  if (view.kind === 'overview')
    return html`<${OverviewView} overview=${status} held=${of('held')?.held} clients=${of('clients')?.clients} delivered=${of('delivered')} now=${now} />`;
  if (view.kind === 'servers') return html`<${SearchView} ...${list} instances=${status.instances} />`;
  return html`<${InstanceDetails} ...${list} name=${view.name} why=${of('why')} attention=${attention} events=${of('events').events} delivered=${of('delivered')} />`;
}

/** @param {View} view */
function titleOf({ kind, name }) {
  if (kind === 'overview') return 'Overview';
  return kind === 'servers' ? 'Servers' : name;
}

/** What surrounds every view. @param {{ readonly title: string, readonly children?: any }} props */
function Frame({ title, children }) {
  const { isCurrent, isStreaming, heard, silentMs, reason } = live.freshness;
  document.title = `${title} · Treeline`;
  const isStale = !isCurrent && (heard > 0 || reason !== '');
  return html`<a class="skip" href="#content">To the content</a>
    <header>
      <a class="name" href="/ui/">Treeline</a>
      <form role="search" onSubmit=${submitted}>
        <input id="search" type="search" name="search" placeholder="Search names ( / )" aria-label="Search instances and servers" autocomplete="off" spellcheck=${false} onInput=${typed} />
      </form>
      <span class="live ${isCurrent ? 'good' : 'bad'}">${isStale ? '✕ not current' : isStreaming ? '● live' : '○ asked every 5 s'}</span>
    </header>
    ${isStale ? html`<p class="stale" role="alert">Not current: the controller was ${heard === 0 ? 'not heard of yet' : `last heard of ${duration(silentMs)} ago`}${reason === '' ? '' : ` (${reason})`}.${heard === 0 ? '' : ' What stands below is from then.'}</p>` : null}
    <main id="content" class=${isStale ? 'old' : ''}>${children}</main>
    <p id="spoken" class="spoken" role="status"></p>`;
}

/** Says aloud when more or less needs a person. @param {any} status */
function announceChanges(status) {
  if (status?.attention === undefined) return;
  const open = status.attention.filter(
    (/** @type {{ acknowledged: unknown }} */ { acknowledged }) => acknowledged === null,
  );
  const text = open.length === 0 ? 'Nothing needs a person' : `${counted(open.length, 'cause')} for a person`;
  if (announced !== '' && announced !== text) announce(text);
  announced = text;
}

/** Shows another address. @param {string} address @param {{ readonly isSame?: boolean }} [how] The same view: the focus stays. */
function go(address, { isSame = false } = {}) {
  if (isSame) history.replaceState(null, '', address);
  else history.pushState(null, '', address);
  arrive(isSame);
}

/** @param {boolean} isSame */
function arrive(isSame) {
  const { view, query } = here();
  isArriving = !isSame;
  if (!isSame) eventsFrom = Math.floor(live.now - EVENTS_MS);
  const filter = view.kind === 'instance' ? `?instance=${encodeURIComponent(view.name)}` : '';
  live.show(Object.values(pathsOf(view, query)), filter);
  show();
  if (isSame) return;
  /** @type {HTMLInputElement} */ (document.getElementById('search')).value = query.search ?? '';
  scrollTo(0, 0);
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let typing;

/** @param {Event} event */
function typed({ currentTarget }) {
  const { value } = /** @type {HTMLInputElement} */ (currentTarget);
  clearTimeout(typing);
  typing = setTimeout(() => search(value), SEARCH_MS);
}

/** @param {Event} event */
function submitted(event) {
  event.preventDefault();
  clearTimeout(typing);
  search(/** @type {HTMLInputElement} */ (document.getElementById('search')).value);
}

/** The focus stays in the field, and the way back leads to where the search began. @param {string} text */
function search(text) {
  const address = text === '' ? '/ui/' : `/ui/servers?search=${encodeURIComponent(text.trim())}`;
  if (here().view.kind !== 'servers') history.pushState(null, '', address);
  go(address, { isSame: true });
}

document.addEventListener('click', (event) => {
  const target = event.target instanceof Element ? event.target.closest('a') : null;
  const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
  if (target === null || !isPlain || !target.getAttribute('href')?.startsWith('/ui/')) return;
  event.preventDefault();
  go(target.getAttribute('href') ?? '/ui/', { isSame: target.dataset.keep !== undefined });
});
document.addEventListener('keydown', (event) => {
  const isTyping = event.target instanceof Element && event.target.closest('input, select, textarea') !== null;
  if (event.key === '/' && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    document.getElementById('search')?.focus();
  }
  const pressed = event.target instanceof Element ? event.target.closest('a[role=button]') : null;
  if (event.key === ' ' && pressed instanceof HTMLElement) {
    event.preventDefault();
    pressed.click();
  }
});
addEventListener('popstate', () => arrive(false));
setInterval(() => {
  if (!document.hidden) show();
}, TICK_MS);
arrive(false);
