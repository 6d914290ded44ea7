// Reads servers from a CSV table and from a Terraform state, and nodes with their facts from the file of `--nodes`.
import { CsvError, parse } from 'csv-parse/sync';
import { quote } from '../base/wording.ts';
import {
  bounded,
  entryOf,
  faultAt,
  itemsOf,
  type Located,
  locatedText,
  parseForeign,
  type SourceLine,
  textAt,
} from './foreign-yaml.ts';
import { ImportError, type Inventory } from './inventory.ts';
import type { KnownNode } from './read-hiera.ts';

const NAME_COLUMNS = ['name', 'hostname', 'host', 'fqdn', 'certname', 'server', 'node'];
const ROWS_MAX = 100_000;

interface Row extends SourceLine {
  readonly name: string;
  readonly cells: ReadonlyMap<string, string>;
  /** Cells without a column of their own, each with its key and the reason. */
  readonly lost: readonly (readonly [key: string, reason: string])[];
}

/** Adds the rows of a table. The first row has the keys. An empty cell is no value. */
export function readCsv(file: string, text: string, inventory: Inventory): void {
  const lines = new Map<string, number>();
  for (const { name, cells, lost, ...at } of rowsOf(file, text)) {
    const first = lines.get(name);
    if (first !== undefined) {
      inventory.leave(at, '', `line ${first} has ${quote(name)} already`, name);
      continue;
    }
    lines.set(name, at.line);
    for (const [key, reason] of lost) inventory.leave(at, key, reason, name);
    const variables = [...cells].map(([key, value]) => [key, textAt(value, at), true] as const);
    inventory.add({ name, variables, facets: cells, ...at });
  }
}

function rowsOf(file: string, text: string): readonly Row[] {
  const [header, ...records] = recordsOf(text, file);
  const columns = header?.record ?? [];
  const found = NAME_COLUMNS.map((name) => columns.findIndex((column) => column.toLowerCase() === name));
  const nameAt = found.find((index) => index !== -1);
  if (nameAt === undefined) {
    throw new ImportError(`${file} has no column for the name of a server: ${NAME_COLUMNS.join(', ')}`);
  }
  return records.map(({ record, line }) => {
    const cells = new Map<string, string>();
    const lost: [key: string, reason: string][] = [];
    for (const [index, text] of record.entries()) {
      const column = columns[index] ?? '';
      if (index === nameAt || text === '') continue;
      if (column === '') lost.push([`cell ${index + 1}`, 'it has no name in the first row']);
      else if (columns.indexOf(column) < index) lost.push([column, 'the first row has this name twice']);
      else cells.set(column, text);
    }
    return { name: record[nameAt] ?? '', cells, lost, file, line };
  });
}

interface TableRecord {
  readonly record: readonly string[];
  readonly line: number;
}

/** A first line with the separator, as written by Excel. */
const SEPARATOR_LINE = /^\uFEFF?"?sep=(.)"?\r?\n/i;

function recordsOf(text: string, file: string): readonly TableRecord[] {
  const [named = '', separator] = SEPARATOR_LINE.exec(text) ?? [];
  const options = {
    delimiter: separator ?? separatorOf(text),
    bom: true,
    trim: true,
    relax_column_count: true,
    skip_records_with_empty_values: true,
    info: true,
    to: ROWS_MAX + 2,
  } as const;
  try {
    const found = parse(text.slice(named.length), options) as unknown as readonly {
      readonly record: readonly string[];
      readonly info: { readonly lines: number };
    }[];
    if (found.length > ROWS_MAX + 1) throw new ImportError(`${file} has more than ${ROWS_MAX} rows`);
    const before = named === '' ? 0 : 1;
    // The parser counts the lines up to the end of a record.
    return found.map(({ record, info }) => {
      return { record, line: info.lines + before - (record.join('').split('\n').length - 1) };
    });
  } catch (error) {
    if (error instanceof CsvError) throw new ImportError(`${file}: ${error.message}`);
    throw error;
  }
}

/** Returns the most frequent separator of the first line outside quotes. */
function separatorOf(text: string): string {
  const [header = ''] = text.replaceAll(/"(?:[^"]|"")*"/g, '').split(/\r?\n/, 1);
  const count = (one: string): number => header.split(one).length;
  return [',', ';', '\t'].reduce((best, one) => (count(one) > count(best) ? one : best));
}

/** Returns nodes and their facts from a table, or from YAML or JSON: a map by name, or a list of maps with a name. */
export function readNodes(file: string, text: string): readonly KnownNode[] {
  if (file.endsWith('.csv')) {
    return rowsOf(file, text).map(({ name, cells, line }) => {
      const facts = [...cells].map(([key, value]) => [key.replace(/^facts\./, ''), value] as const);
      return { name, facts: new Map(facts), file, line };
    });
  }
  const root = bounded(parseForeign(file, text), 'file');
  if (root.kind === 'scalar' && root.fault !== undefined) throw new ImportError(`${file}:${root.line}: ${root.fault}`);
  const named: readonly (readonly [string | undefined, Located])[] =
    root.kind === 'map'
      ? [...root.entries]
      : itemsOf(root).map((item) => [locatedText(entryOf(item, 'certname') ?? entryOf(item, 'name') ?? item), item]);
  return named.map(([name, located]) => {
    if (name === undefined) throw new ImportError(`${file}:${located.line}: a node has no name`);
    return { name, facts: new Map(factsIn(located, '')), file, line: located.line };
  });
}

function* factsIn(located: Located, name: string): Generator<readonly [string, string | readonly string[]]> {
  const below = (key: string): string => (name === '' || name === 'facts' ? key : `${name}.${key}`);
  if (located.kind === 'map') for (const [key, value] of located.entries) yield* factsIn(value, below(key));
  if (located.kind === 'list') {
    yield [name, located.items.flatMap((item) => locatedText(item) ?? [])];
    for (const [index, item] of located.items.entries()) yield* factsIn(item, below(String(index)));
  }
  const text = locatedText(located);
  if (text !== undefined && name !== '') yield [name, text];
}

/** Resource types of Terraform that are servers. */
const SERVER_TYPES = `
  aws_instance aws_spot_instance_request google_compute_instance azurerm_(?:linux_|windows_)?virtual_machine
  openstack_compute_instance_v2 digitalocean_droplet hcloud_server linode_instance vultr_(?:instance|server)
  scaleway_(?:instance_)?server vsphere_virtual_machine libvirt_domain proxmox_vm_qemu proxmox_lxc
  proxmox_virtual_environment_(?:vm|container) oci_core_instance exoscale_compute(?:_instance)? upcloud_server
  ovh_cloud_project_instance alicloud_instance ibm_is_instance ibm_compute_vm_instance
  opentelekomcloud_compute_instance_v2 yandex_compute_instance ionoscloud_server virtualbox_vm
  (?:lxd|incus)_(?:instance|container) nutanix_virtual_machine vcd_vm vcd_vapp_vm cloudstack_instance
  equinix_metal_device metal_device packet_device
`;
const SERVERS = new RegExp(`^(?:${SERVER_TYPES.trim().replaceAll(/\s+/g, '|')})$`);

interface StateServer extends SourceLine {
  /** The module, the resource and the key, unique in the state. */
  readonly address: string;
  readonly resource: string;
  readonly attributes: ReadonlyMap<string, Located>;
}

/**
 * Adds the servers of a state, version 4. If two servers have the same name, the second is named by its module,
 * resource and key. Ignores attributes without a value. Throws ImportError for another version.
 */
export function readTerraform(file: string, text: string, inventory: Inventory): void {
  const root = parseForeign(file, text);
  const version = locatedText(entryOf(root, 'version'));
  if (version !== '4') throw new ImportError(`${file} is no Terraform state of version 4 (${version ?? 'no version'})`);
  const servers = itemsOf(entryOf(root, 'resources')).flatMap((resource) => [...serversOf(resource, inventory)]);
  const counts = Map.groupBy(servers, (server) => ownName(server).toLowerCase());
  const named = new Map<string, StateServer>();
  for (const server of servers) {
    const { resource, address, attributes, line } = server;
    const own = ownName(server);
    const isOwn = own !== '' && counts.get(own.toLowerCase())?.length === 1;
    const name = isOwn ? own : nameIn(address);
    const other = named.get(name.toLowerCase());
    if (other !== undefined) {
      inventory.leave(server, '', `${address} has the name ${quote(name)} of ${other.address}`, name);
      continue;
    }
    named.set(name.toLowerCase(), server);
    const variables = [...attributes].flatMap(([attribute, value]) =>
      attribute === 'name' || isUnset(value) ? [] : [[attribute, value, true] as const],
    );
    const texts = variables.flatMap(([attribute, value]) => textsIn(attribute, value));
    inventory.add({ name, variables, facets: [...texts, ['resource', resource]], file, line });
  }
}

function* serversOf(resource: Located, inventory: Inventory): Generator<StateServer> {
  const type = locatedText(entryOf(resource, 'type')) ?? '';
  if (locatedText(entryOf(resource, 'mode')) !== 'managed' || !SERVERS.test(type)) return;
  const name = locatedText(entryOf(resource, 'name')) ?? type;
  const module = locatedText(entryOf(resource, 'module')) ?? '';
  for (const instance of itemsOf(entryOf(resource, 'instances'))) {
    const attributes = entryOf(instance, 'attributes');
    const deposed = locatedText(entryOf(instance, 'deposed'));
    const address = [module, name, locatedText(entryOf(instance, 'index_key')) ?? ''].filter((part) => part !== '');
    if (deposed !== undefined) {
      inventory.leave(
        instance,
        '',
        `${address.join(' ')} is deposed: Terraform replaced it, and has yet to destroy it`,
      );
      continue;
    }
    if (attributes?.kind !== 'map') {
      inventory.leave(instance, '', `${address.join(' ')} has no attributes`, address.join(' '));
      continue;
    }
    const sensitive = new Set(itemsOf(entryOf(instance, 'sensitive_attributes')).flatMap(firstStep));
    const known = [...attributes.entries].map(([key, value]): readonly [string, Located] => {
      if (sensitive.has(key)) return [key, faultAt(value, 'Terraform calls it sensitive')];
      return [key, isUnset(value) ? value : withoutScripts(key, value)];
    });
    yield {
      address: address.join(' '),
      resource: name,
      attributes: new Map(known),
      file: instance.file,
      line: instance.line,
    };
  }
}

/** Excludes scripts of the first start, which often contain passwords. */
function withoutScripts(key: string, value: Located): Located {
  if (/user_?data|custom_?data|startup[-_]script|cloud_?init/i.test(key)) {
    return faultAt(value, 'what runs at the first start often holds secrets: keep it with the provider');
  }
  if (value.kind !== 'map') return value;
  return { ...value, entries: new Map([...value.entries].map(([part, one]) => [part, withoutScripts(part, one)])) };
}

/** A path into the attributes: `[{ "type": "get_attr", "value": "password" }]`. */
function firstStep(path: Located): readonly string[] {
  return locatedText(entryOf(itemsOf(path)[0], 'value'))?.split('\n') ?? [];
}

function ownName({ attributes }: StateServer): string {
  const tags = attributes.get('tags');
  const named = [entryOf(tags, 'Name'), attributes.get('name'), attributes.get('hostname'), attributes.get('label')];
  return nameIn(named.flatMap((one) => locatedText(one) ?? []).find((one) => one !== '') ?? '');
}

/** Returns the words of a text as a name: `module.east["a"] web 0` is `east-a-web-0`. */
function nameIn(text: string): string {
  return text
    .replaceAll(/(?<![A-Za-z0-9_-])module\./g, ' ')
    .replaceAll(/[^A-Za-z0-9._-]+/g, '-')
    .replaceAll(/^-+|-+$/g, '');
}

/** Terraform providers write every attribute. Null and empty values were not set by a user. */
function isUnset(located: Located): boolean {
  if (located.kind === 'scalar') return located.fault === undefined && (located.value === null || located.value === '');
  return located.kind === 'list' ? located.items.length === 0 : located.entries.size === 0;
}

function textsIn(key: string, located: Located): readonly (readonly [string, string])[] {
  if (located.kind === 'map') return [...located.entries].flatMap(([part, value]) => textsIn(`${key}::${part}`, value));
  const text = locatedText(located);
  return text === undefined ? [] : [[key, text]];
}
