// The sources of an answer decide how long it is kept: while all of them are the same, the answer has to be the same.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { AnswerSources } from '../../src/model/answer-sources.ts';
import { isSameList } from '../../src/model/is-same-list.ts';
import { TYPE_NAMES } from '../../src/model/names.ts';
import type { Reader } from '../../src/service/reader.ts';
import { open, refusal, Service, SHOP } from './service.ts';

type Read = readonly [sources: AnswerSources | undefined, make: () => unknown];

/** Every read that tells what it is made of, by name. */
function readsOf(reader: Reader): ReadonlyMap<string, Read> {
  const { sources } = reader;
  const reads = new Map<string, Read>([
    ['instances', [sources.instances(), () => reader.instances()]],
    ['templates', [sources.templates(), () => reader.templates()]],
    ['tree', [sources.tree(), () => reader.tree()]],
  ]);
  for (const name of ['shop', 'other', 'new']) {
    reads.set(`instance ${name}`, [sources.instance(name), () => reader.instance(name)]);
    reads.set(`status/full ${name}`, [sources.instance(name), () => reader.statusFull(name)]);
    reads.set(`stack-instance ${name}`, [
      sources.object('stack-instance', name),
      () => reader.object('stack-instance', name),
    ]);
  }
  for (const name of ['web', 'spare'])
    reads.set(`template ${name}`, [sources.template(name), () => reader.template(name)]);
  for (const type of TYPE_NAMES) reads.set(`all of ${type}`, [sources.objects(type), () => reader.objects(type)]);
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
    reads.set(`${type} ${name}`, [sources.object(type, name), () => reader.object(type, name)]);
  }
  for (const name of ['web-1', 'web-2', 'web-3', 'printer']) {
    reads.set(`record ${name}`, [reader.findNode(name)?.sources, () => reader.record(name)]);
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
  'another instance comes, invalid': (service) =>
    service.commit({ 'stacks/instances/new.yaml': 'stackTemplate: wbe\n' }),
  'another instance goes': (service) => service.commit({ 'stacks/instances/new.yaml': null }),
  'a role changes': (service) => service.commit({ 'types/role/web.yaml': 'description: Web\nport: 81\n' }),
  'a role changes back': (service) => service.commit({ 'types/role/web.yaml': 'description: Web servers\nport: 80\n' }),
  'a node has no file': (service) => service.commit({ 'types/clientcert/web-1.yaml': null }),
  'a node has a file': (service) => service.commit({ 'types/clientcert/web-1.yaml': 'log_level: error\n' }),
  'the template loses a group': (service) => service.commit({ 'stacks/templates/web.yaml': template('') }),
  'the template has the group again': (service) => service.commit({ 'stacks/templates/web.yaml': template(GROUP) }),
  'a template comes': (service) =>
    service.commit({ 'stacks/templates/spare.yaml': 'description: A spare\nresources: {}\n' }),
  'a template goes': (service) => service.commit({ 'stacks/templates/spare.yaml': null }),
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

it('an answer whose sources are the same is the same', async () => {
  let repeated = 0;
  const steps = fc.array(fc.constantFrom(...Object.keys(STEPS)), { minLength: 1, maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(steps, async (names) => {
      const service = await open({ [OTHER]: shop(0) });
      const seen = new Map<string, { readonly sources: AnswerSources; readonly text: string }[]>();
      for (const step of ['nothing', ...names]) {
        await STEPS[step]?.(service);
        for (const [name, [sources, make]] of readsOf(service.reader)) {
          const text = told(make);
          if (sources === undefined) {
            expect({ name, text }).toEqual({ name, text: 'not_found' });
            continue;
          }
          const before = seen.get(name) ?? [];
          for (const one of before.filter((each) => isSameList(each.sources, sources))) {
            expect({ name, text }).toEqual({ name, text: one.text });
            repeated += 1;
          }
          seen.set(name, [...before, { sources, text }]);
        }
      }
    }),
    { numRuns: 40 },
  );
  expect(repeated).toBeGreaterThan(1_000);
});

/** Returns the names of the reads whose sources another step leaves alone. */
async function unchangedBy(step: (service: Service) => Promise<void>): Promise<readonly string[]> {
  const service = await open({ [OTHER]: shop(0), 'stacks/instances/new.yaml': shop(0) });
  const before = readsOf(service.reader);
  await step(service);
  const after = readsOf(service.reader);
  return [...before].flatMap(([name, [sources = []]]) => {
    return isSameList(sources, after.get(name)?.[0] ?? []) ? name : [];
  });
}

it('a commit of an instance leaves the answers of the others alone', async () => {
  const unchanged = await unchangedBy((service) => service.commit({ [SHOP]: shop(3) }));
  expect(unchanged).toEqual(
    expect.arrayContaining(['instance other', 'status/full new', 'role web', 'record printer']),
  );
  expect(unchanged).not.toContain('instance shop');
});

it('a report of a server changes the answers about it, its instance and all instances', async () => {
  const unchanged = await unchangedBy((service) => service.change('web-1', { state: 'done' }));
  const all = [...readsOf((await open()).reader).keys()];
  const ofServer = ['clientcert web-1', 'record web-1'];
  const ofShop = ['instance shop', 'status/full shop', 'stack-instance shop'];
  const ofAll = ['instances', 'all of all', 'all of stack-instance', 'all of clientcert'];
  const changed = all.filter((name) => !unchanged.includes(name));
  expect(changed.sort()).toEqual([...ofServer, ...ofShop, ...ofAll].sort());
});

it('before the first good commit there are no sources', () => {
  const { sources } = new Service().reader;
  for (const ask of [sources.instances, sources.tree, () => sources.instance('shop'), () => sources.object('x', 'y')]) {
    expect(refusal(ask)).toMatch(/^not_ready/);
  }
});
