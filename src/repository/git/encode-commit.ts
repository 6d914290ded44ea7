// Encodes a commit as Git's bytes. Rejects names that would forge a header: git's own tools would not write such a
// commit, but accept it.
import { invariant } from '../../base/invariant.ts';

/** The author or committer of a commit. */
export interface Person {
  readonly name: string;
  readonly email: string;
}

interface CommitContent {
  readonly tree: string;
  readonly parent: string;
  readonly author: Person;
  readonly committer: Person;
  /** Seconds since 1970. */
  readonly seconds: number;
  /** Trailing newlines become one. */
  readonly message: string;
}

/** Returns the bytes of a commit whose times are in UTC. */
export function encodeCommit({ tree, parent, author, committer, seconds, message }: CommitContent): Buffer {
  checkPerson(author);
  checkPerson(committer);
  invariant(Number.isSafeInteger(seconds) && seconds >= 0, 'a commit has a time');
  const text = message.replace(/\n+$/, '');
  invariant(text.trim() !== '' && !text.includes('\0') && text.isWellFormed(), 'a commit has a message that is a text');
  const lines = [
    `tree ${tree}`,
    `parent ${parent}`,
    `author ${signatureOf(author)} ${seconds} +0000`,
    `committer ${signatureOf(committer)} ${seconds} +0000`,
    '',
    text,
    '',
  ];
  return Buffer.from(lines.join('\n'));
}

/** Throws if the name or address is empty, or contains characters that would break the header of a commit. */
export function checkPerson(person: Person): void {
  for (const text of [person.name, person.email]) {
    const isPlain = !/[<>\0\r\n]/.test(text) && text.isWellFormed() && text.trim() !== '';
    invariant(isPlain, `${JSON.stringify(text)} can stand in the header of a commit`);
  }
}

function signatureOf({ name, email }: Person): string {
  return `${name} <${email}>`;
}
