// `treeline provider test`: on a service that keeps the contract, and on programs that do not. conformance.test.ts tests what its
// cases find; test/long/conformance.long.ts runs it on the example of docs/providers.md and on the programs of contrib/.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { treeline } from '../support/command-here.ts';
import { itInFull } from '../support/count-runs.ts';
import { SERVICE_SECRET, startService } from '../support/service-of-servers.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const CASES = 26;

function test(command: readonly string[], ...options: readonly string[]) {
  return treeline(['provider', 'test', ...options, '--', ...command]);
}

/** Writes a shell script and returns its path. */
function script(text: string): string {
  const path = join(temporaryDirectory(), 'program.sh');
  writeFileSync(path, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  return path;
}

describe('treeline provider test', { timeout: 120_000 }, () => {
  it('prints how a program differs, and ends with 1', async () => {
    const { code, stdout } = await test([script('cat > /dev/null; echo "the lab is closed" >&2; exit 1')]);
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /^Testing the provider: .*program\.sh\nIt makes servers of the kind Platform::Server named .* the properties name, and deletes/,
    );
    expect(stdout).toContain(
      'create answered "retryable" (the program ended with exit code 1: the lab is closed); expected "done"',
    );
    expect(stdout.match(/^(?:ok {2}|FAIL) /gm)).toHaveLength(CASES);
    expect(stdout).toMatch(/\nThese servers may still exist; remove them by hand: treeline-test-/);
  });

  itInFull('finds a program that prints more than the answer, and one that hangs', async () => {
    const talking = await test([script('cat > /dev/null; echo Working; echo \'{"outcome":"absent"}\'')]);
    expect(talking.stdout).toContain('the answer is lost: the answer is not one JSON object: "Working');
    expect(talking.stdout).toContain(
      '      Only the answer goes to standard output; write other text to standard error.\n',
    );
    const hanging = script('grep -q explode && sleep 100; echo \'{"outcome":"absent"}\'');
    const { stdout } = await test([hanging], '--timeout', '1');
    expect(stdout).toMatch(/^FAIL {2}an unknown operation is refused.*\n {6}there was no answer within 1 s$/m);
  });

  it.each([
    ['no program', [], 'name the program after "--"'],
    ['a missing program', ['./no-such-program'], 'no-such-program is not there'],
  ])('ends with 3 for %s', async (_, command, words) => {
    const { code, stdout, stderr } = await test(command);
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
    expect(stderr).toContain(words);
  });
});

describe('treeline provider test --url', { timeout: 120_000 }, () => {
  it('ends with 0, leaves nothing, and tests the signatures', async () => {
    const service = await startService();
    const secret = join(temporaryDirectory(), 'secret');
    writeFileSync(secret, SERVICE_SECRET);
    const properties = ['--property', 'size=small', '--change', 'size=large', '--format', 'json'];
    const { code, stdout, stderr } = await treeline([
      ...['provider', 'test', '--url', service.url, '--secret-file', secret, ...properties],
    ]);
    const { cases, left } = JSON.parse(stdout);
    const failed = cases.filter(({ result }: { result: string }) => result !== 'passed');
    expect({ code, stderr, failed, left, count: cases.length }).toEqual({
      code: 0,
      stderr: '',
      failed: [],
      left: [],
      count: CASES + 1,
    });
    expect(cases[0]).toMatchObject({ title: 'check of a server that is not there answers absent', message: '' });
    expect([...service.servers.keys()]).toEqual([]);
  });

  it.each([
    [['--url', 'https://x/'], 'name the secret'],
    [['--url', 'http://lab.example/', '--secret-file', 's'], '--url: records would go to "lab.example" unencrypted'],
    [['--url', 'https://x/', '--secret-file', 's', '--', 'program'], 'not both'],
  ])('ends with 3: %j', async (options, words) => {
    const { code, stderr } = await treeline(['provider', 'test', ...options]);
    expect(code).toBe(3);
    expect(stderr).toContain(words);
  });
});
