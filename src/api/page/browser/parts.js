// The parts that views are made of: a state with its sign, a time, a command to copy, a table.
import { html } from './markup.js';
import { actionParts, distance, shortCommit, signOf } from './words.js';

/** @typedef {import('preact').ComponentChildren} Children */

/** A state or a status: a sign, and the word. @param {{ readonly of: string }} props */
export function StateSign({ of }) {
  const [tone, sign] = signOf(of);
  return html`<span class="state ${tone}"><span class="sign" aria-hidden="true">${sign}</span>${of}</span>`;
}

/** How long ago, with the time itself. @param {{ readonly at: string | null, readonly now: number }} props */
export function Ago({ at, now }) {
  if (at === null) return html`<span>–</span>`;
  return html`<time datetime=${at} title=${at}>${distance(at, now)}</time>`;
}

/** A text that can be copied. @param {{ readonly text: string, readonly shown?: string }} props */
export function Copyable({ text, shown = text }) {
  return html`<span class="copyable"><code>${shown}</code
    ><button type="button" class="copy" aria-label=${`Copy ${text}`} onClick=${copy} data-text=${text}>copy</button></span>`;
}

/** @param {Event} event */
async function copy(event) {
  const button = /** @type {HTMLButtonElement} */ (event.currentTarget);
  const text = button.dataset.text ?? '';
  try {
    await navigator.clipboard.writeText(text);
    announce('Copied');
    button.textContent = 'copied';
    setTimeout(() => (button.textContent = 'copy'), 1_500);
  } catch {
    // A browser that allows no writing lets the person copy what is selected.
    getSelection()?.selectAllChildren(button.previousElementSibling ?? button);
  }
}

/** What helps: words, and commands to copy. @param {{ readonly of: string | null }} props */
export function Action({ of }) {
  if (of === null) return null;
  return html`<span class="action">${actionParts(of).map(({ kind, text }) =>
    kind === 'command' ? html`<${Copyable} text=${text} />` : text,
  )}</span>`;
}

/** A commit. @param {{ readonly of: string }} props */
export function CommitId({ of }) {
  return html`<${Copyable} text=${of} shown=${shortCommit(of)} />`;
}

/** @param {string} name */
export const instanceLink = (name) => `/ui/instances/${encodeURIComponent(name)}`;
/** @param {string} name */
export const nodeLink = (name) => `/ui/nodes/${encodeURIComponent(name)}`;

/** Servers by state, each a link. @param {{ readonly counts: Readonly<Record<string, number>>, readonly link: (state: string) => string }} props */
export function Counts({ counts, link }) {
  const shown = Object.entries(counts);
  if (shown.length === 0) return html`<span class="quiet">no servers</span>`;
  return html`<span class="counts">${shown.map(
    ([state, count]) =>
      html`<a class="count ${signOf(state)[0]}" href=${link(state)}
        ><span class="sign" aria-hidden="true">${signOf(state)[1]}</span>${count.toLocaleString('en')} ${state}</a
      >`,
  )}</span>`;
}

/** A table that a small screen shows as a list: each cell names its column. @param {{ readonly label: string, readonly columns: readonly string[], readonly children?: Children }} props */
export function Table({ label, columns, children }) {
  return html`<table aria-label=${label}>
    <thead><tr>${columns.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
    ${children}
  </table>`;
}

/** Says something to who does not see the page. @param {string} text */
export function announce(text) {
  const region = document.getElementById('spoken');
  if (region !== null) region.textContent = text;
}

/** Which nodes run their present record; nothing where none reports that. @param {{ readonly delivered: import('../../../service/answers.ts').Delivered | undefined }} props */
export function Records({ delivered }) {
  if (delivered === undefined) return null;
  const { counts, summary } = delivered;
  if (counts.delivered + counts.outdated + counts.failed === 0) return null;
  const isLate = counts.failed + counts.outdated > 0;
  const [tone, sign] = signOf(counts.failed > 0 ? 'failed' : counts.outdated > 0 ? 'updating' : 'done');
  return html`<p><span class="state ${tone}"><span class="sign" aria-hidden="true">${sign}</span>Records</span> ${summary}${isLate && html` <${Copyable} text="treeline delivered" />`}</p>`;
}
