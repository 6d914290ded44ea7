// Builds the environment of git and its hooks. A hook is a program of the repository's owner, so it gets only the
// variables that git itself needs: no password, no secret of another program.
import { devNull } from 'node:os';

/** Needed to find programs, the home of the user, and a directory for temporary files. */
const INHERITED: readonly string[] = ['PATH', 'HOME', 'USER', 'LOGNAME', 'TMPDIR', 'TZ', 'GIT_EXEC_PATH'];

/**
 * Returns the environment. Settings of the user and of the machine are ignored, so that git behaves the same for every
 * user; the repository's own apply. Variables such as GIT_DIR, which git sets for hooks, would select another
 * repository.
 */
export function gitEnvironment(): NodeJS.ProcessEnv {
  return {
    ...inherit(INHERITED),
    LC_ALL: 'C',
    GIT_CONFIG_GLOBAL: devNull,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    // refs/replace must not substitute other objects.
    GIT_NO_REPLACE_OBJECTS: '1',
  };
}

/**
 * Makes git fail where it would fetch an object that a partial clone lacks: it would run the programs that the
 * repository's configuration names.
 */
export const OFFLINE_ENVIRONMENT: Readonly<Record<string, string>> = { GIT_NO_LAZY_FETCH: '1', GIT_ALLOW_PROTOCOL: '' };

/** Returns those of the variables that are set in this process. */
export function inherit(names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value] as const];
    }),
  );
}
