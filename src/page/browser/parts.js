// The components of views: a state with its sign, a time, a command to copy, a bar of servers, a table.
import { pageAt } from './addresses.js';
import { html } from './markup.js';
import {
  actionParts,
  counted,
  distance,
  exact,
  forgeAddress,
  lastLineFirst,
  STATE_ORDER,
  shortCommit,
  shownValue,
  signOf,
  textParts,
} from './words.js';

/** @typedef {import('preact').ComponentChildren} Children */
/** @typedef {Readonly<Record<string, number>>} Counts */

/** The time that is shown, by the controller's clock, and the templates of addresses at the forge. */
export const moment = { now: 0, links: /** @type {{ commit?: string | null, file?: string | null }} */ ({}) };

/** In a square of 24. @type {Readonly<Record<string, string>>} */
const ICONS = {
  overview: 'M4 4h7v9H4zM13 4h7v5h-7zM4 15h7v5H4zM13 11h7v9h-7z',
  servers: 'M4 4h16v6.500H4zM4 13.500h16V20H4zM8 7.200h.01M8 16.800h.01',
  changes: 'M12 8.500a3.500 3.500 0 1 0 0 7a3.500 3.500 0 1 0 0-7M3 12h5.500M15.500 12H21',
  approvals: 'M12 3l8 3v6c0 5-3.500 8-8 9.500C7.500 20 4 17 4 12V6zM8.500 12l2.500 2.500L15.500 10',
  proxies: 'M9 3h6v5H9zM3 16h6v5H3zM15 16h6v5h-6zM12 8v4M6 16v-4h12v4',
  events: 'M3 12h4l3-8 4 16 3-8h4',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  check: 'M5 12.500l5 5L19.500 7',
  out: 'M14 4h6v6M20 4l-9 9M17 14v6H4V7h6',
};

/** @param {{ readonly name: string }} props */
export function Icon({ name }) {
  return html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d=${ICONS[name]} /></svg>`;
}

/** A state or a status, with its sign. @param {{ readonly of: string }} props */
export function State({ of }) {
  const [tone, sign] = signOf(of);
  return html`<span class="state ${tone}"><span class="sign" aria-hidden="true">${sign}</span>${of}</span>`;
}

/** The age of a time; the exact time on hover. @param {{ readonly at: string | null | undefined }} props */
export function Ago({ at }) {
  if (!at) return html`<span class="quiet">–</span>`;
  return html`<time datetime=${at} title=${exact(at)}>${distance(at, moment.now)}</time>`;
}

/** The end of a wait. @param {{ readonly at: string | null }} props */
export function Until({ at }) {
  return at === null ? null : html` <span class="quiet">(<${Ago} at=${at} />)</span>`;
}

/** @param {{ readonly text: string }} props */
export function Copy({ text }) {
  return html`<button type="button" class="copy" aria-label=${`Copy ${text}`} title="Copy" onClick=${copy} data-text=${text}><${Icon} name="copy" /></button>`;
}

/** @param {Event} event */
async function copy(event) {
  const button = /** @type {HTMLButtonElement} */ (event.currentTarget);
  try {
    await navigator.clipboard.writeText(button.dataset.text ?? '');
    announce('Copied');
    button.classList.add('copied');
    setTimeout(() => button.classList.remove('copied'), 1_500);
  } catch {
    // If the browser denies access to the clipboard, the user can copy the selection.
    getSelection()?.selectAllChildren(button.previousElementSibling ?? button);
  }
}

/** Announces a text to screen readers. @param {string} text */
export function announce(text) {
  const region = document.getElementById('spoken');
  if (region !== null) region.textContent = text;
}

/** @param {{ readonly text: string }} props */
export function Command({ text }) {
  return html`<span class="command"><code>${text}</code><${Copy} text=${text} /></span>`;
}

/** Advice: words, and commands to copy. @param {{ readonly of: string | null | undefined }} props */
export function Advice({ of }) {
  if (!of) return null;
  return html`<p class="advice">${actionParts(of).map(({ kind, text }) => (kind === 'command' ? html`<${Command} text=${text} />` : html`<${Linked} text=${text.replace(/^[;,] /, '')} />`))}</p>`;
}

/** A commit: a link to its changes, a button to copy it, and a link to the forge. @param {{ readonly of: string }} props */
export function Commit({ of }) {
  const forge = forgeAddress(moment.links.commit, { commit: of });
  return html`<span class="hash"><a href=${pageAt('changes', of)}><code>${shortCommit(of)}</code></a><${Copy} text=${of} />${
    forge &&
    html`<a class="out" href=${forge} target="_blank" rel="noopener" aria-label="Commit at the forge" title="At the forge"><${Icon} name="out" /></a>`
  }</span>`;
}

/** A place in a file, with a link to it. @param {{ readonly file: string | null, readonly line?: number | null, readonly commit: string | null | undefined }} props */
export function Place({ file, line = null, commit }) {
  if (file === null) return null;
  const text = line === null ? file : `${file}:${line}`;
  const forge = commit ? forgeAddress(moment.links.file, { commit, path: file, line }) : null;
  return forge === null
    ? html`<span class="place">${text}</span>`
    : html`<a class="place" href=${forge} target="_blank" rel="noopener">${text}</a>`;
}

/** Text with addresses as links, and short commits and times. @param {{ readonly text: string }} props */
export function Linked({ text: whole }) {
  return textParts(whole).map(({ kind, text }) => {
    if (kind === 'address') return html`<a href=${text} target="_blank" rel="noopener">${text}</a>`;
    if (kind === 'commit') return html`<${Commit} of=${text} />`;
    return kind === 'time'
      ? html`<time datetime=${text} title=${distance(text, moment.now)}>${exact(text)}</time>`
      : text;
  });
}

/** The output of a program: the last line of a traceback, and all of it on demand. @param {{ readonly text: string }} props */
export function Message({ text }) {
  const { line, whole } = lastLineFirst(text);
  if (whole === null) return html`<${Linked} text=${line} />`;
  return html`<details class="message"><summary>${line}</summary><pre><${Linked} text=${whole} /></pre></details>`;
}

/** @param {{ readonly of: unknown }} props */
export function Value({ of }) {
  const text = shownValue(of);
  return html`<span class=${of === null || of === undefined ? 'quiet' : 'value'}><${Linked} text=${text} /></span>`;
}

/** @param {{ readonly name: string }} props */
export const Server = ({ name }) => html`<a href=${pageAt('servers', name)}>${name}</a>`;
/** @param {{ readonly name: string }} props */
export const Instance = ({ name }) => html`<a href=${pageAt('instances', name)}>${name}</a>`;

/** The first names of a list, and the number of further ones. @param {{ readonly names: readonly string[], readonly count?: number, readonly of: any }} props */
export function Names({ names, count = names.length, of }) {
  const shown = names.slice(0, 5);
  return html`<span class="names">${shown.map((name) => html`<${of} key=${name} name=${name} />`)}${
    count > shown.length && html`<span class="quiet">and ${(count - shown.length).toLocaleString('en')} more</span>`
  }</span>`;
}

/** @param {Counts} counts */
const inOrder = (counts) =>
  STATE_ORDER.filter((state) => (counts[state] ?? 0) > 0).map(
    (state) => /** @type {const} */ ([state, counts[state] ?? 0]),
  );

/** Servers by state as one bar. @param {{ readonly counts: Counts }} props */
export function Bar({ counts }) {
  const parts = inOrder(counts);
  const words = parts.map(([state, count]) => `${count.toLocaleString('en')} ${state}`).join(', ') || 'no servers';
  return html`<span class="bar" role="img" aria-label=${words} title=${words}>${parts.map(
    ([state, count]) => html`<span class=${signOf(state)[0]} style=${{ flexGrow: String(count) }}></span>`,
  )}</span>`;
}

/** Servers by state, each a link. @param {{ readonly counts: Counts, readonly link: (state: string) => string }} props */
export function Legend({ counts, link }) {
  return html`<span class="legend">${inOrder(counts).map(
    ([state, count]) =>
      html`<a class=${signOf(state)[0]} href=${link(state)}><span class="sign" aria-hidden="true">${signOf(state)[1]}</span>${count.toLocaleString('en')} ${state}</a>`,
  )}</span>`;
}

/** A part of a view with its heading. @param {{ readonly id: string, readonly title: string, readonly count?: number, readonly aside?: Children, readonly children?: Children }} props */
export function Section({ id, title, count, aside, children }) {
  return html`<section aria-labelledby=${id}><div class="heading"><h2 id=${id}>${title}${
    count !== undefined && html` <span class="number">${count.toLocaleString('en')}</span>`
  }</h2>${aside}</div>${children}</section>`;
}

/** A table that a small screen shows as a list: each cell names its column. @param {{ readonly label: string, readonly columns: readonly string[], readonly children?: Children }} props */
export function Table({ label, columns, children }) {
  return html`<table aria-label=${label}><thead><tr>${columns.map((name) => html`<th scope="col" class=${name.startsWith('#') ? 'amount' : ''}>${name.replace('#', '')}</th>`)}</tr></thead><tbody>${children}</tbody></table>`;
}

/** @param {{ readonly children?: Children }} props */
export const Empty = ({ children }) => html`<p class="empty">${children}</p>`;

/** The breadcrumb above the title of a view. @param {{ readonly children?: Children }} props */
export const Trail = ({ children }) => html`<nav class="trail" aria-label="Breadcrumb">${children}</nav>`;

/** Which nodes run their current record; nothing if none reports that. @param {{ readonly delivered: any }} props */
export function Records({ delivered }) {
  if (delivered === undefined) return null;
  const { delivered: done, outdated, failed } = delivered.counts;
  if (done + outdated + failed === 0) return null;
  const [tone, sign] = toneOf(delivered.counts);
  return html`<p class="records"><span class="state ${tone}">${sign && html`<span class="sign" aria-hidden="true">${sign}</span>`}Records</span>
    ${' '}${done.toLocaleString('en')} of ${counted(done + outdated + failed, 'reporting node')} up to date${failed > 0 && `, ${failed.toLocaleString('en')} failed`}
    ${failed + outdated > 0 && html` <${Command} text="treeline delivered" />`}</p>`;
}

/** Not `good` if no node reports. @param {{ readonly failed: number, readonly outdated: number, readonly notReporting: number }} counts */
function toneOf({ failed, outdated, notReporting }) {
  if (failed > 0) return ['bad', '✕'];
  if (outdated > 0) return ['busy', '↑'];
  return notReporting > 0 ? ['idle', ''] : ['good', '✓'];
}
