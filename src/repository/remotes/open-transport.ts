// Opens the way to the repository of a URL: HTTP, ssh or a local path.
import type { RepositoryAccess } from '../../model/settings.ts';
import { parseRepositoryUrl } from '../repository-url.ts';
import { NO_ACCESS } from './http-access.ts';
import { createHttpTransport } from './http-transport.ts';
import { createLocalTransport } from './local-transport.ts';
import { createSshTransport } from './ssh-transport.ts';
import type { Transport } from './transport.ts';

/** The repository, and the access to one that is reached over HTTP. */
interface RemotePlace {
  readonly url: string;
  /** Default: anonymous. */
  readonly access?: RepositoryAccess;
}

/** The limits of one request. */
interface TransportLimits {
  /** The maximum size of an answer, in bytes. */
  readonly answerBytesMax: number;
  /** How long a remote may be silent, connecting included, in milliseconds. */
  readonly silenceMs: number;
}

/** Returns the transport. Sends no request yet. Throws SourceError for an invalid URL. */
export function openTransport(
  { url, access = NO_ACCESS }: RemotePlace,
  { answerBytesMax, silenceMs }: TransportLimits,
): Transport {
  const place = parseRepositoryUrl(url);
  switch (place.kind) {
    case 'local':
      return createLocalTransport({ path: place.path, answerBytesMax });
    case 'http':
      return createHttpTransport({ url: place.url, access, answerBytesMax, silenceMs });
    case 'ssh':
      return createSshTransport({ url: place.url, answerBytesMax, silenceMs });
  }
}
