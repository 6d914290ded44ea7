// A commit as Git's bytes. Checks once more that nobody can forge a header through a name: git's own tools would not write
// such a commit, but take it.
import { invariant } from '../model/invariant.ts';

export interface Person {
  readonly name: string;
  readonly email: string;
}

export interface CommitContent {
  readonly tree: string;
  readonly parent: string;
  readonly author: Person;
  readonly committer: Person;
  /** Since 1970. */
  readonly seconds: number;
  /** Newlines at its end become one. */
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

/** Throws where the name or address would end earlier, or later, than it seems to. */
export function checkPerson(person: Person): void {
  for (const text of [person.name, person.email]) {
    const isPlain = !/[<>\0\r\n]/.test(text) && text.isWellFormed() && text.trim() !== '';
    invariant(isPlain, `${JSON.stringify(text)} can stand in the header of a commit`);
  }
}

function signatureOf({ name, email }: Person): string {
  return `${name} <${email}>`;
}
