// Draws the dependencies between the groups of an instance. Each server is a square with its state.
import { pageAt } from './addresses.js';
import { layoutOf, SIZES } from './layout.js';
import { html } from './markup.js';
import { Section } from './parts.js';
import { signOf } from './words.js';

/** @typedef {import('./layout.js').Node} Node */
/** @typedef {import('./layout.js').Box} Box */

/** @param {{ readonly servers: readonly Node[] }} props */
export function Graph({ servers }) {
  const { boxes, lines } = layoutOf(servers);
  if (lines.length === 0) return null;
  const width = Math.max(...boxes.map(({ x }) => x + SIZES.width)) + 2;
  const height = Math.max(...boxes.map((box) => box.y + box.height)) + 2;
  return html`<${Section} id="graph" title="Dependencies" aside=${html`<span class="quiet">dependencies are on the left</span>`}><div class="graph" tabindex="0" role="region" aria-label="Diagram of the dependencies">
    <svg width=${width} height=${height} viewBox=${`-1 -1 ${width} ${height}`}>
      ${lines.map(({ from, to }) => html`<path class="line" d=${curve(from, to)} />`)}
      ${boxes.map((box) => html`<${Group} key=${box.key} box=${box} />`)}
    </svg></div><//>`;
}

/** @param {Box} from @param {Box} to */
function curve(from, to) {
  const [x1, y1, x2, y2] = [from.x + SIZES.width, from.y + from.height / 2, to.x, to.y + to.height / 2];
  return `M${x1} ${y1}C${x1 + SIZES.gapX / 2} ${y1} ${x2 - SIZES.gapX / 2} ${y2} ${x2} ${y2}`;
}

/** @param {{ readonly box: Box }} props */
function Group({ box: { key, servers, isForeign, x, y, height } }) {
  const title = isForeign
    ? html`<a href=${pageAt('servers', key)}><text x="10" y="18">${short(key)}</text></a>`
    : html`<text x="10" y="18">${short(key)} ×${servers.length}</text>`;
  return html`<g transform=${`translate(${x} ${y})`} class="box ${isForeign ? 'foreign' : ''}">
    <rect width=${SIZES.width} height=${height} rx="6" />${title}
    ${isForeign && html`<text class="quiet" x="10" y=${SIZES.title + 14}>of another instance</text>`}
    ${servers.map(({ name, state }, index) => {
      const [tone, sign] = signOf(state);
      return html`<a key=${name} href=${pageAt('servers', name)} class=${tone} aria-label=${`${name}: ${state}`} transform=${`translate(${9 + (index % SIZES.inRow) * (SIZES.square - 1)} ${SIZES.title + Math.floor(index / SIZES.inRow) * SIZES.square})`}>
        <title>${name}: ${state}</title><rect class="square" width=${SIZES.square - 4} height=${SIZES.square - 4} rx="4" /><text x=${(SIZES.square - 4) / 2} y="15" text-anchor="middle">${sign}</text></a>`;
    })}
  </g>`;
}

/** @param {string} text */
const short = (text) => (text.length > 22 ? `${text.slice(0, 21)}…` : text);
