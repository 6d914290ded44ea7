// Runs `treeline provider test` against a program of contrib/providers.
import { join } from 'node:path';
import { expect } from 'vitest';
import { ROOT, treeline } from './command-line.ts';

export const CONFORMANCE_MS_MAX = 170_000;

/** Runs the conformance test and expects that every case passes. */
export async function expectConformance(
  program: string,
  environment: Readonly<Record<string, string>>,
  properties: readonly string[] = [],
): Promise<void> {
  const variables = Object.entries(environment).flatMap(([name, value]) => ['--environment', `${name}=${value}`]);
  const options = [...variables, ...properties.flatMap((property) => ['--property', property])];
  const command = [process.execPath, join(ROOT, 'contrib/providers', program)];
  const { stdout, stderr } = await treeline(['provider', 'test', '--format', 'json', ...options, '--', ...command], {
    timeoutMs: CONFORMANCE_MS_MAX,
  });
  expect(stderr).toBe('');
  const { cases, left } = JSON.parse(stdout) as { cases: { result: string }[]; left: string[] };
  expect(cases.filter(({ result }) => result !== 'passed')).toEqual([]);
  expect(cases.length).toBeGreaterThan(20);
  expect(left).toEqual([]);
}
