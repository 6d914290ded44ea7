// Reads the certificate with which a controller is asked, and describes why a request had no answer: the cause and what
// to do.
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { ControllerRefusal } from '../agents/controller-client.ts';
import { useFault } from '../api/tls/certificate-use.ts';
import { reasonOf } from '../base/wording.ts';
import { CommandFailure } from './command-failure.ts';
import { fromUserDirectory, readNamedFile } from './user-directory.ts';

/** The files of a request as the user named them, or their texts. */
interface Credentials {
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
}

type Describe = (error: NodeJS.ErrnoException, files: Credentials) => string;

const otherAuthority: Describe = ({ message }, { ca }) =>
  `${ca} is not the authority that signed the server's certificate (${message})`;

/** Mostly TLS says only that the connection ended. */
const endedByServer: Describe = ({ message }, { cert }) => {
  const fault = faultOfClient(cert);
  if (fault !== undefined) return `it ended the connection (${message}): ${fault}`;
  return (
    `it ended the connection (${message}), as it does with a certificate that it does not admit: ${cert} has to come from an ` +
    'authority in api.tls.clientCa of the controller, and not be revoked'
  );
};

const BY_CODE: Readonly<Record<string, Describe>> = {
  ECONNREFUSED: ({ message }) =>
    `nothing listens there (${message}): start the controller (treeline serve, or treeline demo), or check the address`,
  ENOTFOUND: ({ message }) => `there is no such host (${message}): check the address`,
  SELF_SIGNED_CERT_IN_CHAIN: otherAuthority,
  DEPTH_ZERO_SELF_SIGNED_CERT: otherAuthority,
  UNABLE_TO_GET_ISSUER_CERT: otherAuthority,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: otherAuthority,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: otherAuthority,
  CERT_SIGNATURE_FAILURE: otherAuthority,
  CERT_HAS_EXPIRED: () => "the server's certificate has expired: renew it, and check the clock of this machine",
  ECONNRESET: endedByServer,
  EPIPE: endedByServer,
};

/** Returns why a request had no answer, for an error of the connection. */
export function describeConnectionFailure(error: NodeJS.ErrnoException, files: Credentials): string {
  // The reason of a signal is a DOMException, whose code is a number.
  const code = typeof error.code === 'string' ? error.code : '';
  if (Object.hasOwn(BY_CODE, code)) return BY_CODE[code]?.(error, files) ?? error.message;
  // An alert of the server, such as "tlsv13 alert certificate required".
  if (code.startsWith('ERR_SSL_') && code.includes('ALERT')) return endedByServer(error, files);
  return `${error.message}; check the address, ${files.ca} and ${files.cert}`;
}

/** Returns the same for a request of `treeline proxy` or `treeline render`, which may have a refusal as its answer. */
export function describeControllerFailure(error: Error, files: Credentials): string {
  return error instanceof ControllerRefusal ? error.message : describeConnectionFailure(error, files);
}

/** Returns why a certificate admits no client, independent of its issuer; undefined if that cannot be seen here. */
function faultOfClient(file: string): string | undefined {
  try {
    const fault = useFault(new X509Certificate(readFileSync(fromUserDirectory(file))), 'client', Date.now());
    return fault && `${file} ${fault}; ${RENEWAL}`;
  } catch {
    // The request has read it before, so this is not why that failed.
    return undefined;
  }
}

/** What to do about a certificate that admits no client. */
export const RENEWAL = 'have its authority issue another for clients ("treeline client new"), and register that';

/**
 * Returns the texts of the files. Throws CommandFailure if one is missing or is not what its name says, or if they do
 * not fit together. `prefix`: the beginning of the names under which the user has given them.
 */
export async function readCredentials(files: Credentials, prefix = '--'): Promise<Credentials> {
  const [cert = '', key = '', ca = ''] = await Promise.all(
    (['cert', 'key', 'ca'] as const).map(async (name) => String(await readNamedFile(files[name], `${prefix}${name}`))),
  );
  const certificate = parsed(files.cert, 'certificate', () => new X509Certificate(cert));
  parsed(files.ca, 'certificate', () => new X509Certificate(ca));
  if (!certificate.checkPrivateKey(parsed(files.key, 'private key', () => createPrivateKey(key))))
    throw new CommandFailure(`${files.key} is not the key of ${files.cert}: give two that were made together`);
  return { cert, key, ca };
}

function parsed<Value>(file: string, what: string, parse: () => Value): Value {
  try {
    return parse();
  } catch (error) {
    throw new CommandFailure(`${file} contains no usable ${what} in PEM (${reasonOf(error)})`, { cause: error });
  }
}
