// Runs a program repeatedly with limited concurrency, and nothing else: `bare-loop.ts PROGRAM COUNT CONCURRENCY
// INPUT`. It is a separate process, because the time to start a program grows with the memory of its parent.
import { spawn } from 'node:child_process';

const [program = '', count = '', concurrency = '', input = ''] = process.argv.slice(2);

function runOnce(): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, [], { env: {}, stdio: ['pipe', 'pipe', 'pipe'] });
    child.on('error', reject);
    child.on('close', () => resolve());
    child.stdout.resume();
    child.stderr.resume();
    child.stdin.end(input);
  });
}

let begun = 0;
async function runAll(): Promise<void> {
  while (begun++ < Number(count)) await runOnce();
}

const begin = performance.now();
await Promise.all(Array.from({ length: Number(concurrency) }, runAll));
process.stdout.write(`${JSON.stringify({ ms: performance.now() - begin })}\n`);
