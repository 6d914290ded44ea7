// Compares the text and the JSON of plans with text-plans.txt and plan.json.
// `UPDATE_GOLDEN=1 npx vitest run test/cli/plan/texts.test.ts` writes them anew.
import { readFileSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { jsonPlan, textPlan } from '../../../src/cli/plan-command.ts';
import type { Plan } from '../../../src/plan/plan.ts';
import { planned, SHOP } from '../../plan/planned.ts';
import { BLOG_FILE, PLANNED, SHOP_FILE, WIKI_FILE } from './plans.ts';

// Measures how much work something is. The time on the clock depends on whatever else the machine does.

/** Returns the processor time that this thread has used, in milliseconds. */
function processorMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

const FILES_OF_CLIENTS = { ...SHOP, 'clients/B2.yaml': 'role: proxy\n' };
const FILES_OF_MANY = { ...SHOP, [WIKI_FILE]: 'stackTemplate: web\nparameters: { count: "24" }\n' };

const PLANS: Readonly<Record<string, () => Plan>> = {
  'no effect': () => planned({ [SHOP_FILE]: `# a comment\n${SHOP[SHOP_FILE]}` }),
  'one line of common': () =>
    planned({ 'types/common/global.yaml': SHOP['types/common/global.yaml'].replace('info', 'debug') }),
  everything: () => PLANNED,
  'an invalid instance, and one that was invalid before': () =>
    planned({ [BLOG_FILE]: 'stackTemplate: wbe\n' }, { files: { ...SHOP, [WIKI_FILE]: 'stackTemplate: wbe\n' } }),
  'nothing left': () => planned({ [SHOP_FILE]: null, [BLOG_FILE]: null }),
  'no client left': () => planned({ 'clients/A1.yaml': null, 'clients/B2.yaml': null }, { files: FILES_OF_CLIENTS }),
  'every deleted server': () => planned({ [WIKI_FILE]: null }, { files: FILES_OF_MANY }),
  'base and head are the same commit': () => ({ ...planned({}), head: '1'.repeat(40) }),
};

function matches(name: string, text: string): void {
  const golden = new URL(name, import.meta.url);
  if (process.env.UPDATE_GOLDEN === '1') writeFileSync(golden, text);
  expect(text).toBe(readFileSync(golden, 'utf8'));
}

it('text plans equal text-plans.txt', () => {
  const texts = Object.entries(PLANS).map(([name, plan]) => `## ${name}\n\n${textPlan(plan())}\n`);
  matches('text-plans.txt', texts.join('\n'));
});

it('JSON plans equal plan.json.txt', () => {
  matches('plan.json.txt', `${jsonPlan(PLANNED)}\n`);
});

it('a text plan of long lists takes linear time', () => {
  const list = (length: number, prefix: string): string[] => Array.from({ length }, (_, at) => `${prefix}${at}`);
  const source = { type: 'common', name: 'global', file: 'types/common/global.yaml', line: 1 };
  const change = { key: 'ntp', from: list(50_000, 'a'), to: list(50_000, 'b'), isSecret: false };
  const plan = { ...planned({}), configuration: [{ ...change, nodes: 1, examples: ['web'], source }] };
  const start = processorMs();
  expect(textPlan(plan)).toMatch(/adds "b0", .* and 49,995 more, removes "a0", .* and 49,995 more/);
  expect(processorMs() - start).toBeLessThan(1_500);
});
