// `treeline pki`: creates an authority and a server certificate, for users who have no authority.
import { existsSync } from 'node:fs';
import { relative } from 'node:path';
import type { Command } from 'commander';
import { createAuthority, issueServerCertificate, LOCAL_HOSTS } from '../base/development-pki.ts';
import { CommandFailure } from './command-failure.ts';
import {
  AUTHORITY_CREDENTIAL,
  type CredentialFiles,
  filesOf,
  makePrivateFolder,
  readAuthority,
  requireNew,
  SERVER_CREDENTIAL,
  writePair,
} from './credential-files.ts';
import { print } from './output.ts';
import { fromUserDirectory } from './user-directory.ts';

/** A DNS name (RFC 1123) or an address. A certificate with anything else matches no connection. */
const HOST =
  /^(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*|[0-9A-Fa-f:.]+)$/;

/** Adds the command. Exit code 0: created; 3: could not run, or a file exists already. */
export function addPkiCommand(program: Command): void {
  const pki = program.command('pki').description('create certificates if you have no authority');
  pki
    .command('init')
    .description('create an authority and a certificate for the server')
    .argument('[directory]', 'a folder that only its owner may enter', 'pki')
    .option('--host <name...>', `names of the server; default: ${LOCAL_HOSTS.join(', ')}`)
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
  if (wrong !== undefined) throw new CommandFailure(`"${wrong}" is not a host name or address`);
  const folder = fromUserDirectory(directory);
  const [authorityFiles, serverFiles] = [filesOf(folder, AUTHORITY_CREDENTIAL), filesOf(folder, SERVER_CREDENTIAL)];
  requireNew(serverFiles);
  const isNew = !existsSync(authorityFiles.key) || !existsSync(authorityFiles.cert);
  if (isNew) await makeAuthority(folder, authorityFiles);
  const authority = await readAuthority(folder);
  await writePair(serverFiles, await issueServerCertificate(authority, { now: Date.now(), hosts: host }));
  const shown = (path: string): string => relative(fromUserDirectory('.'), path);
  const authorityLine = isNew
    ? `the authority, for ten years; its key ${shown(authorityFiles.key)} signs all others`
    : 'the authority that was there already';
  print(`${shown(authorityFiles.cert)}  ${authorityLine}`);
  print(`${shown(serverFiles.cert)}  the server, for a year, reached by ${host.join(', ')}`);
}

async function makeAuthority(folder: string, files: CredentialFiles): Promise<void> {
  requireNew(files);
  await makePrivateFolder(folder);
  await writePair(files, await createAuthority({ now: Date.now(), commonName: 'Treeline CA' }));
}
