import { describe, expect, it, test, vi } from 'vitest';
import { asWritten, takeOutputs, unknownOutputs, unknownReads } from '../../src/machine/read-outputs.ts';
import type { JsonMap } from '../../src/model/json.ts';
import type { OutputPiece, OutputText, Spec } from '../../src/model/spec.ts';
import { specOf } from '../reconcile/build.ts';

const REPORTED: Readonly<Record<string, JsonMap>> = {
  db: {
    address: '10.0.0.1',
    port: 5432,
    ready: true,
    names: ['a', 'b'],
    nothing: [],
    key: 'secret/db',
    long: 'x'.repeat(40_000),
  },
  'web-1': { address: '10.0.1.1', names: ['c', 'd'] },
  'web-2': { address: '10.0.1.2', names: ['e'] },
};
const FACTS = { outputsOf: (server: string): JsonMap | undefined => REPORTED[server] };
const of = (output: string, servers: string | readonly string[] = 'db'): OutputPiece => ({ output, of: servers });
const NONE = { specs: [] };
const WEBS = ['web-1', 'web-2'];

function text(...pieces: readonly OutputPiece[]): OutputText {
  return { isList: false, texts: [pieces] };
}

function list(...texts: readonly (readonly OutputPiece[])[]): OutputText {
  return { isList: true, texts };
}

function servers(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `s-${index}`);
}

function reading(taken: OutputText, properties = {}): Spec {
  return specOf('small', { reads: { taken }, properties: { name: 'web-1', ...properties } });
}

describe('the value of an output is', () => {
  test.each<[what: string, taken: OutputText, value: unknown]>([
    ['a text', text(of('address')), '10.0.0.1'],
    ['a number as a text', text(of('port')), '5432'],
    ['a boolean as a text', text(of('ready')), 'true'],
    ['a list', text(of('names')), ['a', 'b']],
    ['a list of one item per member, in order', text(of('address', WEBS)), ['10.0.1.1', '10.0.1.2']],
    ['a list of all items of all members', text(of('names', WEBS)), ['c', 'd', 'e']],
    ['an empty list for a group without members', text(of('address', [])), []],
    ['a longer text', text('db://', of('address'), ':', of('port')), 'db://10.0.0.1:5432'],
    [
      'a list joined in a longer text',
      text('of ', of('names'), '; ', of('address', WEBS)),
      'of a,b; 10.0.1.1,10.0.1.2',
    ],
    ['an empty list joined in a longer text', text('<', of('nothing'), '>'), '<>'],
    ['a list with other items', list(['x'], [of('names')], [of('port'), '/tcp']), ['x', 'a', 'b', '5432/tcp']],
  ])('%s', (_what, taken, value) => {
    expect(takeOutputs(reading(taken), NONE, FACTS).properties).toEqual({ name: 'web-1', taken: value });
    expect(unknownOutputs(reading(taken), FACTS).size).toBe(0);
  });
});

describe('an output has no value if it is', () => {
  const mayHold = (_property: string, value: unknown): boolean => String(value).startsWith('secret/');
  test.each<[what: string, taken: OutputText, unknown: object, rules?: object]>([
    ['not reported', text(of('mac')), { server: 'db', output: 'mac', fault: null }],
    [
      'of a server that is not recorded',
      text('a ', of('address', 'new')),
      { server: 'new', output: 'address', fault: null },
    ],
    [
      'not reported by one member of the group',
      text(of('address', [...WEBS, 'db', 'new'])),
      { server: 'new', fault: null },
    ],
    [
      'too long',
      text(of('long'), of('long')),
      { server: 'db', output: 'long', fault: expect.stringContaining('64 KiB') },
    ],
    [
      'no reference, for a secret',
      text(of('address')),
      { fault: expect.stringContaining('not a reference') },
      { mayHold },
    ],
  ])('%s', (_what, taken, unknown, rules) => {
    const facts = { ...FACTS, ...rules };
    expect(takeOutputs(reading(taken), NONE, facts).properties).toEqual({ name: 'web-1' });
    expect(unknownOutputs(reading(taken), facts).get('taken')).toMatchObject(unknown);
    expect(unknownReads(reading(taken))).toEqual({ taken });
  });

  it('a secret accepts an output that is a reference', () => {
    const { properties } = takeOutputs(reading(text(of('key'))), NONE, { ...FACTS, mayHold });
    expect(properties.taken).toBe('secret/db');
  });

  it('outputs that are too long together have no value', () => {
    const reads = { a: text(of('long')), b: text(of('long')) };
    expect(Object.keys(takeOutputs(specOf('small', { reads }), NONE, FACTS).properties)).toEqual(['name', 'size', 'a']);
    const quiet = specOf('small', { reads, configurationOnly: ['a', 'b'] });
    expect(unknownOutputs(quiet, FACTS).get('b'), 'for configuration only').toMatchObject({ output: 'long' });
  });

  /** A text of all of them would be longer than any text can be. */
  it.each<[what: string, taken: OutputText, asked: number]>([
    ['a list', text(of('long', servers(10_000))), 2],
    ['a text', text('all: ', of('long', servers(10_000))), 2],
    ['items of a list', list(...servers(10_000).map((server) => [of('long', server)])), 2],
    ['a list of empty texts', text(of('empty', servers(10_000))), 4],
  ])('outputs of many servers are joined only up to the limit: %s', (_what, taken, asked) => {
    const reported = { long: 'x'.repeat(60_000), empty: Array.from({ length: 20_000 }, () => '') };
    const outputsOf = vi.fn(() => reported);
    expect(unknownOutputs(reading(taken), { outputsOf }).get('taken')?.fault).toContain('64 KiB');
    expect(outputsOf).toHaveBeenCalledTimes(asked);
  });
});

describe('a spec', () => {
  const known = reading(text(of('address')), { taken: '10.0.0.1' });
  it('stays the same object if its values have not changed', () => {
    expect(takeOutputs(known, NONE, FACTS)).toBe(known);
    expect(takeOutputs(specOf('small'), NONE, FACTS)).toEqual(specOf('small'));
  });

  it('keeps the last value of an output that is not reported any more', () => {
    const gone = { outputsOf: () => ({}) };
    expect(takeOutputs(known, { specs: [known] }, gone)).toBe(known);
    expect(takeOutputs(known, NONE, gone).properties).toEqual({ name: 'web-1' });
    const other = reading(text(of('address', 'other')));
    expect(takeOutputs(other, { specs: [known] }, gone).properties, 'of another text it is no value').toEqual({
      name: 'web-1',
    });
  });

  it('does not keep a last value that became a secret', () => {
    const facts = { outputsOf: () => undefined, mayHold: () => false };
    expect(takeOutputs(known, { specs: [known] }, facts).properties).toEqual({ name: 'web-1' });
  });

  it('without outputs is unchanged', () => {
    expect(asWritten(known)).toEqual(reading(text(of('address'))));
  });
});
