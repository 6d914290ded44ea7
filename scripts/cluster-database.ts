// The PostgreSQL of `npm run cluster`, in a process of its own, since it stops with the terminal's Ctrl-C otherwise, before the replicas.
// Prints the URL of an empty database as a line of JSON, or why there is none. Ends with its standard input, and leaves nothing behind.
import { once } from 'node:events';
import { reasonOf } from '../src/base/wording.ts';
import { type PostgresServer, startPostgresServer } from '../test/support/postgres-server.ts';

const write = (answer: { readonly url: string } | { readonly reason: string }): void =>
  void process.stdout.write(`${JSON.stringify(answer)}\n`);

let server: PostgresServer | undefined;
try {
  server = await startPostgresServer();
  write({ url: await server.create('empty') });
  process.stdin.resume();
  await once(process.stdin, 'end');
} catch (error) {
  write({ reason: reasonOf(error) });
  process.exitCode = 1;
} finally {
  await server?.remove();
}
// The package keeps handlers of its own.
process.exit();
