// Resolves paths against the directory in which the user called the command.
import { resolve } from 'node:path';

/**
 * Returns an absolute path: relative ones begin where the user stands. npm runs a script of this package in its root
 * and tells the user's folder in `INIT_CWD`; an installed command simply runs there.
 */
export function fromUserDirectory(path: string): string {
  const isOwnScript = process.env.npm_package_name === 'treeline' && process.env.npm_lifecycle_event !== undefined;
  return resolve(isOwnScript ? (process.env.INIT_CWD ?? process.cwd()) : process.cwd(), path);
}
