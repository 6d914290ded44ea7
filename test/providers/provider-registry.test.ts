import { expect, it } from 'vitest';
import type { Properties } from '../../src/model/objects.ts';
import type { ProviderSettings } from '../../src/model/settings.ts';
import type { Provider } from '../../src/providers/provider.ts';
import { createProviderRegistry } from '../../src/providers/provider-registry.ts';

type Match = ProviderSettings['match'];

const RETRY = { attempts: 8, firstSeconds: 2, maxSeconds: 300, failedSeconds: 3600 };
const OPTIONS = { file: '/nowhere', createMs: 0, updateMs: 0, deleteMs: 0, checkMs: 0, failRate: 0, seed: 1 };

function entryOf(name: string, match: Partial<Match> = {}): ProviderSettings {
  const limits = { timeoutSeconds: 600, checkSeconds: 300, drift: 'report', concurrency: 50, retry: RETRY } as const;
  const wanted = { kind: null, properties: {}, ...match };
  return { name, match: wanted, implementation: 'simulated', options: OPTIONS, ...limits };
}

function providerOf(close: () => Promise<void> = async () => undefined): Provider {
  return { lostActionEnds: 'with the controller', perform: () => Promise.reject(new Error('not called')), close };
}

function matched(match: Partial<Match>, properties: Properties, kind = 'Platform::Server'): boolean {
  const registry = createProviderRegistry([entryOf('lab', match)], () => providerOf());
  return registry.match({ kind, properties }) !== undefined;
}

it.each<[string, Partial<Match>, Properties, boolean]>([
  ['everything without a condition', {}, { name: 'web-1' }, true],
  ['its kind', { kind: 'Platform::Server' }, {}, true],
  ['no other kind', { kind: 'Platform::Other' }, {}, false],
  ['an equal property', { properties: { location: 'lab' } }, { location: 'lab', name: 'web-1' }, true],
  ['no other value', { properties: { location: 'lab' } }, { location: 'labs' }, false],
  ['no missing property', { properties: { location: 'lab' } }, {}, false],
  ['no property that every object inherits', { properties: { toString: 'lab' } }, {}, false],
  ['all of several properties', { properties: { a: '1', b: '2' } }, { a: '1', b: '3' }, false],
  ['an equal list', { properties: { tags: ['a', 'b'] } }, { tags: ['a', 'b'] }, true],
  ['no list in another order', { properties: { tags: ['a', 'b'] } }, { tags: ['b', 'a'] }, false],
  ['neither kind nor property alone', { kind: 'Platform::Server', properties: { a: '1' } }, { a: '2' }, false],
])('an entry matches %s', (_case, match, properties, expected) => {
  expect(matched(match, properties)).toBe(expected);
});

it('ProviderRegistry returns the first match with its settings and provider', () => {
  const providers = new Map<string, Provider>();
  const settings = [entryOf('lab', { properties: { location: 'lab' } }), entryOf('rest'), entryOf('never')];
  const registry = createProviderRegistry(settings, ({ name }) => {
    const provider = providerOf();
    providers.set(name, provider);
    return provider;
  });
  const lab = registry.match({ kind: 'Platform::Server', properties: { location: 'lab' } });
  expect(lab).toMatchObject({ name: 'lab', timeoutSeconds: 600, drift: 'report', retry: RETRY });
  expect(lab?.provider).toBe(providers.get('lab'));
  expect(registry.match({ kind: 'Platform::Server', properties: {} })?.name).toBe('rest');
});

it('ProviderRegistry finds entries by name', () => {
  const registry = createProviderRegistry([entryOf('lab'), entryOf('__proto__')], () => providerOf());
  expect(registry.byName('lab')?.name).toBe('lab');
  expect(registry.byName('__proto__')?.name).toBe('__proto__');
  expect(registry.byName('constructor')).toBeUndefined();
});

it('ProviderRegistry closes every provider, and throws the first failure', async () => {
  const closed: string[] = [];
  const registry = createProviderRegistry([entryOf('a'), entryOf('b'), entryOf('c')], ({ name }) =>
    providerOf(async () => {
      closed.push(name);
      if (name !== 'c') throw new Error(`${name} does not close`);
    }),
  );
  await expect(registry.close()).rejects.toThrow('a does not close');
  expect(closed).toEqual(['a', 'b', 'c']);
});
