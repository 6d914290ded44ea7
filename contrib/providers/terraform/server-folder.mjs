// The folder of one server: its state, its variables, copies of its module, and facts about its runs.
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { CallFailure } from '../exec-call/call-failure.mjs';
import { requiredSetting } from '../exec-call/environment.mjs';
import { readJson, writeJson } from '../exec-call/json-file.mjs';

/**
 * @typedef {import('../exec-call/answer-call.mjs').Properties} Properties
 * @typedef {object} ServerFacts
 * @property {string} module its name
 * @property {string} copy the folder of the last used copy of the module
 * @property {Properties} wanted the properties that the last create or update began to apply
 * @property {Properties | null} applied those of the last success
 */

export class ServerFolder {
  /** @param {string} name */
  constructor(name) {
    this.path = join(stateFolder(), 'servers', name);
    this.lock = join(this.path, 'lock');
    this.state = join(this.path, 'terraform.tfstate');
    this.copies = join(this.path, 'modules');
    /** All servers share this lock. */
    this.initialiseLock = join(stateFolder(), 'initialise.lock');
    this.pluginCache = join(stateFolder(), 'plugins');
  }

  exists() {
    return existsSync(this.path);
  }

  /**
   * Returns true if the state has no managed resources and no run may be changing it. A run that replaces the only
   * resource leaves the state empty for a while.
   */
  isEmpty() {
    if (existsSync(join(this.path, '.terraform.tfstate.lock.info'))) return false;
    /** @type {{ readonly resources?: readonly { readonly mode: string }[] } | undefined} */
    const state = readJson(this.state);
    return !state?.resources?.some(({ mode }) => mode === 'managed');
  }

  make() {
    mkdirSync(this.copies, { recursive: true, mode: 0o700 });
    mkdirSync(this.pluginCache, { recursive: true, mode: 0o700 });
  }

  remove() {
    rmSync(this.path, { recursive: true, force: true });
  }

  /** @returns {ServerFacts | undefined} */
  facts() {
    return readJson(join(this.path, 'server.json'));
  }

  /** @param {ServerFacts} facts */
  note(facts) {
    writeJson(join(this.path, 'server.json'), facts);
  }

  /**
   * Returns the path of a file with variables: those of the last apply, or those of the next plan.
   * @param {'current' | 'next'} which
   */
  variables(which) {
    return join(this.path, `${which}.tfvars.json`);
  }

  /**
   * @param {'current' | 'next'} which
   * @param {{ readonly name: string, readonly properties: Properties }} variables
   */
  writeVariables(which, variables) {
    writeJson(this.variables(which), variables);
  }

  /** @param {string} copy */
  removeOtherCopies(copy) {
    const others = readdirSync(this.copies).map((name) => join(this.copies, name));
    for (const path of others) if (path !== copy) rmSync(path, { recursive: true, force: true });
  }
}

/** Returns the folder of all states. Throws CallFailure `failed` if the setting is missing or relative. */
export function stateFolder() {
  const folder = requiredSetting('TREELINE_TERRAFORM_STATE');
  if (isAbsolute(folder)) return folder;
  throw new CallFailure('failed', `TREELINE_TERRAFORM_STATE is "${folder}", and has to be an absolute path`);
}
