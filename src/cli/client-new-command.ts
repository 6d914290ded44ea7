// `treeline client new`: creates a key, a certificate signed by the authority of `treeline pki init`, and the client's
// file.
import { X509Certificate } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { type Command, Option } from 'commander';
import { issueClientCertificate } from '../development-pki.ts';
import { ROLES } from '../model/names.ts';
import { type ClientFields, clientDocument, clientText } from './client-file.ts';
import { CommandFailure } from './command-failure.ts';
import { filesOf, readAuthority, requireNew, writePair } from './credential-files.ts';
import { print } from './output.ts';
import { fromUserDirectory } from './user-directory.ts';

/** Names a file, and nothing but a file: no path, no hidden one. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

interface Making extends ClientFields {
  readonly pki: string;
  readonly repository?: string;
}

/** Adds the subcommand. Exit code 0: made; 3: could not run, or something is there already. */
export function addNewCommand(client: Command): void {
  client
    .command('new')
    .description("make a client's key and certificate, signed by the authority of `treeline pki init`")
    .argument('<name>', 'who it is: the common name, and the name of the files')
    .addOption(new Option('--role <role>', 'what it may do').choices(ROLES).makeOptionMandatory())
    .option('--pki <directory>', 'where the authority is, and the files go', 'pki')
    .option('--repository <directory>', 'a clone of the stacks repository, into which the client file is written')
    .option('--description <words>', 'who it is, for people; default: the name')
    .option('--tenant <name>', 'the tenant that it belongs to')
    .option('--tag <tag...>', 'tags, for proxies')
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
    process.stdout.write(clientText(client));
    return;
  }
  await writeClientFile(join(target, path), clientText(client));
  print(`${shown}  ${name}, for a year, with its key beside it`);
  print(`${relative(fromUserDirectory('.'), join(target, path))}  registers it as ${fields.role}: commit it`);
}

/** A serial is drawn anew each time, so that nothing can be there. */
async function writeClientFile(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text, { flag: 'wx' });
}
