import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isLiteral, literalOf, lookalikes, type Token, tokenize } from '../../src/expand/placeholders.ts';
import { countRuns } from '../support/count-runs.ts';

const literal = (text: string): Token => ({ kind: 'literal', text });
const parameter = (name: string): Token => ({ kind: 'parameter', name, text: `<<${name}>>` });
const index: Token = { kind: 'index', text: '<<index>>' };
const array = (resource: string, property: string): Token => ({
  kind: 'array',
  resource,
  property,
  text: `<<(Array)['${resource}']['${property}']>>`,
});

describe('tokenize', () => {
  test.each<[text: string, tokens: readonly Token[]]>([
    ['', []],
    ['plain', [literal('plain')]],
    ['<<zone>>', [parameter('zone')]],
    ['<<index>>', [index]],
    ['<<app-version.2_x>>', [parameter('app-version.2_x')]],
    ['<<2nd>>', [parameter('2nd')]],
    ["<<(Array)['web']['ip']>>", [array('web', 'ip')]],
    ["<<(Array)['']['']>>", [array('', '')]],
    ["<<(Array)['web tier']['ip/4']>>", [array('web tier', 'ip/4')]],
    ["<<(Output)['db']['ip']>>", [{ kind: 'output', resource: 'db', name: 'ip', text: "<<(Output)['db']['ip']>>" }]],
    ['a-<<zone>>-<<index>>', [literal('a-'), parameter('zone'), literal('-'), index]],
    ['<<a>><<b>>', [parameter('a'), parameter('b')]],
  ])('%j', (text, tokens) => {
    expect(tokenize(text)).toEqual(tokens);
  });

  test.each<[text: string, meant: string]>([
    ['<<', '<<'],
    ['1 << 2 >> 1', '1 << 2 >> 1'],
    ['cat <<EOF', 'cat <<EOF'],
    ['<<>>', '<<>>'],
    ['<< zone >>', '<< zone >>'],
    ['<<-zone>>', '<<-zone>>'],
    ['<<(Array)["web"]["ip"]>>', '<<(Array)["web"]["ip"]>>'],
    ["<<(array)['web']['ip']>>", "<<(array)['web']['ip']>>"],
    ["<<(Array)['web']>>", "<<(Array)['web']>>"],
  ])('%j has no placeholder', (text, meant) => {
    expect(tokenize(text)).toEqual([literal(meant)]);
  });

  test.each<[text: string, tokens: readonly Token[]]>([
    ['<<<zone>>', [literal('<<zone>>')]],
    ['<<<index>>', [literal('<<index>>')]],
    ["a <<<(Array)['web']['ip']>> b", [literal("a <<(Array)['web']['ip']>> b")]],
    ['<<<EOF', [literal('<<<EOF')]],
    ['<<<<zone>>', [literal('<<<zone>>')]],
    ['<<<a>><<b>>', [literal('<<a>>'), parameter('b')]],
  ])('%j is a literal <<', (text, tokens) => {
    expect(tokenize(text)).toEqual(tokens);
  });

  test('can escape any text', () => {
    const piece = fc.constantFrom('<', '<<', '>>', 'zone', 'index', "(Array)['a']['b']", "'", ' ', 'x');
    const text = fc.oneof(
      fc.string(),
      fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join('')),
    );
    fc.assert(
      fc.property(text, (meant) => {
        const tokens = tokenize(escapePlaceholders(meant));
        expect(isLiteral(tokens)).toBe(true);
        expect(literalOf(tokens)).toBe(meant);
      }),
      { numRuns: countRuns(1000) },
    );
  });

  test('returns tokens that join to the text if nothing is escaped', () => {
    const text = fc.array(fc.constantFrom('<<zone>>', '<<index>>', "<<(Array)['a']['b']>>", 'x', '<', '>'));
    fc.assert(
      fc.property(text, (pieces) => {
        const written = pieces.join('').replaceAll(/<{3,}/g, '<<');
        expect(literalOf(tokenize(written))).toBe(written);
      }),
    );
  });

  test('reads a hostile text of 1 MiB in linear time', () => {
    for (const piece of ['<<', "<<(Array)['", '<<a', '<<(Array) ', '<< ', '<<<']) {
      const text = piece.repeat((1024 * 1024) / piece.length);
      expect(isLiteral(tokenize(text))).toBe(true);
      expect(lookalikes(text)).toEqual([]);
    }
  });
});

describe('lookalikes', () => {
  test.each<[text: string, found: readonly string[]]>([
    ['<< zone >>', ['<< zone >>']],
    ['<< zone >> and << index>>', ['<< zone >>', '<< index>>']],
    ['<<(Array)["web"]["ip"]>>', ['<<(Array)["web"]["ip"]>>']],
    ["<<(array)['web']['ip']>>", ["<<(array)['web']['ip']>>"]],
    ["<<Array['web']['ip']>>", ["<<Array['web']['ip']>>"]],
    ["<<(Array)['web'].ip>>", ["<<(Array)['web'].ip>>"]],
    ["<<(Outputs)['db']['ip']>>", ["<<(Outputs)['db']['ip']>>"]],
    ['<<zone> and more', ['<<zone>']],
    ['<<zone>>', []],
    ["<<(Array)['web']['ip']>>", []],
    ['<<<zone>>', []],
    ['1 << 2', []],
    ['cat <<EOF >> file', []],
    ['plain', []],
  ])('%j', (text, found) => {
    expect(lookalikes(text)).toEqual(found);
  });
});

/** What an operator does who wants a text to stand for itself: one more < before each that would open a placeholder. */
function escapePlaceholders(text: string): string {
  return text.replaceAll(/<<(?=(?:\w[\w.-]*|\(Array\)\['[^'<>]*'\]\['[^'<>]*'\])>>)/g, '<<<');
}
