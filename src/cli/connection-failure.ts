// Reads the credentials for a controller, and describes why a request had no answer, with advice.
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { ControllerRefusal } from '../agents/controller-client.ts';
import type { ProxyTlsFiles } from '../agents/load-proxy-settings.ts';
import { useFault } from '../api/tls/certificate-use.ts';
import { reasonOf } from '../base/wording.ts';
import { CommandFailure } from './command-failure.ts';
import { fromUserDirectory, readNamedFile } from './user-directory.ts';

/** The server's certificate is from another authority. */
const OTHER_AUTHORITY = /^(?:SELF_SIGNED_CERT|DEPTH_ZERO_SELF_SIGNED|UNABLE_TO_(?:GET|VERIFY)|CERT_SIGNATURE_FAILURE)/;
/** The server has ended the connection. ALERT: such as "tlsv13 alert certificate required". */
const ENDED = /^(?:ECONNRESET|EPIPE|ERR_SSL_.*ALERT)/;

/** Returns why a request had no answer, by the error of the connection. */
export function describeConnectionFailure(error: NodeJS.ErrnoException, { cert, ca }: ProxyTlsFiles): string {
  const { message } = error;
  // The reason of a signal is a DOMException, whose code is a number.
  const code = String(error.code);
  if (code === 'ECONNREFUSED') {
    return `nothing listens there (${message}): start the controller (treeline serve, or treeline demo), or check the address`;
  }
  if (code === 'ENOTFOUND') return `there is no such host (${message}): check the address`;
  if (code === 'CERT_HAS_EXPIRED') {
    return "the server's certificate has expired: renew it, and check the clock of this machine";
  }
  if (OTHER_AUTHORITY.test(code)) return `${ca} is not the authority that signed the server's certificate (${message})`;
  if (!ENDED.test(code)) return `${message}; check the address, ${ca} and ${cert}`;
  // TLS usually only ends the connection, without a reason.
  const fault = faultOfClient(cert);
  if (fault !== undefined) return `it ended the connection (${message}): ${fault}`;
  return (
    `it ended the connection (${message}), as it does with a certificate that it does not admit: ${cert} has to come from an ` +
    'authority in api.tls.clientCa of the controller, and not be revoked'
  );
}

/** Like describeConnectionFailure, for `treeline proxy` and `treeline render`, whose answer may also be a refusal. */
export function describeControllerFailure(error: Error, files: ProxyTlsFiles): string {
  return error instanceof ControllerRefusal ? error.message : describeConnectionFailure(error, files);
}

/** Returns why a certificate admits no client, apart from its issuer; undefined if no reason is visible here. */
export function faultOfClient(file: string): string | undefined {
  try {
    const fault = useFault(new X509Certificate(readFileSync(fromUserDirectory(file))), 'client', Date.now());
    return fault && `${file} ${fault}; ${RENEWAL}`;
  } catch {
    // The request read the file before, so an unreadable file is not the cause.
    return undefined;
  }
}

/** What to do about a certificate that admits no client. */
export const RENEWAL = 'have its authority issue another for clients ("treeline client new"), and register that';

/**
 * Resolves with the texts of the files. Throws CommandFailure if one is missing or invalid, or if key and certificate
 * do not match. `prefix`: the prefix of the user's names for them.
 */
export async function readCredentials(files: ProxyTlsFiles, prefix = '--'): Promise<ProxyTlsFiles> {
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
