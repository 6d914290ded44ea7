// `treeline client`: prints the file that registers a client of the REST interface, or registers it, lists clients and
// removes them. `treeline client new` creates a key, a certificate signed by the authority of `treeline pki init`, and
// the file.
import { X509Certificate } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { type Command, Option } from 'commander';
import { useFault } from '../api/tls/certificate-use.ts';
import { issueClientCertificate } from '../base/development-pki.ts';
import { ROLES } from '../model/names.ts';
import { READ_SCOPES, WRITE_SCOPES } from '../model/objects.ts';
import type { ClientSeen } from '../service/answers.ts';
import { writeYaml } from '../yaml-edit/print-yaml.ts';
import { CommandFailure } from './command-failure.ts';
import { RENEWAL } from './connection-failure.ts';
import {
  type ClientFields,
  clientDocument,
  filesOf,
  readAuthority,
  requireNew,
  writePair,
} from './credential-files.ts';
import { print, visibleLine } from './output.ts';
import { addRestCommands, type RestCommand } from './rest-command.ts';
import { addOptionalServerOptions, getFrom, type ServerOptions, sendTo, serverIn } from './server-connection.ts';
import { fromUserDirectory, readNamedFile } from './user-directory.ts';

interface Adding extends Partial<ServerOptions>, ClientFields {
  readonly print?: true;
}

/** Adds the command with its subcommands. Exit code 0: done; 3: could not run, or the controller refused. */
export function addClientCommand(program: Command): void {
  const client = program.command('client').description('register clients of the REST interface, list and remove them');
  const add = withRights(client.command('add'))
    .description('register a certificate, or print its client file')
    .argument('<certificate>', "the client's certificate, PEM")
    .option('--description <words>', "who it is; default: the certificate's common name")
    .option('--print', 'print the client file, and register nothing')
    .addHelpText(
      'after',
      '\nIt registers with the controller of --server, TREELINE_SERVER or a demo. Without one it prints the file to commit.',
    );
  addOptionalServerOptions(add).action(addClient);
  addNewCommand(client);
  addRestCommands(client, CLIENT_COMMANDS);
}

const CLIENT_COMMANDS: readonly RestCommand[] = [
  {
    usage: 'list',
    description: 'show the registered clients and when each was seen last',
    choice: new Option('--role <role>', 'only these').choices(ROLES),
    async ask(given) {
      const { clients } = (await getFrom(given, '/operations/clients')) as { readonly clients: readonly ClientSeen[] };
      return clients.filter(({ role }) => given.role === undefined || role === given.role);
    },
    text: (clients: readonly ClientSeen[]) => clients.map(formatClient).join('\n') || 'there is none',
  },
  {
    usage: 'remove <serial>',
    description: 'remove a client; its next request is refused',
    help: 'SERIAL is that of its certificate, in any spelling.',
    ask: (given, serial) => sendTo(given, { path: `/clients/${encodeURIComponent(serial)}`, method: 'DELETE' }),
  },
];

/** Adds the options for the rights of a client. */
function withRights(command: Command): Command {
  return command
    .addOption(new Option('--role <role>', 'the role that decides its rights').choices(ROLES).makeOptionMandatory())
    .option('--tenant <name>', 'the tenant whose objects it sees and writes')
    .option('--tag <tag...>', 'tags, for proxies')
    .option('--node <clientcert>', 'restrict it to the record of this node')
    .addOption(new Option('--reads <scope>', 'site: only what belongs to servers with its tags').choices(READ_SCOPES))
    .addOption(new Option('--writes <scope>', 'none: it only reads, regardless of its role').choices(WRITE_SCOPES));
}

async function addClient(certificate: string, options: Adding, command: Command): Promise<void> {
  const read = await readCertificate(certificate);
  const client = clientDocument(read, options);
  const fault = useFault(read, 'client', Date.now());
  if (fault !== undefined) {
    process.stderr.write(`# warning: ${certificate} ${fault}, and admits no client; ${RENEWAL}\n`);
  }
  const server = options.print ? undefined : await serverIn(options);
  if (server !== undefined) {
    const answer = (await sendTo(server, { path: '/clients', body: client })) as { readonly message: string };
    const source = command.getOptionValueSource('server');
    if (source !== 'cli') {
      const where = source === 'env' ? `${server.server}, which TREELINE_SERVER names` : `the demo, ${server.server}`;
      process.stderr.write(`# registered with ${where}; --print prints the file instead\n`);
    }
    print(`${answer.message}: ${client.serial}`);
    return;
  }
  process.stderr.write(`# save this as clients/${client.serial}.yaml, and commit it\n`);
  process.stdout.write(writeYaml(client, MODELINE));
}

function formatClient({ serial, role, description, node, notAfter, lastSeen }: ClientSeen): string {
  const seen = notAfter === null ? 'not seen yet' : `certificate ends ${notAfter.slice(0, 10)}, seen ${lastSeen}`;
  const bound = node == null ? '' : `node ${visibleLine(node)}, `;
  return `${serial}  ${role}  ${visibleLine(description)}  (${bound}${seen})`;
}

async function readCertificate(file: string): Promise<X509Certificate> {
  const bytes = await readNamedFile(file);
  try {
    return new X509Certificate(bytes);
  } catch (error) {
    throw new CommandFailure(
      `${file} contains no certificate in PEM or DER: give the client's certificate, not its key`,
      {
        cause: error,
      },
    );
  }
}

const MODELINE = '# yaml-language-server: $schema=../schemas/client.schema.json';

/** A plain file name: no path, no hidden file. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

interface Making extends ClientFields {
  readonly pki: string;
  readonly repository?: string;
}

/** Adds the subcommand. Exit code 0: created; 3: could not run, or a file exists already. */
function addNewCommand(client: Command): void {
  withRights(client.command('new'))
    .description('create a key and certificate for a client')
    .argument('<name>', 'the common name, and the name of the files')
    .option('--pki <directory>', 'the folder of the authority and of the new files', 'pki')
    .option('--repository <directory>', 'the stacks repository to write the client file into')
    .option('--description <words>', 'who it is, for people; default: the name')
    .action(makeClient);
}

async function makeClient(name: string, { pki, repository, ...fields }: Making): Promise<void> {
  if (!NAME.test(name)) {
    throw new CommandFailure(`"${name}" cannot name files: use up to 64 letters, digits, ".", "_" and "-"`);
  }
  const target = repository === undefined ? undefined : fromUserDirectory(repository);
  if (target !== undefined && !existsSync(target)) throw new CommandFailure(`there is no folder ${target}`);
  const folder = fromUserDirectory(pki);
  const authority = await readAuthority(folder);
  const files = filesOf(folder, name);
  requireNew(files);
  const pair = await issueClientCertificate(authority, { now: Date.now(), commonName: name });
  await writePair(files, pair);
  const client = clientDocument(new X509Certificate(pair.cert), fields);
  const path = `clients/${client.serial}.yaml`;
  const shown = relative(fromUserDirectory('.'), files.cert);
  if (target === undefined) {
    process.stderr.write(`# ${shown} is made; save this as ${path} in the stacks repository, and commit it\n`);
    process.stdout.write(writeYaml(client, MODELINE));
    return;
  }
  await writeClientFile(join(target, path), writeYaml(client, MODELINE));
  print(`${shown}  ${name}, for a year, with its key beside it`);
  print(`${relative(fromUserDirectory('.'), join(target, path))}  registers it as ${fields.role}: commit it`);
}

/** The serial is random, so the file cannot exist already. */
async function writeClientFile(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text, { flag: 'wx' });
}
