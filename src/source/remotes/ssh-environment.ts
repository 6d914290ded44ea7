// How git is started where it is to use ssh.
import { inherit } from '../../git/git-environment.ts';

const ALIVE_CHECKS = 4;
/** How ssh finds an agent or a ticket. */
const INHERITED: readonly string[] = ['SSH_AUTH_SOCK', 'KRB5CCNAME'];

/**
 * Returns what is added to {@link gitEnvironment}: ssh's own settings count, git's do not. Nobody is there to be asked.
 * `silenceMs` is how long connecting, and silence of the server, may last.
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
    ...inherit(INHERITED),
    GIT_SSH_COMMAND: `${command} ${options.map((option) => `-o ${option}`).join(' ')}`,
    GIT_SSH_VARIANT: 'ssh',
    GIT_ALLOW_PROTOCOL: 'ssh',
  };
}
