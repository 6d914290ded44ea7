// Whole controllers on a few files, for tests of what is answered about their progress.
import { answerOf } from '../reconcile/build.ts';
import { Core, type CoreOptions } from '../reconcile/core.ts';

const TREE = {
  'tree.yaml': 'name: global\ntype: common\n',
  'clients/A1.yaml': 'role: administrator\ndescription: Ada\n',
};
const MANY = { percent: 100, least: 100, most: 100 };

export type Files = Readonly<Record<string, string>>;
export type Script = Core['provider']['script'];

/** Resolves with a controller that follows these files, and has done what it could at once. */
export async function coreOn(files: Files, script: Script = () => undefined, options: CoreOptions = {}): Promise<Core> {
  const core = new Core({ budget: MANY, ...options });
  core.provider.script = script;
  core.source.commit({ ...TREE, ...files });
  await core.poll();
  return core;
}

/** Every server fails to be created. */
export const failing: Script = ({ operation }) =>
  operation === 'create' ? Promise.resolve(answerOf('failed', { message: 'no such image' })) : undefined;

/** A time as answers have it. */
export const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
