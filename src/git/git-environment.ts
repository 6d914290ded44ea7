// The environment that git and its hooks are started with. A hook is a program of whoever owns the repository, so nothing
// of this process gets there that git itself does not need: no password, no secret of another program.
import { devNull } from 'node:os';

/** What programs need to find one another, the home of the user, and a place for temporary files. */
const INHERITED: readonly string[] = ['PATH', 'HOME', 'USER', 'LOGNAME', 'TMPDIR', 'TZ', 'GIT_EXEC_PATH'];

/**
 * Returns the environment. Settings of the user and of the machine do not count, so that git does the same for everybody;
 * the repository's own do. Variables such as GIT_DIR, which git sets for hooks, would lead to another repository.
 */
export function gitEnvironment(): NodeJS.ProcessEnv {
  return {
    ...inherit(INHERITED),
    LC_ALL: 'C',
    GIT_CONFIG_GLOBAL: devNull,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    // An object is what its id says, whatever refs/replace asks for.
    GIT_NO_REPLACE_OBJECTS: '1',
  };
}

/** Returns those of the variables that are set here. */
export function inherit(names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value] as const];
    }),
  );
}
