// How git is started where it is to use ssh.
import { devNull } from 'node:os';

const ALIVE_CHECKS = 4;

/**
 * Returns the environment: git's own settings do not count, so that it does the same for every user; ssh's do. Nobody is
 * there to be asked. `silenceMs` is how long connecting, and silence of the server, may last.
 */
export function sshEnvironment(silenceMs: number): Readonly<Record<string, string>> {
  const seconds = Math.max(1, Math.ceil(silenceMs / 1000));
  const options = [
    'BatchMode=yes',
    `ConnectTimeout=${seconds}`,
    `ServerAliveInterval=${Math.ceil(seconds / ALIVE_CHECKS)}`,
    `ServerAliveCountMax=${ALIVE_CHECKS}`,
    // A connection that others share would outlive git.
    'ControlMaster=no',
  ];
  const command = process.env.GIT_SSH_COMMAND || 'ssh';
  return {
    GIT_SSH_COMMAND: `${command} ${options.map((option) => `-o ${option}`).join(' ')}`,
    GIT_SSH_VARIANT: 'ssh',
    GIT_ALLOW_PROTOCOL: 'ssh',
    GIT_CONFIG_GLOBAL: devNull,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
  };
}
