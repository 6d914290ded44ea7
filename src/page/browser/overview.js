// The overview: a strip of numbers, the causes that need an operator, and the instances by folder.
import { pageAt, queryText } from './addresses.js';
import { html } from './markup.js';
import {
  Advice,
  Ago,
  Bar,
  Commit,
  Empty,
  Instance,
  Legend,
  Message,
  moment,
  Names,
  Records,
  Section,
  Server,
  State,
  Table,
} from './parts.js';
import { byName, counted, duration, kindOf, STATUS_ORDER, signOf, worstFirst } from './words.js';

/** @typedef {import('../../service/answers.ts').Overview} Overview */
/** @typedef {import('../../service/answers.ts').AttentionItem} AttentionItem */
/** @typedef {Overview['instances'][number] & { readonly folder?: string, readonly tenant?: string | null }} InstanceItem */
/** @typedef {(changes: Readonly<Record<string, string>>) => string} Link */

const CAUSES_SHOWN = 3;
const INSTANCES_SHOWN = 50;
/** If there are more folders, those without open work are closed. */
const FOLDERS_OPEN = 6;
const SILENT_MS = 60_000;

/** @param {any} props */
export function OverviewView({ status, held = status.held, clients, delivered, commits, recovery, query, link, go }) {
  const newest = commits?.commits.find((/** @type {{ commit: string }} */ { commit }) => commit === status.commit);
  return html`<h1 class="spoken" tabindex="-1">Overview</h1>
    <${Strip} status=${status} subject=${newest?.subject} held=${held} clients=${clients} delivered=${delivered} />
    <${Attention} items=${status.attention} leftOut=${status.attentionLeftOut ?? 0} />
    ${recovery && html`<${Recovered} of=${recovery} />`}
    <${Instances} items=${status.instances} attention=${status.attention} query=${query} link=${link} go=${go} />`;
}

/** @param {any} props */
function Strip({ status, subject, held, clients, delivered }) {
  const { counts, instances, commit, author, committed, newest, lag, attention } = status;
  const servers = /** @type {number[]} */ (Object.values(counts)).reduce((sum, count) => sum + count, 0);
  const open = instances.filter((/** @type {InstanceItem} */ one) => one.status !== 'Done').length;
  const waiting = held.reduce(
    (/** @type {number} */ sum, /** @type {any} */ { resources }) => sum + resources.length,
    0,
  );
  const unread = attention.find((/** @type {AttentionItem} */ { kind }) => kind === 'repository');
  const late = newest ?? lag ?? unread;
  return html`<div class="strip">
    <${Tile} title="Servers" href=${pageAt('servers')} big=${servers} isWide>
      <${Bar} counts=${counts} /><${Legend} counts=${counts} link=${(/** @type {string} */ state) => pageAt('servers') + queryText({ state })} />
      <${Records} delivered=${delivered} /><//>
    <${Tile} title="Instances" href="#instances" big=${instances.length} tone=${open > 0 && 'warn'}>${open === 0 ? 'all are done' : `${open.toLocaleString('en')} not done`}<//>
    <${Tile} title="Approvals" href=${pageAt('approvals')} big=${held.length} tone=${held.length > 0 && 'warn'}>${held.length === 0 ? 'none pending' : waiting > 0 ? `for ${counted(waiting, 'server')}` : 'pending'}<//>
    <${Tile} title="Followed commit" href=${pageAt('changes', commit)} isWide>
      <span class="big small">${subject || html`<${Commit} of=${commit} />`}</span>
      <span class="note">${subject && html`<${Commit} of=${commit} /> `}${author && html`<span>${author}</span> `}${committed && html`<${Ago} at=${committed} />`}</span><//>
    <${Tile} title="Lag" href=${pageAt('changes')} big=${late === undefined || late === null ? 'none' : duration(moment.now - Date.parse(late.since))} tone=${late && 'bad'}>
      ${newest ? 'a newer commit is not followed' : late ? 'the newest commit is unknown' : 'the newest commit is followed'}<//>
    <${ProxiesTile} clients=${clients} />
  </div>`;
}

/** @param {any} props */
function Tile({ title, href, big, tone, isWide, children }) {
  return html`<div class="tile ${isWide ? 'wide' : ''}"><a class="label" href=${href}>${title}</a>${
    big !== undefined && html`<span class="big">${big.toLocaleString('en')}</span>`
  }<div class="note ${tone || ''}">${children}</div></div>`;
}

/** Whether a client does work for servers. A proxy of a single node does not. @param {any} client */
export const isProxy = ({ role, node }) => role === 'proxy' && !node;

/** Whether a proxy has sent no request lately. @param {any} client */
export const isSilent = ({ lastSeen }) => lastSeen === null || moment.now - Date.parse(lastSeen) > SILENT_MS;

/** @param {{ readonly clients: any[] | undefined }} props */
function ProxiesTile({ clients }) {
  const proxies = clients?.filter(isProxy) ?? [];
  const silent = proxies.filter(isSilent).length;
  return html`<${Tile} title="Proxies" href=${pageAt('proxies')} big=${proxies.length} tone=${silent > 0 && 'warn'}>
    ${proxies.length === 0 ? 'none registered' : silent === 0 ? 'all are heard' : `${silent} silent`}<//>`;
}

/** @param {{ readonly items: readonly AttentionItem[], readonly leftOut?: number }} props */
export function Attention({ items, leftOut = 0 }) {
  const open = items.filter(({ acknowledged }) => acknowledged === null);
  const known = items.filter(({ acknowledged }) => acknowledged !== null);
  return html`<${Section} id="attention" title="Needs an operator" count=${open.length === 0 ? undefined : open.length + leftOut}>
    ${open.length === 0 && html`<p class="calm"><span class="sign" aria-hidden="true">✓</span>Nothing needs an operator</p>`}
    <div class="cards">${[...Map.groupBy(open, ({ kind }) => kind)].map(([kind, causes]) => html`<${Card} key=${kind} kind=${kind} causes=${causes} />`)}</div>
    ${leftOut > 0 && html`<p class="quiet">${counted(leftOut, 'further cause')} not shown.</p>`}
    ${
      known.length > 0 &&
      html`<details class="known"><summary>${counted(known.length, 'acknowledged cause')}</summary>
      ${known.map((item) => html`<article class="card idle"><${Cause} key=${item.id} item=${item} /></article>`)}</details>`
    }
  <//>`;
}

/** @param {{ readonly kind: string, readonly causes: readonly AttentionItem[] }} props */
function Card({ kind, causes }) {
  const [tone, title] = kindOf(kind);
  const isOnly = causes.length === 1;
  const show = (/** @type {AttentionItem} */ item) => html`<${Cause} key=${item.id} item=${item} isOnly=${isOnly} />`;
  return html`<article class="card ${tone}" data-kind=${kind}>
    <h3><span class="sign" aria-hidden="true">${signOf(kind)[1]}</span>${title}${isOnly ? html`<${Since} at=${causes[0]?.since} />` : html` <span class="number">${causes.length}</span>`}</h3>
    ${causes.slice(0, CAUSES_SHOWN).map(show)}
    ${causes.length > CAUSES_SHOWN && html`<details><summary>${counted(causes.length - CAUSES_SHOWN, 'further cause')}</summary>${causes.slice(CAUSES_SHOWN).map(show)}</details>`}
  </article>`;
}

/** @param {{ readonly at: string | null | undefined }} props */
const Since = ({ at }) => at && html`<span class="quiet since">since <${Ago} at=${at} /></span>`;

/** @param {{ readonly item: AttentionItem, readonly isOnly: boolean }} props */
function Cause({ item: { instances, servers, reason, since, action, acknowledged }, isOnly }) {
  // The servers of a hold are listed below as links.
  const text = reason.replace(/; an approval deletes .*$/, '');
  return html`<div class="cause">
    <p class="meta"><${Names} names=${instances} of=${Instance} />
      ${servers.count > 0 && html`<span class="quiet">${counted(servers.count, 'server')}</span>`}${!isOnly && html`<${Since} at=${since} />`}</p>
    <p class="reason"><${Message} text=${text} /></p>
    ${servers.count > 0 && html`<p><${Names} names=${servers.examples} count=${servers.count} of=${Server} /></p>`}
    ${
      acknowledged === null
        ? html`<${Advice} of=${action} />`
        : html`<p class="quiet">Acknowledged by ${acknowledged.by} until <${Ago} at=${acknowledged.until} />${acknowledged.reason && `: ${acknowledged.reason}`}</p>`
    }
  </div>`;
}

/** The results of a recovery, with the effect of a resume. @type {readonly (readonly [string, string])[]} */
const FOUND = [
  ['waiting', 'Adopt or retain'],
  ['unchecked', 'Not checked'],
  ['drifted', 'Drifted'],
  ['create', 'Resume creates'],
  ['update', 'Resume updates'],
  ['replace', 'Resume replaces'],
  ['delete', 'Resume deletes'],
];

/** @param {{ readonly of: any }} props */
function Recovered({ of: { instances } }) {
  const columns = FOUND.filter(([key]) => instances.some((/** @type {any} */ one) => one[key].length > 0));
  return html`<${Section} id="recovery" title="Results of the recovery" count=${counted(instances.length, 'instance')}>
    <${Table} label="Results of the recovery" columns=${['Instance', '#As recorded', ...columns.map(([, title]) => title)]}>
      ${instances.slice(0, INSTANCES_SHOWN).map(
        (
          /** @type {any} */ one,
        ) => html`<tr key=${one.instance}><th scope="row"><${Instance} name=${one.instance} />${one.isHeld && html` <span class="quiet">awaits approval</span>`}</th>
        <td data-column="As recorded" class="amount">${one.found.length.toLocaleString('en')}</td>
        ${columns.map(([key, title]) => html`<td key=${key} data-column=${title}><${Names} names=${one[key]} of=${Server} /></td>`)}</tr>`,
      )}<//>
    ${instances.length > INSTANCES_SHOWN && html`<p class="more quiet">${counted(instances.length - INSTANCES_SHOWN, 'further instance')}: treeline status.</p>`}
  <//>`;
}

/** @param {{ readonly items: readonly InstanceItem[], readonly attention: readonly AttentionItem[], readonly query: any, readonly link: Link, readonly go: any }} props */
function Instances({ items, attention, query, link, go }) {
  const { name = '', status = '', tenant = '' } = query;
  const part = name.toLowerCase();
  const shown = items
    .filter(
      (one) =>
        one.name.toLowerCase().includes(part) &&
        (status === '' || one.status === status) &&
        (tenant === '' || one.tenant === tenant),
    )
    .toSorted((a, b) => worstFirst(STATUS_ORDER)([a.status, a.name], [b.status, b.name]));
  // The instances are sorted, so the folder of the worst instance comes first.
  const folders = [...Map.groupBy(shown, ({ folder = '' }) => folder)];
  const isFiltered = name + status + tenant !== '';
  const causes = causesByInstance(attention, items);
  return html`<${Section} id="instances" title="Instances" count=${items.length} aside=${items.length > 1 && html`<${Filters} ...${{ items, query, link, go }} />`}>
    ${shown.length === 0 && html`<${Empty}>${items.length === 0 ? 'There are no stack instances.' : 'No instance matches.'}<//>`}
    ${folders.map(([folder, own]) => {
      const isOpen = isFiltered || folders.length <= FOLDERS_OPEN || own[0]?.status !== 'Done';
      return html`<${Folder} key=${`${folder}/${isFiltered}`} name=${folder} items=${own} isOpen=${isOpen} causes=${causes} isOnly=${folders.length === 1 && folder === ''} />`;
    })}
  <//>`;
}

/** Returns the causes of each instance that are listed above. @param {readonly AttentionItem[]} attention @param {readonly InstanceItem[]} items */
function causesByInstance(attention, items) {
  /** @type {Map<string, Set<string>>} */
  const causes = new Map();
  const suspended = items.filter(({ status }) => status === 'Suspended').map(({ name }) => name);
  for (const { kind, instances } of attention)
    for (const name of kind === 'recovery' ? suspended : instances)
      causes.set(name, (causes.get(name) ?? new Set()).add(kindOf(kind)[1]));
  return causes;
}

/** @param {{ readonly items: readonly InstanceItem[], readonly query: any, readonly link: Link, readonly go: any }} props */
function Filters({ items, query, link, go }) {
  const changed = (/** @type {Event} */ { currentTarget }) => {
    const { name, value } = /** @type {HTMLInputElement} */ (currentTarget);
    go(link({ [name]: value }), { isSame: true });
  };
  const tenants = [...new Set(items.flatMap(({ tenant }) => tenant || []))].sort(byName);
  const statuses = STATUS_ORDER.filter((status) => items.some((one) => one.status === status));
  return html`<form class="filters" onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}>
    <input name="name" type="search" placeholder="Name" aria-label="Filter by name" value=${query.name ?? ''} onInput=${changed} />
    <${Choice} name="status" label="All statuses" options=${statuses} value=${query.status} changed=${changed} />
    ${tenants.length > 0 && html`<${Choice} name="tenant" label="All tenants" options=${tenants} value=${query.tenant} changed=${changed} />`}
  </form>`;
}

/** A choice in a filter. @param {{ readonly name: string, readonly label: string, readonly options: readonly string[], readonly value?: string, readonly changed: (event: Event) => void }} props */
export function Choice({ name, label, options, value = '', changed }) {
  return html`<select name=${name} aria-label=${label} onChange=${changed}><option value="" selected=${value === ''}>${label}</option>${options.map(
    (option) => html`<option value=${option} selected=${option === value}>${option}</option>`,
  )}</select>`;
}

/** @param {{ readonly name: string, readonly items: readonly InstanceItem[], readonly isOpen: boolean, readonly isOnly: boolean, readonly causes: ReadonlyMap<string, ReadonlySet<string>> }} props */
function Folder({ name, items, isOpen, isOnly, causes }) {
  const rows = html`<${Table} label=${name || 'Instances'} columns=${['Instance', 'Status', 'Servers', 'Why']}>
      ${items.slice(0, INSTANCES_SHOWN).map((one) => html`<${Row} key=${one.name} one=${one} causes=${causes.get(one.name)} />`)}<//>
    ${items.length > INSTANCES_SHOWN && html`<p class="more quiet">${counted(items.length - INSTANCES_SHOWN, 'further instance')}: filter by name.</p>`}`;
  if (isOnly) return html`<div class="folder">${rows}</div>`;
  /** @type {Record<string, number>} */
  const counts = {};
  for (const one of items)
    for (const [state, count] of Object.entries(one.counts)) counts[state] = (counts[state] ?? 0) + count;
  return html`<details class="folder" open=${isOpen}><summary><b>${name || 'no folder'}</b> <span class="number">${counted(items.length, 'instance')}</span>
    <${Bar} counts=${counts} /></summary>${rows}</details>`;
}

/** @param {{ readonly one: InstanceItem & { readonly commit?: string | null }, readonly causes: ReadonlySet<string> | undefined }} props */
function Row({ one: { name, status, counts, summary, tenant, commit }, causes }) {
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const why = causes === undefined ? (status === 'Done' ? '' : summary) : [...causes].join(', ');
  return html`<tr>
    <th scope="row"><${Instance} name=${name} />${tenant && html` <span class="tag">${tenant}</span>`}</th>
    <td data-column="Status"><${State} of=${status} /></td>
    <td data-column="Servers"><span class="measure"><span class="count">${total.toLocaleString('en')}</span><${Bar} counts=${counts} /></span></td>
    <td data-column="Why" class="why">${why}${commit && html` <span class="quiet">runs <${Commit} of=${commit} /></span>`}</td>
  </tr>`;
}
