// Explains why the settings `repository.verify` and `repository.sign` cannot work: a program that is missing, and
// writes that would be refused for their signature.
import type { Fault } from '../model/entry.ts';
import type { RepositorySettings } from '../model/settings.ts';
import { findProgram } from './load-providers.ts';
import { type PlacedFault, placedFault } from './refuse-settings.ts';

const WRITES: Fault = {
  code: 'wrong_value',
  message: 'the commits of the REST interface would not be followed: "verify" needs a signature that they do not have',
  hint: 'add "sign:" and list its key in verify.allowedSigners, or write "writes: propose" or "writes: off"',
};

/** Returns what keeps signatures from being checked and made. */
export async function faultsOfSignatures(
  { verify, sign, writes }: RepositorySettings,
  searchPath: string | undefined,
): Promise<readonly PlacedFault[]> {
  const isSigned = sign !== null && verify?.allowedSigners !== null;
  const missing = async (program: string, isNeeded: boolean, ...keys: readonly string[]) => {
    const isThere = !isNeeded || (await findProgram(program, { base: '/', searchPath })) !== program;
    return placedFault(isThere ? undefined : noProgram(program), '/repository', ...keys);
  };
  return [
    ...placedFault(verify !== null && writes === 'commit' && !isSigned ? WRITES : undefined, '/repository', 'verify'),
    ...(await missing('ssh-keygen', verify != null && verify.allowedSigners !== null, 'verify', 'allowedSigners')),
    ...(await missing('gpg', verify != null && verify.keyring !== null, 'verify', 'keyring')),
    ...(await missing('ssh-keygen', sign !== null, 'sign', 'sshKeyFile')),
  ];
}

function noProgram(program: string): Fault {
  const debian = program === 'gpg' ? 'gpg' : 'openssh-client';
  const message = `there is no program "${program}" in the PATH of this process, which this needs`;
  return { code: 'no_program', message, hint: `install it: on Debian, the package ${debian}` };
}
