// Answers the four operations with Terraform's plan and apply. Calls for one server run one after the other.
import { CallFailure } from '../exec-call/call-failure.mjs';
import { takeLock } from '../exec-call/file-lock.mjs';
import { withPlace } from '../exec-call/place.mjs';
import { copyModule, moduleFor } from './module-copy.mjs';
import { hasResources, observedIn, outputsIn, replacedIn } from './read-plan.mjs';
import { initialise, runTerraform } from './run-terraform.mjs';
import { ServerFolder, stateFolder } from './server-folder.mjs';

/**
 * @typedef {import('../exec-call/answer-call.mjs').Call} Call
 * @typedef {import('../exec-call/answer-call.mjs').Answer} Answer
 * @typedef {import('../exec-call/answer-call.mjs').Handlers} Handlers
 * @typedef {import('./server-folder.mjs').ServerFacts} ServerFacts
 * @typedef {import('./run-terraform.mjs').Workspace} Workspace
 */

const RESERVE_MS_MAX = 15_000;
const PLAN = 'plan.out';
/** Only Terraform's own lock on the state keeps out an operator who runs Terraform by hand. */
const WAIT_FOR_LOCK = '-lock-timeout=3s';
const NOTHING_THERE = /** @type {const} */ ({ outcome: 'absent', message: 'the state has no resources' });

/** @returns {Handlers} */
export function handlers() {
  const storage = {
    folder: stateFolder,
    hasServer: (/** @type {Call} */ call) => new ServerFolder(call.resource).exists(),
  };
  return withPlace(storage, {
    check: (call) => locked(call, checkServer),
    create: (call) => locked(call, applyModule),
    update: (call) => locked(call, applyModule),
    delete: (call) => locked(call, destroyServer),
  });
}

/**
 * Holds the server's lock during a call. Terraform inherits it, so a run that outlives its call blocks the next one.
 * @param {Call} call
 * @param {(folder: ServerFolder, call: Call, lockFd: number) => Promise<Answer>} perform
 * @returns {Promise<Answer>}
 */
async function locked(call, perform) {
  const folder = new ServerFolder(call.resource);
  if (!folder.exists() && call.operation !== 'create') return NOTHING_THERE;
  folder.make();
  // Terraform is interrupted this long before the deadline: it then saves its state and ends.
  const reserveMs = Math.min(RESERVE_MS_MAX, (call.deadline - Date.now()) / 4);
  const deadline = call.deadline - reserveMs;
  const lock = await takeLock(folder.lock, deadline);
  if (lock === undefined)
    throw new CallFailure('retryable', `another run of Terraform for ${call.resource} is not finished`);
  try {
    return await perform(folder, { ...call, deadline }, lock.fd);
  } finally {
    lock.release();
  }
}

/**
 * @param {ServerFolder} folder
 * @param {Call} call
 * @param {number} lockFd
 * @returns {Promise<Answer>}
 */
async function checkServer(folder, call, lockFd) {
  const facts = folder.facts();
  if (facts === undefined || folder.isEmpty()) return NOTHING_THERE;
  const workspace = { folder, copy: facts.copy, lockFd, deadline: call.deadline };
  await initialise(workspace);
  const plan = await makePlan(workspace, ['-refresh-only']);
  if (!hasResources(plan)) return NOTHING_THERE;
  const { observed, message } = observedIn(plan, facts);
  return { outcome: 'done', message, outputs: outputsIn(plan), observed };
}

/**
 * Creates or updates a server: applies the module with the properties of the call.
 * @param {ServerFolder} folder
 * @param {Call} call
 * @param {number} lockFd
 * @returns {Promise<Answer>}
 */
async function applyModule(folder, call, lockFd) {
  const before = folder.facts();
  if (call.operation === 'update' && (before === undefined || folder.isEmpty())) return NOTHING_THERE;
  const module = moduleFor(call);
  const isUpdate = call.operation === 'update' && before?.applied != null;
  if (isUpdate && before.module !== module.name) {
    return {
      outcome: 'replace',
      message: `the module ${before.module} made it, and the call asks for ${module.name}`,
    };
  }
  const copy = copyModule(module, folder);
  const facts = { module: module.name, copy, wanted: call.properties, applied: before?.applied ?? null };
  const workspace = { folder, copy, lockFd, deadline: call.deadline };
  const variables = { name: call.resource, properties: call.properties };
  // Until the apply, a check needs the variables of the last apply: they stay in another file.
  folder.writeVariables('next', variables);
  await initialise(workspace);
  const plan = await makePlan(workspace, [], 'next');
  if (call.operation === 'update' && !hasResources(plan)) return NOTHING_THERE;
  const replaced = replacedIn(plan);
  if (isUpdate && replaced.length > 0 && !mayReplace()) {
    return { outcome: 'replace', message: `Terraform has to replace ${replaced.join(', ')}` };
  }
  folder.note(facts);
  folder.writeVariables('current', variables);
  await runTerraform(workspace, ['apply', '-input=false', '-no-color', WAIT_FOR_LOCK, PLAN]);
  folder.note({ ...facts, applied: call.properties });
  folder.removeOtherCopies(copy);
  const { stdout } = await runTerraform(workspace, ['show', '-json']);
  const state = { planned_values: JSON.parse(stdout).values };
  const { observed } = observedIn(state, { ...facts, applied: call.properties });
  return { outcome: 'done', message: 'applied', outputs: outputsIn(state), observed };
}

/**
 * @param {ServerFolder} folder
 * @param {Call} call
 * @param {number} lockFd
 * @returns {Promise<Answer>}
 */
async function destroyServer(folder, call, lockFd) {
  const facts = folder.facts();
  if (facts !== undefined && !folder.isEmpty()) {
    const workspace = { folder, copy: facts.copy, lockFd, deadline: call.deadline };
    await initialise(workspace);
    const variables = `-var-file=${folder.variables('current')}`;
    const args = ['apply', '-destroy', '-auto-approve', '-input=false', '-no-color', WAIT_FOR_LOCK, variables];
    await runTerraform(workspace, args);
  }
  folder.remove();
  return { outcome: 'done', message: 'destroyed' };
}

/**
 * Makes a plan, and returns it as Terraform shows it in JSON.
 * @param {Workspace} workspace
 * @param {readonly string[]} options
 * @param {'current' | 'next'} [variables]
 */
async function makePlan(workspace, options, variables = 'current') {
  const file = `-var-file=${workspace.folder.variables(variables)}`;
  await runTerraform(workspace, ['plan', '-input=false', '-no-color', WAIT_FOR_LOCK, `-out=${PLAN}`, file, ...options]);
  const { stdout } = await runTerraform(workspace, ['show', '-json', PLAN]);
  return JSON.parse(stdout);
}

function mayReplace() {
  const text = process.env.TREELINE_TERRAFORM_REPLACE ?? 'report';
  if (text === 'report' || text === 'apply') return text === 'apply';
  throw new CallFailure('failed', `TREELINE_TERRAFORM_REPLACE is "${text}", and has to be report or apply`);
}
