// The overview: what needs a person first, then every instance, the commits, what is held, and the proxies.
import { html } from './markup.js';
import { Action, Ago, CommitId, Copyable, Counts, instanceLink, nodeLink, Records, StateSign, Table } from './parts.js';
import { counted, signOf } from './words.js';

/** @typedef {import('../../../service/answers.ts').Overview} Overview */
/** @typedef {import('../../../service/answers.ts').AttentionItem} AttentionItem */
/** @typedef {import('../../../service/answers.ts').AuthoredHold} AuthoredHold */
/** @typedef {import('../../../service/answers.ts').Delivered} Delivered */
/** @typedef {{ readonly overview: Overview, readonly held: readonly AuthoredHold[] | undefined, readonly clients: readonly any[] | undefined, readonly delivered: Delivered | undefined, readonly now: number }} OverviewProps */

/** More are found by the search. */
const INSTANCES_MAX = 500;

/** @param {OverviewProps} props */
export function OverviewView({ overview, held = [], clients, delivered, now }) {
  return html`<h1 tabindex="-1">Overview</h1>
    <${AttentionList} items=${overview.attention} leftOut=${overview.attentionLeftOut ?? 0} now=${now} />
    <${Instances} overview=${overview} delivered=${delivered} />
    <${Held} held=${held} now=${now} />
    <${Commits} overview=${overview} now=${now} />
    <${Proxies} clients=${clients} now=${now} />`;
}

/** @param {{ readonly items: readonly AttentionItem[], readonly leftOut?: number, readonly now: number }} props */
export function AttentionList({ items, leftOut = 0, now }) {
  const open = items.filter(({ acknowledged }) => acknowledged === null);
  const known = items.filter(({ acknowledged }) => acknowledged !== null);
  return html`<section aria-labelledby="attention">
    <h2 id="attention">Needs a person ${open.length === 0 ? '' : html`<span class="number">${open.length + leftOut}</span>`}</h2>
    ${
      open.length === 0
        ? html`<p class="calm"><${StateSign} of="done" /> Nothing needs a person.</p>`
        : html`<ul class="items">${open.map((item) => html`<${Item} key=${item.id} item=${item} now=${now} />`)}</ul>`
    }
    ${leftOut > 0 ? html`<p class="quiet">${counted(leftOut, 'further cause')} not shown.</p>` : null}
    ${
      known.length === 0
        ? null
        : html`<h3>Acknowledged</h3>
          <ul class="items known">${known.map((item) => html`<${Item} key=${item.id} item=${item} now=${now} />`)}</ul>`
    }
  </section>`;
}

/** @param {{ readonly item: AttentionItem, readonly now: number }} props */
function Item({ item, now }) {
  const { kind, instances, servers, reason, since, action, acknowledged } = item;
  const about = servers.count === 0 ? '' : counted(servers.count, 'server');
  return html`<li class="item">
    <p class="head">
      <span class="state bad"><span class="sign" aria-hidden="true">${signOf(kind)[1]}</span>${kind}</span>
      ${instances.slice(0, 5).map((name) => html` <a href=${instanceLink(name)}>${name}</a>`)}
      ${instances.length > 5 ? html` <span class="quiet">and ${instances.length - 5} more</span>` : null}
      <span class="quiet">${about}${since === null ? '' : html`${about === '' ? '' : ', '}since <${Ago} at=${since} now=${now} />`}</span>
    </p>
    <p>${reason}</p>
    ${
      servers.examples.length === 0
        ? null
        : html`<p class="quiet examples">${servers.examples.map((name) => html`<a href=${nodeLink(name)}>${name}</a> `)}</p>`
    }
    ${
      acknowledged === null
        ? action !== null && html`<p class="do"><b>Do:</b> <${Action} of=${action} /></p>`
        : html`<p class="quiet">Acknowledged by ${acknowledged.by} until ${acknowledged.until}${acknowledged.reason === '' ? '' : `: ${acknowledged.reason}`}</p>`
    }
  </li>`;
}

/** @param {{ readonly overview: Overview, readonly delivered: Delivered | undefined }} props */
function Instances({ overview: { instances, counts }, delivered }) {
  const [open, done] = [
    instances.filter(({ status }) => status !== 'Done'),
    instances.filter(({ status }) => status === 'Done'),
  ];
  const all = [...open, ...done];
  return html`<section aria-labelledby="instances">
    <h2 id="instances">Instances <span class="number">${instances.length.toLocaleString('en')}</span></h2>
    <p><${Counts} counts=${counts} link=${(/** @type {string} */ state) => `/ui/servers?state=${encodeURIComponent(state)}`} /></p>
    <${Records} delivered=${delivered} />
    ${
      all.length === 0
        ? html`<p class="quiet">There are no stack instances.</p>`
        : html`<${Table} label="Instances" columns=${['Instance', 'Status', 'Servers', 'Why']}>
          <tbody>${all.slice(0, INSTANCES_MAX).map((one) => html`<${Row} key=${one.name} one=${one} />`)}</tbody>
        <//>`
    }
    ${all.length > INSTANCES_MAX ? html`<p class="quiet">${counted(all.length - INSTANCES_MAX, 'further instance')}: search finds them.</p>` : null}
  </section>`;
}

/** @param {{ readonly one: Overview['instances'][number] }} props */
function Row({ one: { name, status, counts, summary } }) {
  return html`<tr>
    <th scope="row"><a href=${instanceLink(name)}>${name}</a></th>
    <td data-column="Status"><${StateSign} of=${status} /></td>
    <td data-column="Servers"><${Counts} counts=${counts} link=${(/** @type {string} */ state) => `${instanceLink(name)}?state=${encodeURIComponent(state)}`} /></td>
    <td data-column="Why" class="why">${status === 'Done' ? '' : summary}</td>
  </tr>`;
}

/** @param {{ readonly held: readonly AuthoredHold[], readonly now: number }} props */
function Held({ held, now }) {
  if (held.length === 0) return null;
  return html`<section aria-labelledby="held">
    <h2 id="held">Held for an approval <span class="number">${held.length}</span></h2>
    <${Table} label="Held for an approval" columns=${['What', 'Since', 'Asked for by', 'Servers', 'To let it happen']}>
      <tbody>${held.map(
        ({ kind, digest, instance, since, commit, author, resources, check }) => html`<tr key=${digest}>
          <th scope="row">${instance === null ? null : html`<a href=${instanceLink(instance)}>${instance}</a>: `}${kind}</th>
          <td data-column="Since"><${Ago} at=${since} now=${now} /></td>
          <td data-column="Asked for by">${commit === null ? '–' : html`<${CommitId} of=${commit} />`}${author === null ? '' : ` ${author}`}</td>
          <td data-column="Servers"><details><summary>${counted(resources.length, 'server')}</summary>${resources.join(', ')}</details></td>
          <td data-column="To let it happen">${check === undefined ? null : `First: ${check}. `}<${Copyable} text=${`treeline approve ${digest}`} /></td>
        </tr>`,
      )}</tbody>
    <//>
  </section>`;
}

/** @param {{ readonly overview: Overview, readonly now: number }} props */
function Commits({ overview: { commit, author, newest, leader, repository }, now }) {
  const isNewest = newest === null && repository === undefined;
  return html`<section aria-labelledby="commits">
    <h2 id="commits">Commits</h2>
    <dl>
      <div><dt>Followed</dt><dd><${CommitId} of=${commit} />${author ? ` by ${author}` : ''}${isNewest ? html` <span class="quiet">the newest one</span>` : ''}</dd></div>
      ${
        newest === null
          ? null
          : html`<div><dt>Newest</dt><dd><${CommitId} of=${newest.commit} /> is not followed since <${Ago} at=${newest.since} now=${now} />: ${newest.reason}
            <p class="do"><b>Do:</b> <${Action} of=${newest.action} /></p></dd></div>`
      }
      ${
        leader === undefined
          ? null
          : html`<div><dt>Leader</dt><dd>${leader === null ? 'no replica is known to lead' : html`${leader.name}, since <${Ago} at=${leader.since} now=${now} />`}</dd></div>`
      }
    </dl>
  </section>`;
}

/** @param {{ readonly clients: readonly any[] | undefined, readonly now: number }} props */
function Proxies({ clients = [], now }) {
  // A client of one node does no work of a proxy, and there may be one for each server.
  const proxies = clients.filter(({ role, node }) => role === 'proxy' && !node);
  if (proxies.length === 0) return null;
  return html`<section aria-labelledby="proxies">
    <h2 id="proxies">Proxies <span class="number">${proxies.length}</span></h2>
    <${Table} label="Proxies" columns=${['Proxy', 'Tags', 'Last heard of', 'Certificate ends']}>
      <tbody>${proxies.map(
        ({ serial, description, tags = [], lastSeen = null, notAfter = null }) => html`<tr key=${serial}>
          <th scope="row">${description || serial}</th>
          <td data-column="Tags">${tags.join(', ') || '–'}</td>
          <td data-column="Last heard of">${lastSeen === null ? 'not since the start' : html`<${Ago} at=${lastSeen} now=${now} />`}</td>
          <td data-column="Certificate ends"><${Ago} at=${notAfter} now=${now} /></td>
        </tr>`,
      )}</tbody>
    <//>
  </section>`;
}
