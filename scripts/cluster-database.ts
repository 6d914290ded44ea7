// The PostgreSQL of `npm run cluster`, in a separate process, because the terminal's Ctrl-C would stop it before the
// replicas. Prints the URL of an empty database, and ends with its standard input.
import { once } from 'node:events';
import { startPostgresServer } from '../test/support/postgres-server.ts';

const server = await startPostgresServer();
process.stdout.write(await server.create('empty'));
await once(process.stdin.resume(), 'end');
await server.remove();
// Exits explicitly, because handlers of the package keep the process alive.
process.exit();
