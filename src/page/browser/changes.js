// Changes: the followed, refused and pending commits, and the effect of one of them.

import { pageAt } from './addresses.js';
import { html } from './markup.js';
import { Choice } from './overview.js';
import {
  Ago,
  Commit,
  Empty,
  Instance,
  Linked,
  Names,
  Place,
  Section,
  Server,
  State,
  Table,
  Trail,
  Value,
} from './parts.js';
import { byName, counted, duration, shortCommit } from './words.js';

/** @typedef {'create' | 'update' | 'replace' | 'delete'} Action */
/** @type {Readonly<Record<Action, readonly [string, string, string]>>} */
const ACTIONS = {
  delete: ['bad', '−', 'deleted'],
  replace: ['warn', '±', 'replaced'],
  create: ['good', '+', 'created'],
  update: ['busy', '~', 'updated'],
};
const ORDER = /** @type {Action[]} */ (Object.keys(ACTIONS));
const STATES = ['followed', 'refused', 'pending'];

/** @param {any} props */
export function ChangesView({ commits: { commits, next }, status, query, link, go }) {
  const changed = (/** @type {Event} */ { currentTarget }) => {
    const { name, value } = /** @type {HTMLSelectElement} */ (currentTarget);
    go(link({ [name]: value, after: '' }));
  };
  const names = (status?.instances ?? []).map((/** @type {{ name: string }} */ { name }) => name).sort(byName);
  return html`<h1 tabindex="-1">Changes</h1>
    <p class="filters"><${Choice} name="instance" label="All instances" options=${names} value=${query.instance} changed=${changed} />
      <${Choice} name="state" label="All states" options=${STATES} value=${query.state} changed=${changed} /></p>
    ${
      commits.length === 0
        ? html`<${Empty}>No commit matches.<//>`
        : html`<${Table} label="Commits, the newest first" columns=${['Commit', 'State', 'Servers', '#Records', 'When']}>
      ${commits.map((/** @type {any} */ one) => html`<${Row} key=${one.commit} one=${one} />`)}<//>`
    }
    <p class="pages">${query.after && html`<a href=${link({ after: '' })}>Newest</a>`} ${next && html`<a href=${link({ after: next })}>Older commits</a>`}</p>`;
}

/** @param {any} props */
function Row({ one }) {
  const { commit, subject, author, time, servers, records, reason } = one;
  return html`<tr><th scope="row"><a class="subject" href=${pageAt('changes', commit)}>${subject || shortCommit(commit)}</a>
      <p class="meta quiet"><span>${author}</span><${Commit} of=${commit} /><${Signature} of=${one.signature} /><${Names} names=${one.instances} of=${Instance} /></p></th>
    <td data-column="State"><${Progress} of=${one} />${reason && html`<p class="reason quiet">${reason}</p>`}</td>
    <td data-column="Servers">${one.state === 'followed' ? html`<${Amounts} of=${servers} />` : 'not counted'}</td>
    <td data-column="Records" class="amount">${records > 0 && records.toLocaleString('en')}</td>
    <td data-column="When"><${Ago} at=${time} /></td></tr>`;
}

/** @param {{ readonly of: string | null | undefined }} props */
const Signature = ({ of }) => of && html`<span class="tag good" title=${`Signed by ${of}`}>signed</span>`;

/** @param {any} props */
function Progress({ of: { state, time, done } }) {
  if (state === 'pending')
    return html`<span class="state warn"><span class="sign" aria-hidden="true">◆</span>pending</span>`;
  if (state !== 'followed') return html`<${State} of=${state} />`;
  if (done === null || done === undefined) return html`<${State} of="in progress" />`;
  const ms = Date.parse(done) - Date.parse(time);
  return html`<span class="state good"><span class="sign" aria-hidden="true">✓</span>${ms < 1_000 ? 'done' : `done in ${duration(ms)}`}</span>`;
}

/** The number of servers that a commit creates, updates, replaces and deletes. @param {any} props */
function Amounts({ of }) {
  const shown = ORDER.filter((action) => of[ACTIONS[action][2]] > 0);
  if (shown.length === 0) return html`<span class="quiet">none</span>`;
  return html`<span class="amounts">${shown.map((action) => {
    const [tone, sign, word] = ACTIONS[action];
    return html`<span class="pill ${tone}" title=${`${of[word]} ${word}`}>${sign}${of[word].toLocaleString('en')}<span class="spoken"> ${word}</span></span>`;
  })}</span>`;
}

/** @param {any} props */
export function ChangeView({ change }) {
  const {
    commit,
    subject,
    body,
    author,
    committed,
    time,
    state,
    reason,
    signature,
    servers,
    records,
    approvals = [],
    plan,
    planLeftOut = 0,
    base,
  } = change;
  return html`<${Trail}><a href=${pageAt('changes')}>Changes</a> / ${shortCommit(commit)}<//>
    <h1 tabindex="-1">${subject || shortCommit(commit)}</h1>
    ${body && html`<p class="reason body"><${Linked} text=${body} /></p>`}
    <dl class="facts">
      <div><dt>Commit</dt><dd><${Commit} of=${commit} />${base && html` <span class="quiet">after <${Commit} of=${base} /></span>`}</dd></div>
      <div><dt>Author</dt><dd>${author} ${committed && html`<${Ago} at=${committed} />`} <${Signature} of=${signature} /></dd></div>
      <div><dt>State</dt><dd><${Progress} of=${change} /> <span class="quiet">${state} <${Ago} at=${time} /></span>${reason && html`<p class="reason">${reason}</p>`}</dd></div>
      <div><dt>Effect</dt><dd>${state === 'followed' ? html`<${Amounts} of=${servers} />` : 'not counted'} ${records > 0 && counted(records, 'record')}</dd></div>
    </dl>
    ${
      approvals.length > 0 &&
      html`<${Section} id="approvals" title="Approved by"><ul class="plain">${approvals.map(
        (/** @type {any} */ one) => html`<li key=${one.time}>
      <b>${one.clientName || one.client || 'the operator of the machine'}</b> <${Ago} at=${one.time} />${one.instance && html`, for <${Instance} name=${one.instance} />`}${one.servers.length > 0 && ` (${counted(one.servers.length, 'server')})`}${one.reason && `: ${one.reason}`}</li>`,
      )}</ul><//>`
    }
    ${plan ? html`<${Plan} plan=${plan} commit=${commit} />` : html`<${Empty}>${planLeftOut > 0 ? `This commit changes ${counted(planLeftOut, 'server')} and records, which is too much to show.` : 'The changes of this commit are not available.'}<//>`}`;
}

/** @param {any} props */
function Plan({ plan, commit }) {
  const { access, safety, changes, retained, nodes, configuration, invalid, problems } = plan;
  const isEmpty = [access, safety, changes, retained, nodes, configuration, invalid, problems].every(
    (list) => list.length === 0,
  );
  const byInstance = [...Map.groupBy(changes, (/** @type {any} */ { instance }) => instance)];
  return html`${
    invalid.length > 0 &&
    html`<article class="card bad"><h2><span class="sign" aria-hidden="true">!</span>Invalid with this commit</h2>
      <p><${Names} names=${invalid} of=${Instance} /> ${invalid.length === 1 ? 'stays' : 'stay'} at an older version.</p></article>`
  }
    ${isEmpty && html`<${Empty}>This commit changes no servers, records or rights.<//>`}
    ${
      access.length + safety.length > 0 &&
      html`<${Section} id="safety" title="Access and safety" count=${access.length + safety.length}>
      <${Table} label="Access and safety" columns=${['What', 'Before', 'After']}>
        ${access.map((/** @type {any} */ one) => html`<tr class="different"><th scope="row">${one.action} client ${one.description || one.serial}${one.fields.length > 0 && ` (${one.fields.join(', ')})`}</th><td data-column="Before"><${Value} of=${one.role.from} /></td><td data-column="After"><${Value} of=${one.role.to} /></td></tr>`)}
        ${safety.map((/** @type {any} */ one) => html`<tr class="different"><th scope="row">${one.object} <code>${one.field}</code></th><td data-column="Before"><${Value} of=${one.from} /></td><td data-column="After"><${Value} of=${one.to} /></td></tr>`)}<//><//>`
    }
    ${
      changes.length > 0 &&
      html`<${Section} id="changed" title="Servers" count=${changes.length}>
      ${byInstance.map(([instance, own]) => html`<h3><${Instance} name=${instance} /></h3><div class="diff">${own.toSorted(severest).map((/** @type {any} */ one) => html`<${ServerChange} key=${one.resource} of=${one} commit=${commit} />`)}</div>`)}<//>`
    }
    ${retained.length > 0 && html`<${Section} id="retained" title="Forgotten and left unchanged" count=${retained.length}><ul class="plain">${retained.map((/** @type {any} */ one) => html`<li><${Server} name=${one.resource} /> <span class="quiet">${one.reason}</span></li>`)}</ul><//>`}
    ${
      configuration.length + nodes.length > 0 &&
      html`<${Section} id="configuration" title="Configuration" count=${configuration.length + nodes.length}>
      <${Table} label="Configuration" columns=${['Key', 'Before', 'After', '#Nodes', 'Written at']}>
        ${nodes.map((/** @type {any} */ one) => html`<tr><th scope="row">${one.action} node ${one.node}</th><td></td><td></td><td data-column="Nodes" class="amount">1</td><td data-column="Written at"><${Place} file=${one.file} commit=${commit} /></td></tr>`)}
        ${configuration.map(
          (
            /** @type {any} */ one,
          ) => html`<tr><th scope="row">${one.key}</th><td data-column="Before" class="before"><${Value} of=${one.from} /></td><td data-column="After" class="after"><${Value} of=${one.to} /></td>
          <td data-column="Nodes" class="amount" title=${one.examples.join(', ')}>${one.nodes.toLocaleString('en')}</td><td data-column="Written at"><${Place} ...${one.source} commit=${commit} /></td></tr>`,
        )}<//><//>`
    }
    ${problems.length > 0 && html`<${Section} id="problems" title="Problems" count=${problems.length}><ul class="plain">${problems.map((/** @type {any} */ one) => html`<li><span class="state ${one.severity === 'error' ? 'bad' : 'warn'}">${one.severity}</span> <${Place} file=${one.file} line=${one.line} commit=${commit} /> <${Linked} text=${one.message} /></li>`)}</ul><//>`}`;
}

/** @param {any} a @param {any} b */
const severest = (a, b) => ORDER.indexOf(a.action) - ORDER.indexOf(b.action) || byName(a.resource, b.resource);

/** @param {any} props */
function ServerChange({ of: { action, resource, reason, file, line, properties }, commit }) {
  const [tone, sign, word] = ACTIONS[/** @type {Action} */ (action)];
  const entries = /** @type {[string, any][]} */ (Object.entries(properties));
  return html`<div class="change ${tone}"><p><span class="sign" aria-hidden="true">${sign}</span><b><${Server} name=${resource} /></b> <span class="word">${word}</span> <span class="quiet">${reason}</span> <${Place} file=${file} line=${line} commit=${commit} /></p>
    ${entries.length > 0 && html`<dl>${entries.map(([name, { from, to }]) => html`<div key=${name}><dt>${name}</dt><dd>${from !== null && html`<del><${Value} of=${from} /></del> → `}${to === null ? html`<span class="quiet">removed</span>` : html`<ins><${Value} of=${to} /></ins>`}</dd></div>`)}</dl>`}</div>`;
}
