import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parseEntry } from '../../src/catalog/parse-entry.ts';
import { outputsLayer } from '../../src/hiera/layers.ts';
import { isValidEntry } from '../../src/model/entry.ts';
import { isStructural, PROXY_TAG, recordKeyFault, SELECTORS } from '../../src/model/keys.ts';
import { readAnswer } from '../../src/providers/answer-json.ts';
import { TextRepository } from '../support/text-repository.ts';

/** Fields that mean something else than a key in one of the places. */
const FIELDS = ['name', 'type', 'description', 'tenant', PROXY_TAG, ...SELECTORS];
const HOSTILE = [...' \u200b\u00a0аß./\n\u007f:-_Az0', '__proto__', 'constructor'];

const keys = fc
  .array(fc.constantFrom(...HOSTILE, 'db_password'), { maxLength: 6 })
  .map((parts) => parts.join(''))
  .filter((key) => !FIELDS.includes(key) && !isStructural(key));

function isInFile(key: string): boolean {
  return isValidEntry(parseEntry('types/common/global.yaml', 'oid', `${JSON.stringify(key)}: "x"\n`));
}

function isInTemplate(key: string): boolean {
  const { units } = new TextRepository().commit({
    'tree.yaml': 'name: global\ntype: common\n',
    'stacks/templates/one.yaml': `resources: { a: { type: Platform::Server, properties: { ${JSON.stringify(key)}: x } } }\n`,
    'stacks/instances/shop.yaml': 'stackTemplate: one\n',
  });
  return units.size === 1;
}

function isInAnswer(field: 'outputs' | 'observed', key: string): boolean {
  try {
    return Object.hasOwn(readAnswer(`{"outcome":"done","${field}":{${JSON.stringify(key)}:"x"}}`)[field] ?? {}, key);
  } catch {
    return false;
  }
}

it('a key is valid in one place exactly if it is valid in all', () => {
  fc.assert(
    fc.property(keys, (key) => {
      const isKey = recordKeyFault(key) === undefined;
      expect({
        file: isInFile(key),
        template: isInTemplate(key),
        outputs: isInAnswer('outputs', key),
        observed: isInAnswer('observed', key),
        record: Object.hasOwn(outputsLayer('a', { [key]: 'x' }).values, key),
      }).toEqual({ file: isKey, template: isKey, outputs: isKey, observed: isKey, record: isKey });
    }),
    { numRuns: 200 },
  );
});
