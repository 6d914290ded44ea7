// Counts how often a whole controller parses a file between the body of a request and the followed commit.
import { expect, test } from 'vitest';
import type { JsonMap } from '../../src/model/json.ts';
import { countCalls } from '../support/count-calls.ts';
import { STACKS } from './stacks.ts';
import { upAndWriting } from './writing.ts';

// `js-yaml` reads what files mean; `yaml` finds the places for an edit.
const PARSERS = ['js-yaml parseEvents', 'yaml/dist/public-api.js parseDocument'] as const;

const FILES = {
  ...STACKS,
  'types/role/web.yaml': 'port: 80 # of all\n',
  'types/clientcert/shop-web-1.yaml': 'motd: Hi # of one\n',
};

type Row = readonly [what: string, path: string, body: JsonMap, parsed: number, edited: number];

test.each<Row>([
  ['a changed file: before, after, and once it is followed', '/types/role/', { name: 'web', port: 81 }, 3, 1],
  ['a dry run: before and after', '/types/role/?dry_run=true', { name: 'web', port: 81 }, 2, 1],
])('%s', async (_what, path, body, parsed, edited) => {
  const scene = await upAndWriting(undefined, FILES);
  const counts = await countCalls(PARSERS, async () => {
    const reply = await scene.write(path, { body });
    expect([200, 201]).toContain(reply.status);
  });
  expect(counts).toEqual({ 'js-yaml parseEvents': parsed, 'yaml/dist/public-api.js parseDocument': edited });
});
