// Proxies with their last request and work, and provider entries with the calls of the last hour.
import { html } from './markup.js';
import { isProxy, isSilent } from './overview.js';
import { Ago, Empty, Linked, Names, Section, Server, Table } from './parts.js';
import { callDuration, counted } from './words.js';

/** @param {any} props */
export function ProxiesView({ clients, providers }) {
  const proxies = clients.filter(isProxy);
  return html`<h1 tabindex="-1">Proxies and providers</h1>
    <${Section} id="proxies" title="Proxies" count=${proxies.length}>
      ${
        proxies.length === 0
          ? html`<${Empty}>No proxy is registered.<//>`
          : html`<${Table} label="Proxies" columns=${['Proxy', 'Tags', 'Last request', '#Servers', 'Work now', 'Certificate ends']}>${proxies.map(
              (/** @type {any} */ proxy) => html`<${ProxyRow} key=${proxy.serial} proxy=${proxy} />`,
            )}<//>`
      }
    <//>
    ${
      providers &&
      html`<${Section} id="providers" title="Provider entries" count=${providers.length} aside=${html`<span class="quiet">Calls of the last hour</span>`}>
      <div class="providers">${providers.map((/** @type {any} */ one) => html`<${Provider} key=${one.name} of=${one} />`)}</div><//>`
    }`;
}

/** @param {any} props */
function ProxyRow({ proxy }) {
  const { serial, description, tags, lastSeen, notAfter, servers, work = [] } = proxy;
  return html`<tr><th scope="row">${description || serial}</th>
    <td data-column="Tags">${tags.map((/** @type {string} */ tag) => html`<span class="tag">${tag}</span> `)}</td>
    <td data-column="Last request">${isSilent(proxy) ? html`<span class="state bad"><span class="sign" aria-hidden="true">!</span>${lastSeen === null ? 'never' : html`<${Ago} at=${lastSeen} />`}</span>` : html`<${Ago} at=${lastSeen} />`}</td>
    <td data-column="Servers" class="amount">${servers?.toLocaleString('en')}</td>
    <td data-column="Work now"><${Names} names=${work.map((/** @type {any} */ { server }) => server)} of=${Server} /></td>
    <td data-column="Certificate ends"><${Ago} at=${notAfter} /></td></tr>`;
}

/** @param {any} props */
function Provider({ of: { name, implementation, servers, running, trouble, history } }) {
  const calls = sum(history.calls);
  const failures = sum(history.failures);
  const timed = history.seconds.filter((/** @type {number | null} */ one) => one !== null);
  return html`<article class="card ${trouble ? 'bad' : 'plain'}">
    <h3>${name} <span class="tag">${implementation}</span></h3>
    <p class="meta"><span>${counted(servers, 'server')}</span><span>${running} running</span></p>
    ${trouble && html`<p class="reason"><${Linked} text=${trouble.reason} /> <span class="quiet">since <${Ago} at=${trouble.since} /></span></p>`}
    <div class="charts"><${Chart} title="Calls" note=${`${calls.toLocaleString('en')} calls, ${failures.toLocaleString('en')} failed`} values=${history.calls} parts=${history.failures} />
    <${Chart} title="Duration" note=${timed.length === 0 ? 'no calls' : `${callDuration((sum(timed) / timed.length) * 1000)} on average, ${callDuration(Math.max(...timed) * 1000)} at most`} values=${history.seconds} /></div>
  </article>`;
}

/** @param {readonly number[]} values */
const sum = (values) => values.reduce((total, value) => total + value, 0);

/** Bars of the last hour, the newest at the right. `parts`: the failed part of each. @param {{ readonly title: string, readonly note: string, readonly values: readonly (number | null)[], readonly parts?: readonly number[] }} props */
function Chart({ title, note, values, parts }) {
  const most = Math.max(1e-3, ...values.map((value) => value ?? 0));
  const bar = (/** @type {number | null} */ value, /** @type {number} */ index, /** @type {string} */ tone) =>
    value !== null &&
    value > 0 &&
    html`<rect class=${tone} x=${index * 4} y=${40 - Math.max(1, (value / most) * 40)} width="3" height=${Math.max(1, (value / most) * 40)} />`;
  return html`<figure><figcaption><b>${title}</b> <span class="quiet">${note}</span></figcaption>
    <svg class="chart" viewBox=${`0 0 ${values.length * 4} 41`} preserveAspectRatio="none" role="img" aria-label=${`${title} of the last hour: ${note}`}>
      <path class="line" d=${`M0 40.500H${values.length * 4}`} />${values.map((value, index) => bar(value, index, 'busy'))}${parts?.map((value, index) => bar(value, index, 'bad'))}</svg></figure>`;
}
