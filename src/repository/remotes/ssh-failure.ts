// Translates messages of git and ssh about unreachable repositories into advice.
import type { GitFailure } from '../git/git-process.ts';
import { SourceError } from '../source.ts';

/** The first match counts: ssh's messages come before those that git derives from them. */
const ADVICE: readonly (readonly [RegExp, string])[] = [
  [/git-(upload|receive)-pack: (command )?not found/, 'git is not installed on that host, or not on the PATH there'],
  [
    /: (line )?\d+: \S+: (command )?not found|cannot run /,
    'ssh is not installed, or not on the PATH: install openssh-client',
  ],
  [
    /HOST IDENTIFICATION HAS CHANGED/i,
    'the key of the host is another than before: find out why, and only then replace it in ~/.ssh/known_hosts',
  ],
  [
    /Host key verification failed/i,
    'the key of the host is not known here: compare it with the one that the host publishes, and add it to ~/.ssh/known_hosts of the user that runs Treeline ("ssh-keyscan HOST" prints it)',
  ],
  [
    /Permission denied \(|Too many authentication failures/i,
    'the host does not accept the key: give the user that runs Treeline a key in ~/.ssh without a passphrase, and allow its public half to read the repository',
  ],
  [/Could not resolve hostname/i, 'the name service does not know the host: check repository.url'],
  [/Connection refused/i, 'nothing listens there: check host and port, and whether the server runs'],
  [/timed out|Timeout, server/i, 'the host does not answer: it is asked again later'],
  [/No route to host|Network is unreachable/i, 'there is no way to the host: check the network of this machine'],
  [
    /not found|does not appear to be a git repository|not exist|no such remote ref|access denied|not authorized/i,
    'it is not there, or not to be seen with this key: check repository.url, and what the key may read',
  ],
  [
    /Connection (closed|reset)|kex_exchange_identification|hung up|early EOF|disconnect/i,
    'the connection broke off: it is asked again later',
  ],
];

/** The answers of hosts to a key that may read, but not write. */
export const NOT_ALLOWED =
  /not allowed|read[- ]?only|permission to .* denied|write access|access denied|unauthorized|forbidden/i;

/** Returns git's failure as a message for the operator; `done` is the operation that failed. */
export function sshFailure(name: string, failure: GitFailure, done: 'read' | 'pushed to' = 'read'): SourceError {
  const advice = ADVICE.find(([pattern]) => pattern.test(failure.complaint))?.[1];
  if (advice === undefined) return failure;
  return new SourceError(`"${name}" cannot be ${done}: ${advice} (${oneLine(failure.complaint)})`, { cause: failure });
}

/** Returns the text without git's own advice, which the message replaces. */
function oneLine(complaint: string): string {
  return complaint
    .replace(/Please make sure you have the correct access rights\s+and the repository exists\./, '')
    .replace(/\s+/g, ' ')
    .trim();
}
