// `treeline pki`: an authority and a server certificate, for those who have none. Who has an authority needs none of it.
import { relative } from 'node:path';
import type { Command } from 'commander';
import { createAuthority, issueServerCertificate, LOCAL_HOSTS } from '../development-pki.ts';
import { CommandFailure } from './command-failure.ts';
import { AUTHORITY, filesOf, makePrivateFolder, requireNew, SERVER, writePair } from './credential-files.ts';
import { print } from './output.ts';
import { fromUserDirectory } from './user-directory.ts';

/** A DNS name of RFC 1123, or an address; a certificate with anything else matches no connection. */
const HOST =
  /^(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*|[0-9A-Fa-f:.]+)$/;

/** Adds the command. Exit code 0: made; 3: could not run, or something is there already. */
export function addPkiCommand(program: Command): void {
  const pki = program.command('pki').description('make certificates, where you have no authority of your own');
  pki
    .command('init')
    .description("make an authority and the server's certificate; nothing that is there is written over")
    .argument('[directory]', 'where they go; only its owner may enter it', 'pki')
    .option('--host <name...>', `by which the server is reached; default: ${LOCAL_HOSTS.join(', ')}`)
    .addHelpText(
      'after',
      '\n"treeline client new" makes certificates for clients. ca.key signs all of them: keep it safe.',
    )
    .action(initPki);
}

async function initPki(
  directory: string,
  { host = LOCAL_HOSTS }: { readonly host?: readonly string[] },
): Promise<void> {
  const wrong = host.find((name) => !HOST.test(name));
  if (wrong !== undefined) throw new CommandFailure(`"${wrong}" is no name or address of a host`);
  const folder = fromUserDirectory(directory);
  const [authorityFiles, serverFiles] = [filesOf(folder, AUTHORITY), filesOf(folder, SERVER)];
  requireNew(authorityFiles, serverFiles);
  await makePrivateFolder(folder);
  const now = Date.now();
  const authority = await createAuthority({ now, commonName: 'Treeline CA' });
  await writePair(authorityFiles, authority);
  await writePair(serverFiles, await issueServerCertificate(authority, { now, hosts: host }));
  const shown = (path: string): string => relative(fromUserDirectory('.'), path);
  print(
    `${shown(authorityFiles.cert)}  the authority, for ten years; its key ${shown(authorityFiles.key)} signs all others`,
  );
  print(`${shown(serverFiles.cert)}  the server, for a year, reached by ${host.join(', ')}`);
}
