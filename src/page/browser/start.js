// Starts the page: finds the view of an address, keeps its data current, and renders it in its frame.
import { MENU, pageAt, questionsOf, titleOf, viewAt } from './addresses.js';
import { ApprovalsView } from './approvals.js';
import { ChangesView, ChangeView } from './changes.js';
import { EventsView } from './events.js';
import { InstanceView, ServersView } from './instance.js';
import { Live } from './live.js';
import { html, render } from './markup.js';
import { OverviewView } from './overview.js';
import { announce, Icon, moment } from './parts.js';
import { ProxiesView } from './proxies.js';
import { ServerView } from './server.js';
import { counted, duration } from './words.js';

/** @typedef {Record<string, string>} Query */

/** @type {Readonly<Record<string, any>>} */
const VIEWS = {
  overview: OverviewView,
  servers: ServersView,
  server: ServerView,
  instance: InstanceView,
  changes: ChangesView,
  change: ChangeView,
  approvals: ApprovalsView,
  proxies: ProxiesView,
  events: EventsView,
};
/** The menu entry of views that have no entry of their own. @type {Readonly<Record<string, string>>} */
const MENU_OF = { server: 'servers', change: 'changes', instance: 'overview' };
/** The interval of updating shown times and checking whether the page is current. */
const TICK_MS = 5_000;
const SEARCH_MS = 250;
/** Answers with one field, which the view gets instead of the answer. */
const WRAPPED = ['held', 'clients', 'providers', 'recovery'];
const COLOUR = /^#[0-9a-f]{3,8}$/i;

const root = /** @type {HTMLElement} */ (document.getElementById('page'));
root.textContent = '';
const live = new Live(document.documentElement.dataset.api ?? '', () => show());
/** The last answers of the current view, shown until the next ones arrive. @type {Map<string, any>} */
const last = new Map();
/** True after a change of the view until it is shown: then its heading gets the focus. */
let isArriving = false;
/** The last announcement. */
let announced = '';

const here = () => ({
  view: viewAt(location.pathname),
  query: /** @type {Query} */ (Object.fromEntries(new URLSearchParams(location.search))),
});

/** Returns this address with changes of its query; empty values are removed. @param {Query} changes */
function link(changes) {
  const query = Object.entries({ ...here().query, ...changes }).filter(([, value]) => value !== '');
  const text = new URLSearchParams(query).toString();
  return `${location.pathname}${text === '' ? '' : `?${text}`}`;
}

function show() {
  const { view, query } = here();
  const { needed, optional } = questionsOf(view, query);
  for (const [key, path] of Object.entries({ ...needed, ...optional })) {
    const body = live.body(path);
    if (body !== undefined) last.set(key, WRAPPED.includes(key) ? body[key] : body);
    else if (live.failure(path) !== undefined) last.delete(key);
  }
  const { status, controller } = Object.fromEntries(last);
  moment.now = live.now;
  moment.links = controller?.page?.links ?? {};
  const failed = Object.values(needed).find((path) => live.failure(path) !== undefined);
  const failure = failed === undefined ? unknownServer(view, optional) : live.failure(failed)?.message;
  const isWaiting =
    !failure &&
    (Object.keys(needed).some((key) => !last.has(key)) ||
      (view.kind === 'server' && !last.has('server') && !last.has('explanation')));
  render(
    html`<${Frame} view=${view} status=${status} controller=${controller}>${contentOf({ view, query, failure, isWaiting })}<//>`,
    root,
  );
  announceChanges(status);
  if (!isArriving || isWaiting) return;
  isArriving = false;
  if (document.activeElement === document.body) document.querySelector('h1')?.focus({ preventScroll: true });
}

/** Returns the failure if there is neither a server nor a node of this name. @param {{ readonly kind: string }} view @param {Query} optional */
function unknownServer({ kind }, { server = '', explanation = '' }) {
  return kind === 'server' && live.failure(server) !== undefined ? live.failure(explanation)?.message : undefined;
}

/** @param {{ readonly view: { kind: string, name: string }, readonly query: Query, readonly failure: string | undefined, readonly isWaiting: boolean }} shown */
function contentOf({ view, query, failure, isWaiting }) {
  const title = titleOf(view);
  const View = VIEWS[view.kind];
  if (View === undefined || failure)
    return html`<h1 tabindex="-1">${title}</h1><p>${failure}</p><p><a href="/ui/">Overview</a></p>`;
  if (isWaiting) return html`<h1 tabindex="-1">${title}</h1><p class="quiet">Loading…</p>`;
  return html`<${View} key=${view.kind + view.name} name=${view.name} query=${query} link=${link} go=${go} ...${Object.fromEntries(last)} />`;
}

/** The frame of every view. @param {{ readonly view: any, readonly status: any, readonly controller: any, readonly children?: any }} props */
function Frame({ view, status, controller, children }) {
  const { isCurrent, isStreaming, heard, silentMs, reason } = live.freshness;
  const causes = openCauses(status);
  document.title = `${causes > 0 ? `(${causes}) ` : ''}${titleOf(view)} · ${controller?.id ?? 'Treeline'}`;
  const isStale = !isCurrent && (heard > 0 || reason !== '');
  const colour = controller?.page?.colour;
  const style = COLOUR.test(colour) ? { '--environment': colour } : {};
  return html`<div class="frame" style=${style}>
    <a class="skip" href="#content">Skip to content</a>
    <header>
      <a class="brand" href="/ui/" aria-label="Treeline: overview"><svg viewBox="0 0 32 32" aria-hidden="true"><path d="M16 2 7 13h4l-6 8h9v7h4v-7h9l-6-8h4z" /></svg><b>Treeline</b></a>
      ${controller && html`<span class="id">${controller.id}</span><span class="version">${controller.version}</span>`}
      <form role="search" onSubmit=${submitted}>
        <input id="search" type="search" name="search" placeholder="Search servers and instances  ( / )" aria-label="Search servers and instances" autocomplete="off" spellcheck=${false} onInput=${typed} />
      </form>
      <span class="live ${isCurrent ? 'good' : 'bad'}">${isStale ? '✕ stale' : isStreaming ? '● live' : '○ every 5 s'}</span>
    </header>
    <nav class="menu" aria-label="Menu">${MENU.map(([address, title, name]) => {
      const isHere = (MENU_OF[view.kind] ?? view.kind) === name;
      const amount = name === 'overview' ? causes : name === 'approvals' ? (status?.held.length ?? 0) : 0;
      return html`<a key=${name} href=${pageAt(address)} aria-current=${isHere ? 'page' : undefined}><${Icon} name=${name} /><span>${title}</span>${amount > 0 && html`<span class="badge">${amount}</span>`}</a>`;
    })}</nav>
    <main id="content" class=${isStale ? 'old' : ''}>
      ${isStale && html`<p class="stale" role="alert">Not current: the controller ${heard === 0 ? 'has not answered yet' : `last answered ${duration(silentMs)} ago`}${reason === '' ? '' : ` (${reason})`}.</p>`}
      ${children}</main>
    <p id="spoken" class="spoken" role="status"></p></div>`;
}

/** Returns the number of causes that are not acknowledged. @param {any} status */
function openCauses(status) {
  return (status?.attention ?? []).filter(
    (/** @type {{ acknowledged: unknown }} */ { acknowledged }) => acknowledged === null,
  ).length;
}

/** Announces to screen readers when the number of causes changes. @param {any} status */
function announceChanges(status) {
  if (status?.attention === undefined) return;
  const count = openCauses(status);
  const text = count === 0 ? 'Nothing needs an operator' : `${counted(count, 'cause')} for an operator`;
  if (announced !== '' && announced !== text) announce(text);
  announced = text;
}

/** Shows another address. @param {string} address @param {{ readonly isSame?: boolean }} [how] `isSame`: the same view, so the focus stays. */
function go(address, { isSame = false } = {}) {
  if (isSame) history.replaceState(null, '', address);
  else history.pushState(null, '', address);
  arrive(isSame);
}

/** @param {boolean} isSame */
function arrive(isSame) {
  const { view, query } = here();
  isArriving = !isSame;
  if (!isSame) for (const key of last.keys()) if (key !== 'status' && key !== 'controller') last.delete(key);
  const filter = view.kind === 'instance' ? `?instance=${encodeURIComponent(view.name)}` : '';
  const { needed, optional } = questionsOf(view, query);
  live.show([...new Set(Object.values({ ...needed, ...optional }))], filter);
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
  typing = setTimeout(() => {
    if (value.trim() !== '')
      go(`${pageAt('servers')}?search=${encodeURIComponent(value.trim())}`, { isSame: here().view.kind === 'servers' });
  }, SEARCH_MS);
}

/** @param {Event} event */
function submitted(event) {
  event.preventDefault();
}

document.addEventListener('click', (event) => {
  const target = event.target instanceof Element ? event.target.closest('a') : null;
  if (target === null || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const href = target.getAttribute('href') ?? '';
  if (!href.startsWith('/ui/') || target.getAttribute('target') !== null) return;
  event.preventDefault();
  go(href, { isSame: target.dataset.keep !== undefined });
});
document.addEventListener('keydown', (event) => {
  const isTyping = event.target instanceof Element && event.target.closest('input, select, textarea') !== null;
  if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  document.getElementById('search')?.focus();
});
addEventListener('popstate', () => arrive(false));
addEventListener('beforeprint', () => {
  for (const one of document.querySelectorAll('main details')) /** @type {HTMLDetailsElement} */ (one).open = true;
});
setInterval(() => {
  if (!document.hidden) show();
}, TICK_MS);
arrive(false);
