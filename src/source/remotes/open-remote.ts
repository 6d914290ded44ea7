// Opens the remote of a URL by the way that it names: HTTP, ssh or a local path.
import type { RepositoryAccess } from '../../model/settings.ts';
import { parseRepositoryUrl } from '../repository-url.ts';
import type { SourceLimits } from '../source-limits.ts';
import { NO_ACCESS } from './http-access.ts';
import { createHttpTransport } from './http-transport.ts';
import { createLocalTransport } from './local-transport.ts';
import type { Remote } from './remote.ts';
import { createSmartRemote } from './smart-remote.ts';
import { createSshRemote } from './ssh-remote.ts';

/** The repository, and the access to one that is reached over HTTP. */
interface RemotePlace {
  readonly url: string;
  /** Default: anonymous. */
  readonly access?: RepositoryAccess;
}

/** Returns the remote. Sends no request yet. Throws SourceError for an invalid URL. */
export function openRemote(
  { url, access = NO_ACCESS }: RemotePlace,
  { answerBytesMax, objectsMax, silenceMs }: SourceLimits,
): Remote {
  const place = parseRepositoryUrl(url);
  const limits = { packBytesMax: answerBytesMax, objectsMax };
  switch (place.kind) {
    case 'local':
      return createSmartRemote(createLocalTransport({ path: place.path, answerBytesMax }), limits);
    case 'http':
      return createSmartRemote(createHttpTransport({ url: place.url, access, answerBytesMax, silenceMs }), limits);
    case 'ssh':
      return createSshRemote({ url: place.url, ...limits, silenceMs });
  }
}
