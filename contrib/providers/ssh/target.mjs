// Returns the arguments with which ssh connects to the machine of a call, and to no other.
import { existsSync } from 'node:fs';
import { CallFailure } from '../exec-call/call-failure.mjs';
import { requiredSetting, secondsSetting } from '../exec-call/environment.mjs';

/** @typedef {import('../exec-call/answer-call.mjs').Call} Call */

const CONNECT_SECONDS = 10;
const ADDRESS_PROPERTY = 'address';
/** A host name, or an IPv4 or IPv6 address. It cannot look like an option of ssh. */
const HOST = /^[A-Za-z0-9:][A-Za-z0-9.:_-]{0,252}$/;
const PORT = /^[1-9][0-9]{0,4}$/;

/**
 * Returns the arguments of ssh up to the command. Throws CallFailure `failed` if a setting or the address is wrong.
 * @param {Call} call
 * @returns {readonly string[]}
 */
export function targetOf({ properties, resource }) {
  const property = process.env.TREELINE_SSH_ADDRESS_PROPERTY || ADDRESS_PROPERTY;
  const host = properties[property];
  if (typeof host !== 'string' || !HOST.test(host)) {
    throw new CallFailure(
      'failed',
      `the property ${property} of ${resource} is not a host: ${JSON.stringify(host) ?? 'missing'}`,
    );
  }
  const port = process.env.TREELINE_SSH_PORT || '22';
  if (!PORT.test(port)) throw new CallFailure('failed', `TREELINE_SSH_PORT is "${port}", and has to be a port`);
  const connectSeconds = Math.ceil(secondsSetting('TREELINE_SSH_CONNECT_SECONDS', CONNECT_SECONDS));
  const options = [
    // ssh asks no questions, accepts only known hosts and uses only the configured key.
    ...['BatchMode=yes', 'StrictHostKeyChecking=yes', 'UpdateHostKeys=no', 'VerifyHostKeyDNS=no'],
    ...[`UserKnownHostsFile=${fileSetting('TREELINE_SSH_KNOWN_HOSTS')}`, 'GlobalKnownHostsFile=none'],
    ...['IdentitiesOnly=yes', 'IdentityAgent=none', 'PasswordAuthentication=no', 'KbdInteractiveAuthentication=no'],
    // ssh notices a lost connection after 15 s.
    ...[`ConnectTimeout=${connectSeconds}`, 'ServerAliveInterval=5', 'ServerAliveCountMax=3'],
    ...['ClearAllForwardings=yes', 'ForwardAgent=no', 'PermitLocalCommand=no', 'ControlMaster=no', 'ControlPath=none'],
    ...['RequestTTY=no', 'EscapeChar=none', 'LogLevel=ERROR'],
  ];
  const config = process.env.TREELINE_SSH_CONFIG || 'none';
  return [
    ...['-F', config, '-i', fileSetting('TREELINE_SSH_KEY'), '-p', port, '-l', requiredSetting('TREELINE_SSH_USER')],
    ...options.flatMap((option) => ['-o', option]),
    ...['--', host],
  ];
}

/** @param {string} name */
function fileSetting(name) {
  const path = requiredSetting(name);
  if (/^\/[^\s"%]*$/.test(path) && existsSync(path)) return path;
  throw new CallFailure(
    'failed',
    `${name} is "${path}": it has to be the absolute path of an existing file, without blanks`,
  );
}
