// Serves a bare repository over HTTPS in a process of its own, and prints the port. Arguments: the repository, and files with key and
// certificate.
import { readFileSync } from 'node:fs';
import { serveGit } from '../test/support/git-http-server.ts';

const [repository = '', key = '', cert = ''] = process.argv.slice(2);
const tls = { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
const { port } = await serveGit({ repository, tls });
process.stdout.write(`${port}\n`);
process.on('SIGTERM', () => process.exit(0));
