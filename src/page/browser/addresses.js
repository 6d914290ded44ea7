// The addresses of the page: the view of each address, and the requests of that view.

/** @typedef {{ readonly kind: string, readonly name: string }} View */
/** @typedef {Readonly<Record<string, string>>} Query */
/** The requests of a view, by the name of the property that gets the answer. A view is shown without `optional` answers until they arrive, or if this client may not read them. @typedef {{ readonly needed: Query, readonly optional: Query }} Questions */

/** The views of the menu: address, title, and name of the icon. */
export const MENU = /** @type {const} */ ([
  ['', 'Overview', 'overview'],
  ['servers', 'Servers', 'servers'],
  ['changes', 'Changes', 'changes'],
  ['approvals', 'Approvals', 'approvals'],
  ['proxies', 'Proxies', 'proxies'],
  ['events', 'Events', 'events'],
]);

const STATUS = '/operations/status';
const HELD = '/operations/held';
/** The page only shows the sentence and the counts of the answer. */
const DELIVERED = '/operations/delivered?limit=1';
/** Constant while a controller runs. */
export const CONTROLLER = '/operations/controller';
const ROWS_A_PAGE = 100;
/** Covers all servers of a usual instance, so that the page can sort and draw them. */
const SERVERS_OF_INSTANCE = 500;
/** The number of events on each page, the newest first. */
export const EVENTS_ASKED = 200;

/** Returns the view at an address. @param {string} pathname @returns {View} */
export function viewAt(pathname) {
  const [, section = '', name] = /^\/ui\/(?:([a-z]+)(?:\/([^/]+))?)?\/?$/.exec(pathname) ?? ['', 'nowhere'];
  if (name !== undefined) {
    const kind = { instances: 'instance', servers: 'server', changes: 'change' }[section];
    return { kind: kind ?? 'nowhere', name: decoded(name) };
  }
  return { kind: MENU.some(([address]) => address === section) ? section || 'overview' : 'nowhere', name: '' };
}

/** @param {string} name */
function decoded(name) {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** Returns the title of a view. @param {View} view */
export function titleOf({ kind, name }) {
  if (kind === 'nowhere') return 'Page not found';
  return name || (MENU.find(([address]) => (address || 'overview') === kind)?.[1] ?? kind);
}

/** Returns an address of the page. @param {string} section @param {string} [name] */
export const pageAt = (section, name) => `/ui/${section}${name === undefined ? '' : `/${encodeURIComponent(name)}`}`;

/** Returns a query without empty values, as text. @param {Query} query */
export function queryText(query) {
  const text = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== '')).toString();
  return text === '' ? '' : `?${text}`;
}

/** Returns the requests of a view. @param {View} view @param {Query} query */
export function questionsOf({ kind, name }, query) {
  const { search = '', state = '', after = '', before = '', instance = '' } = query;
  const frame = { status: STATUS, controller: CONTROLLER };
  const at = encodeURIComponent(name);
  const limit = String(ROWS_A_PAGE);
  const events = (/** @type {Query} */ filter) =>
    queryText({ before: before || String(Number.MAX_SAFE_INTEGER), limit: String(EVENTS_ASKED), ...filter });
  switch (kind) {
    case 'overview':
      return {
        needed: { status: STATUS },
        optional: {
          ...frame,
          held: HELD,
          clients: '/operations/clients',
          delivered: DELIVERED,
          commits: '/operations/commits?limit=1',
          recovery: '/operations/recovery',
        },
      };
    case 'servers':
      return {
        needed: { servers: `/operations/servers${queryText({ limit, search, state, after, instance })}` },
        optional: frame,
      };
    case 'server':
      return {
        needed: {},
        optional: {
          ...frame,
          server: `/operations/servers/${at}/`,
          explanation: `/operations/explain/${at}/`,
          events: `/operations/events${events({ resource: name })}`,
        },
      };
    case 'instance': {
      const servers = `/operations/servers${queryText({ instance: name, limit: String(SERVERS_OF_INSTANCE), state, search, after })}`;
      return {
        needed: { why: `/stacks/instances/${at}/why`, servers },
        optional: {
          ...frame,
          held: HELD,
          events: `/stacks/instances/${at}/events${events({})}`,
          delivered: `${DELIVERED}&instance=${at}`,
        },
      };
    }
    case 'changes':
      return {
        needed: { commits: `/operations/commits${queryText({ limit, after, instance, state })}` },
        optional: frame,
      };
    case 'change':
      return { needed: { change: `/operations/commits/${at}` }, optional: frame };
    case 'approvals':
      return { needed: { held: HELD }, optional: frame };
    case 'proxies':
      return { needed: { clients: '/operations/clients' }, optional: { ...frame, providers: '/operations/providers' } };
    case 'events':
      return { needed: { events: `/operations/events${events({ instance })}` }, optional: frame };
    default:
      return { needed: {}, optional: frame };
  }
}
