// The version of the reader decides how long an answer is kept: while it is the same, the answer has to be the same.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { TYPE_NAMES } from '../../src/model/names.ts';
import type { Reader } from '../../src/service/read/reader.ts';
import { pausing } from '../support/pausing.ts';
import { open, refusal, type Service, SHOP } from './service.ts';

const NODES = ['web-1', 'web-2', 'web-3', 'printer'];

/** Every read whose answer is made of the desired state and the rows alone, by name. */
function readsOf(reader: Reader): ReadonlyMap<string, () => unknown> {
  const reads = new Map<string, () => unknown>([
    ['instances', () => reader.instances()],
    ['templates', () => reader.templates()],
    ['tree', () => reader.tree()],
    ['records', () => reader.nodes().map((node) => [node.name, node.record(), node.explained()])],
  ]);
  for (const name of ['shop', 'other', 'new']) {
    reads.set(`instance ${name}`, () => reader.instance(name));
    reads.set(`status/full ${name}`, () => reader.statusFull(name));
    reads.set(`stack-instance ${name}`, () => reader.object('stack-instance', name));
  }
  for (const name of ['web', 'spare']) reads.set(`template ${name}`, () => reader.template(name));
  for (const type of TYPE_NAMES) reads.set(`all of ${type}`, () => [...reader.objects(type)]);
  for (const [type, name] of [
    ...([
      ['role', 'web'],
      ['common', 'global'],
      ['stack-template', 'spare'],
      ['clientcert', 'printer'],
    ] as const),
    ...([
      ['clientcert', 'web-1'],
      ['clientcert', 'web-2'],
      ['clientcert', 'web-3'],
    ] as const),
  ]) {
    reads.set(`${type} ${name}`, () => reader.object(type, name));
  }
  for (const name of NODES) {
    reads.set(`record ${name}`, () => reader.record(name));
  }
  return reads;
}

const OTHER = 'stacks/instances/other.yaml';
const shop = (count: number, more = ''): string => `stackTemplate: web\nparameters: { count: "${count}"${more} }\n`;

const GROUP = `
  idle: { type: Platform::ResourceGroup, properties: { count: "0", resource_def: { properties: {} } } }`;
const template = (more: string): string => `parameters: { count: "" }
resources:
  web:
    type: Platform::ResourceGroup
    properties: { count: "<<count>>", resource_def: { properties: { name: "web-<<index>>", role: web } } }${more}
`;

/** Steps that come in any order. */
const STEPS: Readonly<Record<string, (service: Service) => Promise<void>>> = {
  'the shop has one server': (service) => service.commit({ [SHOP]: shop(1) }),
  'the shop has three servers': (service) => service.commit({ [SHOP]: shop(3) }),
  'the shop is invalid': (service) => service.commit({ [SHOP]: shop(3, ', cuont: "4"') }),
  'the shop is deleted': (service) => service.commit({ [SHOP]: null }),
  'another invalid instance is added': (service) =>
    service.commit({ 'stacks/instances/new.yaml': 'stackTemplate: wbe\n' }),
  'another instance is removed': (service) => service.commit({ 'stacks/instances/new.yaml': null }),
  'a role changes': (service) => service.commit({ 'types/role/web.yaml': 'description: Web\nport: 81\n' }),
  'a role changes back': (service) => service.commit({ 'types/role/web.yaml': 'description: Web servers\nport: 80\n' }),
  'a node has no file': (service) => service.commit({ 'types/clientcert/web-1.yaml': null }),
  'a node has a file': (service) => service.commit({ 'types/clientcert/web-1.yaml': 'log_level: error\n' }),
  'the template loses a group': (service) => service.commit({ 'stacks/templates/web.yaml': template('') }),
  'the template has the group again': (service) => service.commit({ 'stacks/templates/web.yaml': template(GROUP) }),
  'a template is added': (service) =>
    service.commit({ 'stacks/templates/spare.yaml': 'description: A spare\nresources: {}\n' }),
  'a template is removed': (service) => service.commit({ 'stacks/templates/spare.yaml': null }),
  'the first server is done': (service) => changeIfThere(service, 'web-1', { state: 'done' }),
  'the first server failed': (service) => changeIfThere(service, 'web-1', { state: 'failed' }),
  'the first server is gone': (service) => changeIfThere(service, 'web-1', null),
  'the second server is gone': (service) => changeIfThere(service, 'web-2', null),
  'the shop is forgotten': async ({ ledger }) => {
    const expected = ledger.read('terminating', 'shop');
    if (expected !== undefined) await ledger.commit([{ kind: 'terminating', name: 'shop', value: null, expected }]);
  },
};

async function changeIfThere(service: Service, name: string, fields: Parameters<Service['change']>[1]): Promise<void> {
  if (service.ledger.server(name) !== undefined) await service.change(name, fields);
}

/** An answer as it is sent, or its refusal. */
function told(make: () => unknown): string {
  try {
    return JSON.stringify(make());
  } catch {
    return refusal(make).split(':')[0] ?? '';
  }
}

it('answers of the same version are equal, also during a store commit', async () => {
  let compared = 0;
  const steps = fc.array(fc.constantFrom(...Object.keys(STEPS)), { minLength: 1, maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(steps, async (names) => {
      const service = await open({ [OTHER]: shop(0) }, pausing(look));
      const seen = new Map<string, string>();
      const made = new Map<string, { readonly sources: readonly unknown[]; readonly text: string }>();
      function look(): void {
        const version = service.reader.version();
        for (const [name, make] of readsOf(service.reader)) {
          const text = told(make);
          const before = seen.get(`${version} ${name}`) ?? text;
          expect({ version, name, text }).toEqual({ version, name, text: before });
          seen.set(`${version} ${name}`, text);
          compared += 1;
        }
        for (const name of NODES) {
          const [sources, text] = [service.reader.recordSources(name), told(() => service.reader.record(name))];
          const before = made.get(name);
          const isSame = before?.sources.every((each, index) => each === sources[index]);
          if (isSame) expect({ name, text }).toEqual({ name, text: before?.text });
          made.set(name, { sources, text });
        }
      }
      for (const step of ['nothing', ...names]) {
        await STEPS[step]?.(service);
        look();
      }
    }),
    { numRuns: 15 },
  );
  expect(compared).toBeGreaterThan(1_000);
});

it('the version changes with every commit and every row, and with nothing else', async () => {
  const service = await open();
  const versions = [service.reader.version(), service.reader.version()];
  await service.commit({ 'README.md': 'x' });
  versions.push(service.reader.version());
  await service.change('web-1', { state: 'done' });
  versions.push(service.reader.version());
  expect(versions[1]).toBe(versions[0]);
  expect(new Set(versions).size).toBe(3);
});
