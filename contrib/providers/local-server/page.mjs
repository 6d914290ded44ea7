// Renders a local server's page: its configuration with the origin of every value, and its properties. Plain HTML
// without scripts; the browser reloads it every few seconds.

/**
 * @typedef {import('./run-server.mjs').Served} Served
 * @typedef {import('./follow-configuration.mjs').RecordValue} RecordValue
 */

const RELOAD_SECONDS = 3;
const STYLE = `
  :root { color-scheme: light dark; --line: #8883; --quiet: #777; --good: #1a7f4b; --late: #b35900 }
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 3rem auto; padding: 0 1.5rem }
  h1 { font-size: 1.9rem; margin: 0 } h2 { font-size: 1.1rem; margin: 2.2rem 0 .5rem }
  p { margin: .2rem 0; color: var(--quiet) } .good { color: var(--good) } .late { color: var(--late) }
  table { border-collapse: collapse; width: 100% }
  th, td { text-align: left; padding: .35rem .8rem .35rem 0; border-bottom: 1px solid var(--line); vertical-align: top }
  th { font-weight: 500; width: 16rem } td.origin { color: var(--quiet); white-space: nowrap; text-align: right }
  td { font-family: ui-monospace, monospace; font-size: .9rem; overflow-wrap: anywhere }
  footer { margin-top: 2.5rem; font-size: .85rem; color: var(--quiet) }`;

/**
 * Returns the page.
 * @param {Served} served
 * @returns {string}
 */
export function renderPage({ name, since, properties, configuration: { state, record = {} } }) {
  const own = Object.entries(properties).map(([key, value]) => row(key, value, ''));
  const values = Object.entries(record).map(([key, { value, type, name: object }]) =>
    row(key, value, `${type} ${object}`),
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="refresh" content="${RELOAD_SECONDS}">
<title>${escapeHtml(name)}</title>
<style>${STYLE}</style>
</head>
<body>
<h1>${escapeHtml(name)}</h1>
<p>${escapeHtml(String(record.description?.value ?? 'a local server'))}</p>
<p class="${state === 'current' ? 'good' : 'late'}">Configuration: ${escapeHtml(state)}</p>
<h2>Configuration</h2>
${table(values)}
<h2>Properties</h2>
${table(own)}
<footer>Process ${process.pid}, running since ${since.toISOString()}. As JSON: <a href="/config.json">config.json</a>,
<a href="/properties.json">properties.json</a></footer>
</body>
</html>
`;
}

/** @param {readonly string[]} rows */
function table(rows) {
  return rows.length === 0 ? '<p>None.</p>' : `<table>\n${rows.join('\n')}\n</table>`;
}

/**
 * @param {string} key
 * @param {RecordValue} value
 * @param {string} origin
 */
function row(key, value, origin) {
  const text = Array.isArray(value) ? value.join(', ') : String(value);
  return `<tr><th>${escapeHtml(key)}</th><td>${escapeHtml(text)}</td><td class="origin">${escapeHtml(origin)}</td></tr>`;
}

/** @param {string} text */
function escapeHtml(text) {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
