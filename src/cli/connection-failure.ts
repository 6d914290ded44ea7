// Reads the certificate with which a controller is asked, and describes why it could not be: the cause and what to do.
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { ControllerRefusal } from '../agents/controller-client.ts';
import { useFault } from '../api/tls/certificate-use.ts';
import { reasonOf } from '../base/wording.ts';
import { CommandFailure } from './command-failure.ts';
import { fromUserDirectory, readNamedFile } from './user-directory.ts';

/** The files of a request as the person named them, or their texts. */
interface Credentials {
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
}

/** The names under which the person has given the address and the authority: options, or keys of settings. */
interface GivenAs {
  readonly server: string;
  readonly ca: string;
}

type Describe = (error: NodeJS.ErrnoException, files: Credentials, given: GivenAs) => string;

const OPTIONS: GivenAs = { server: '--server', ca: '--ca' };

const otherAuthority: Describe = ({ message }, { ca }, given) =>
  `${ca} is not the authority that signed the server's certificate (${message}): give the right one with ${given.ca}`;

/** Mostly TLS says no more than that it ended, and what can be seen here is said before what can only be guessed. */
const endedByServer: Describe = ({ message }, { cert }) => {
  const fault = faultOfClient(cert);
  if (fault !== undefined) return `it ended the connection (${message}): ${fault}`;
  return (
    `it ended the connection (${message}), as it does with a certificate that it does not let in: ${cert} has to come from an ` +
    'authority in api.tls.clientCa of the controller, and not be revoked'
  );
};

const BY_CODE: Readonly<Record<string, Describe>> = {
  ECONNREFUSED: ({ message }, _, { server }) =>
    `nothing listens there (${message}): start the controller (treeline serve, or treeline demo), or check ${server}`,
  ENOTFOUND: ({ message }, _, { server }) => `there is no such host (${message}): check ${server}`,
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

/** Returns what kept a request from an answer, in words, for an error of the connection. */
export function describeConnectionFailure(
  error: NodeJS.ErrnoException,
  files: Credentials,
  given: GivenAs = OPTIONS,
): string {
  // The reason of a signal is a DOMException, whose code is a number.
  const code = typeof error.code === 'string' ? error.code : '';
  if (Object.hasOwn(BY_CODE, code)) return BY_CODE[code]?.(error, files, given) ?? error.message;
  // An alert of the server, such as "tlsv13 alert certificate required".
  if (code.startsWith('ERR_SSL_') && code.includes('ALERT')) return endedByServer(error, files, given);
  return `${error.message}; check ${given.server}, ${given.ca}, and that the certificate is one that the server lets in`;
}

/**
 * Returns the same for any error of a request that a program of an operator makes. An answer of the controller has
 * words of its own.
 */
export function describeControllerFailure(error: Error, files: Credentials, given: GivenAs): string {
  return error instanceof ControllerRefusal ? error.message : describeConnectionFailure(error, files, given);
}

/** Returns why a certificate admits no client, independent of its issuer; undefined where that cannot be seen here. */
function faultOfClient(file: string): string | undefined {
  try {
    const fault = useFault(new X509Certificate(readFileSync(fromUserDirectory(file))), 'client', Date.now());
    return fault && `${file} ${fault}; ${RENEWAL}`;
  } catch {
    // It was read before the request, so that this says nothing about why that failed.
    return undefined;
  }
}

/** What to do about a certificate that admits no client. */
export const RENEWAL = 'have its authority issue another for clients ("treeline client new"), and register that';

/**
 * Returns the texts of the files. Tried here, as a request throws in the words of the TLS library where one is wrong.
 */
export async function readCredentials(files: Credentials, prefix = '--'): Promise<Credentials> {
  const [cert = '', key = '', ca = ''] = await Promise.all(
    (['cert', 'key', 'ca'] as const).map(async (name) => String(await readNamedFile(files[name], `${prefix}${name}`))),
  );
  checkCredentials(files, { cert, key, ca });
  try {
    createSecureContext({ cert, key, ca });
  } catch (error) {
    throw new CommandFailure(`${files.cert}, ${files.key} and ${files.ca} cannot be used: ${reasonOf(error)}`, {
      cause: error,
    });
  }
  return { cert, key, ca };
}

/**
 * Throws CommandFailure where a file of settings is missing, or they do not fit together. `prefix`: what their keys
 * begin with.
 */
export async function checkServerFiles(files: Credentials, prefix = 'tls.'): Promise<void> {
  await readCredentials(files, prefix);
}

/**
 * Throws CommandFailure, which names the file, where a text is no certificate or no key, or the key is that of another.
 */
function checkCredentials(files: Credentials, texts: Credentials): void {
  const certificate = certificateIn(files.cert, texts.cert);
  certificateIn(files.ca, texts.ca);
  if (!certificate.checkPrivateKey(keyIn(files.key, texts.key))) {
    throw new CommandFailure(`${files.key} is not the key of ${files.cert}: give two that were made together`);
  }
}

/** Returns the first certificate of a text. Throws CommandFailure where it holds none. */
function certificateIn(file: string, text: string): X509Certificate {
  try {
    return new X509Certificate(text);
  } catch (error) {
    const advice = 'from DER, "openssl x509 -inform DER -in FILE -out FILE" makes one';
    throw new CommandFailure(`${file} holds no certificate in PEM ("-----BEGIN CERTIFICATE-----"); ${advice}`, {
      cause: error,
    });
  }
}

function keyIn(file: string, text: string): KeyObject {
  try {
    return createPrivateKey(text);
  } catch (error) {
    throw new CommandFailure(`${file} holds no private key in PEM that can be read without a passphrase`, {
      cause: error,
    });
  }
}
