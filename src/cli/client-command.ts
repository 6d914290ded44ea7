// `treeline client`: prints the file that registers a client of the REST interface, or registers it, and lists clients.
import { X509Certificate } from 'node:crypto';
import { type Command, Option } from 'commander';
import { useFault } from '../api/tls/certificate-use.ts';
import { ROLES, type Role } from '../model/names.ts';
import type { Client } from '../model/objects.ts';
import { type ClientFields, clientDocument, clientText } from './client-file.ts';
import { addNewCommand } from './client-new-command.ts';
import { CommandFailure } from './command-failure.ts';
import { RENEWAL } from './connection-failure.ts';
import { type Format, formatOption, print, printJson, visibleLine } from './output.ts';
import {
  addOptionalServerOptions,
  addServerOptions,
  getFrom,
  postTo,
  type ServerOptions,
  serverIn,
} from './server-connection.ts';
import { readNamedFile } from './user-directory.ts';

interface Adding extends Partial<ServerOptions>, ClientFields {
  readonly print?: true;
}

/** Adds the command with its subcommands. Exit code 0: done; 3: could not run, or the controller refused. */
export function addClientCommand(program: Command): void {
  const client = program.command('client').description('register clients of the REST interface, and list them');
  const add = client
    .command('add')
    .description(
      'register a certificate with a running controller (--server, TREELINE_SERVER), or else print the client file to commit',
    )
    .argument('<certificate>', "the client's certificate, PEM")
    .addOption(new Option('--role <role>', 'what it may do').choices(ROLES).makeOptionMandatory())
    .option('--description <words>', "who it is; default: the certificate's common name")
    .option('--tenant <name>', 'the tenant that it belongs to')
    .option('--tag <tag...>', 'tags, for proxies')
    .option('--print', 'print the client file, and register nothing, also where TREELINE_SERVER is set');
  addOptionalServerOptions(add).action(addClient);
  addNewCommand(client);
  const list = client
    .command('list')
    .description('show the clients that a running controller knows')
    .addOption(new Option('--role <role>', 'only these').choices(ROLES))
    .addOption(formatOption());
  addServerOptions(list).action(listClients);
}

async function addClient(certificate: string, options: Adding, command: Command): Promise<void> {
  const read = await readCertificate(certificate);
  const client = clientDocument(read, options);
  const fault = useFault(read, 'client', Date.now());
  if (fault !== undefined) {
    process.stderr.write(`# warning: ${certificate} ${fault}, and lets nobody in; ${RENEWAL}\n`);
  }
  const server = options.print ? undefined : serverIn(options);
  if (server !== undefined) {
    const answer = (await postTo(server, '/clients', client)) as { readonly message: string };
    if (command.getOptionValueSource('server') === 'env') {
      const where = `${server.server}, which TREELINE_SERVER names`;
      process.stderr.write(`# registered with ${where}; --print prints the file instead\n`);
    }
    print(`${answer.message}: ${client.serial}`);
    return;
  }
  process.stderr.write(`# save this as clients/${client.serial}.yaml, and commit it\n`);
  process.stdout.write(clientText(client));
}

async function listClients(options: ServerOptions & { readonly role?: Role; readonly format: Format }): Promise<void> {
  const query = options.role === undefined ? '' : `?role=${options.role}`;
  const { result } = (await getFrom(options, `/clients${query}`)) as { readonly result: readonly Client[] };
  if (options.format === 'json') printJson(result);
  else for (const { serial, role, description } of result) print(`${serial}  ${role}  ${visibleLine(description)}`);
}

async function readCertificate(file: string): Promise<X509Certificate> {
  const bytes = await readNamedFile(file);
  try {
    return new X509Certificate(bytes);
  } catch (error) {
    throw new CommandFailure(
      `${file} holds no certificate, in PEM or DER: give the client's certificate, not its key`,
      {
        cause: error,
      },
    );
  }
}
