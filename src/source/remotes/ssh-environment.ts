// Builds the environment of a git that uses ssh.
import { inherit } from '../../git/git-environment.ts';

const ALIVE_CHECKS = 4;
/** Lets ssh find an agent or a ticket. */
const INHERITED: readonly string[] = ['SSH_AUTH_SOCK', 'KRB5CCNAME'];

/**
 * Returns the additions to {@link gitEnvironment}: ssh reads its own settings, git does not. ssh never prompts.
 * `silenceMs` limits connecting, and silence of the server.
 */
export function sshEnvironment(silenceMs: number): Readonly<Record<string, string>> {
  const seconds = Math.max(1, Math.ceil(silenceMs / 1000));
  const options = [
    'BatchMode=yes',
    `ConnectTimeout=${seconds}`,
    `ServerAliveInterval=${Math.ceil(seconds / ALIVE_CHECKS)}`,
    `ServerAliveCountMax=${ALIVE_CHECKS}`,
    // A shared connection would outlive git.
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
