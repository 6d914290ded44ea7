// Writes the author, the subject and the trailers of a commit. A client cannot forge the author, and the trailers lead
// back to the request.
import type { Client } from '../../model/objects.ts';

interface CommitText {
  readonly author: { readonly name: string; readonly email: string };
  readonly message: string;
}

const NAME_LENGTH_MAX = 80;

/** Returns author and message of a write. Nothing that a client's record says can begin another line or header. */
export function commitText(
  subject: string,
  { by, requestId }: { readonly by: Client; readonly requestId: string },
): CommitText {
  const trailers = [`Treeline-Client: ${by.serial}`, `Treeline-Role: ${by.role}`, `Treeline-Request-Id: ${requestId}`];
  return {
    author: { name: authorName(by), email: `${by.serial.toLowerCase()}@client.treeline.invalid` },
    message: `${oneLine(subject)}\n\n${trailers.join('\n')}\n`,
  };
}

function authorName({ description, serial }: Client): string {
  const clean = oneLine(oneLine(description).replace(/[<>]/g, '').slice(0, NAME_LENGTH_MAX));
  // Git itself refuses a name without any letter or digit.
  return /[\p{L}\p{N}]/u.test(clean) ? clean : `client ${serial}`;
}

/** Control characters, line ends of every kind among them, become spaces, and so does half of a surrogate pair. */
function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Cs}\s]+/gu, ' ').trim();
}
