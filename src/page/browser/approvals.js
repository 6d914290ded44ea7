// The view of approvals: for each, the servers that it would delete or replace, the reason, the commit, and the commands to approve and to
// revert.
import { html } from './markup.js';
import { Ago, Command, Commit, Empty, Instance, Linked, Server } from './parts.js';
import { byName, counted, kindOf, signOf } from './words.js';

/** @type {Readonly<Record<string, string>>} */
const TITLES = {
  deletes: 'Deletes beyond the budget',
  unreadable: 'Deletes because of an unreadable file',
  'nothing left': 'A commit that leaves nothing',
  history: 'A rewritten history',
  failures: 'A commit with failed updates',
};

/** @param {any} props */
export function ApprovalsView({ held }) {
  return html`<h1 tabindex="-1">Approvals</h1>
    <p class="lead">The changes below wait until an administrator approves them with the command line.</p>
    ${held.length === 0 ? html`<${Empty}>No approval is pending.<//>` : held.map((/** @type {any} */ item) => html`<${Approval} key=${item.digest} item=${item} />`)}`;
}

/** @param {any} props */
export function Approval({ item: { kind, digest, instance, reason, since, commit, author, resources, check } }) {
  const approve = kind === 'history' ? `treeline accept-history ${commit}` : `treeline approve ${digest}`;
  const isFailures = kind === 'failures';
  return html`<article class="card warn approval">
    <h2><span class="sign" aria-hidden="true">${signOf('held')[1]}</span>${TITLES[kind] ?? kindOf('held')[1]}${instance !== null && html` of <${Instance} name=${instance} />`}</h2>
    <p class="meta">${commit !== null && html`<span><${Commit} of=${commit} />${author && ` by ${author}`}</span>`}<span class="quiet since">since <${Ago} at=${since} /></span></p>
    <p class="reason"><${Linked} text=${reason} /></p>
    <${Servers} title=${isFailures ? 'Failed' : 'Deletes or replaces'} sign=${isFailures ? '✕' : '−'} names=${resources} />
    ${check !== undefined && html`<p><b>First:</b> ${check}</p>`}
    <dl class="facts commands"><div><dt>Approve</dt><dd><${Command} text=${approve} /></dd></div>
      ${commit !== null && html`<div><dt>Revert</dt><dd><${Command} text=${`git revert ${commit}`} /></dd></div>`}</dl>
  </article>`;
}

/** @param {{ readonly title: string, readonly sign: string, readonly names: readonly string[] }} props */
function Servers({ title, sign, names }) {
  if (names.length === 0) return null;
  return html`<div class="removed"><p><span class="sign bad" aria-hidden="true">${sign}</span><b>${title} ${counted(names.length, 'server')}</b></p>
    <ul>${names.toSorted(byName).map((name) => html`<li key=${name}><${Server} name=${name} /></li>`)}</ul></div>`;
}
