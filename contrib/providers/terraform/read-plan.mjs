// Reads plans as `terraform show -json` prints them: what would be replaced, what a server tells, and how it differs from
// what was applied. Pure.

/**
 * @typedef {import('../exec-call/answer-call.mjs').Properties} Properties
 * @typedef {import('../exec-call/answer-call.mjs').PropertyValue} PropertyValue
 * @typedef {import('./server-folder.mjs').ServerFacts} ServerFacts
 * @typedef {{ readonly actions: readonly string[], readonly before: any, readonly after: any,
 *   readonly after_sensitive?: any }} Change
 * @typedef {{ readonly address: string, readonly mode: string, readonly change: Change }} ResourceChange
 * @typedef {{ readonly resources?: readonly { readonly mode: string }[], readonly child_modules?: readonly Module[] }} Module
 * @typedef {object} Plan
 * @property {readonly ResourceChange[]} [resource_changes]
 * @property {readonly ResourceChange[]} [resource_drift]
 * @property {{ readonly outputs?: Readonly<Record<string, Output>> }} [planned_values]
 * @property {{ readonly values?: { readonly root_module?: Module } }} [prior_state]
 * @typedef {{ readonly sensitive?: boolean, readonly value?: unknown }} Output
 */

/** The output of a module that tells the properties that a server really has. */
const OBSERVED = 'observed';
const UNFINISHED = '(not finished)';

/**
 * Returns the addresses of the resources that applying the plan would delete and create again.
 * @param {Plan} plan
 * @returns {readonly string[]}
 */
export function replacedIn({ resource_changes = [] }) {
  const replaced = resource_changes.filter(
    ({ change: { actions } }) => actions.includes('delete') && actions.includes('create'),
  );
  return replaced.map(({ address }) => address).sort();
}

/**
 * Returns true if anything is there that Terraform has made, as a refresh has found it.
 * @param {Plan} plan
 */
export function hasResources({ prior_state }) {
  return countManaged(prior_state?.values?.root_module) > 0;
}

/**
 * @param {Module | undefined} module
 * @returns {number}
 */
function countManaged(module) {
  const own = module?.resources?.filter(({ mode }) => mode === 'managed').length ?? 0;
  return (module?.child_modules ?? []).reduce((count, child) => count + countManaged(child), own);
}

/**
 * Returns the outputs that a record can hold: strings, numbers, booleans, lists of strings. A sensitive one never leaves.
 * @param {Plan} plan
 * @returns {Readonly<Record<string, unknown>>}
 */
export function outputsIn({ planned_values }) {
  const outputs = Object.entries(planned_values?.outputs ?? {});
  const told = outputs.filter(
    ([name, { sensitive, value }]) => name !== OBSERVED && sensitive !== true && isRecordValue(value),
  );
  return Object.fromEntries(told.map(([name, { value }]) => [name, value]));
}

/**
 * Returns the properties that the server has, from a refresh-only plan: what was applied, over that what drift shows, over
 * that the module's output `observed`. Properties that an unfinished run was to change have their old value.
 * @param {Plan} plan
 * @param {ServerFacts} facts
 * @returns {{ readonly observed: Properties, readonly message: string }}
 */
export function observedIn(plan, { wanted, applied }) {
  if (applied === null) {
    const observed = Object.fromEntries(Object.keys(wanted).map((name) => [name, UNFINISHED]));
    return { observed, message: 'its create has not finished' };
  }
  const told = toldBy(plan);
  const drift = driftIn(plan);
  const unfinished = Object.keys(wanted).filter((name) => !isSame(wanted[name], applied[name]));
  const pending = unfinished.map((name) => [name, applied[name] ?? UNFINISHED]);
  const observed = { ...applied, ...drifted(drift, applied, told), ...told, ...Object.fromEntries(pending) };
  return { observed, message: drift.length === 0 ? '' : `changed outside: ${drift.map(nameOf).join(', ')}` };
}

/**
 * @typedef {{ readonly address: string, readonly attribute: string, readonly before: unknown, readonly after: unknown }} Drift
 * @param {Drift} drift
 */
function nameOf({ address, attribute }) {
  return attribute === '' ? `${address} is gone` : `${address}.${attribute}`;
}

/**
 * Returns every attribute that differs from the state, and every resource that is gone (attribute '').
 * @param {Plan} plan
 * @returns {readonly Drift[]}
 */
function driftIn({ resource_drift = [] }) {
  return resource_drift.flatMap(({ address, change: { actions, before, after, after_sensitive } }) => {
    if (actions.includes('delete')) return [{ address, attribute: '', before, after }];
    const attributes = Object.keys({ ...before, ...after }).filter((name) => !isSame(before?.[name], after?.[name]));
    return attributes.map((attribute) => ({
      ...{ address, attribute },
      // A sensitive value is named, and not shown.
      ...{ before: before?.[attribute], after: after_sensitive?.[attribute] ? undefined : after?.[attribute] },
    }));
  });
}

/**
 * Drift of an attribute that is called as a property and had its value is that property's. Any other drift is shown at the
 * property `shape`, or the first: a difference that no property shows would be no difference for Treeline.
 * @param {readonly Drift[]} drift
 * @param {Properties} applied
 * @param {Properties} told
 * @returns {Properties}
 */
function drifted(drift, applied, told) {
  /** @type {Record<string, PropertyValue>} */
  const observed = {};
  const others = [];
  for (const one of drift) {
    const { attribute, before, after } = one;
    const isProperty = Object.hasOwn(applied, attribute) && isSame(asProperty(before), applied[attribute]);
    const value = asProperty(after);
    if (isProperty && value !== undefined) observed[attribute] = value;
    else others.push(nameOf(one));
  }
  // A module that tells what it observes knows which property a drift belongs to.
  if (others.length === 0 || Object.keys(told).length > 0) return observed;
  const carrier = Object.hasOwn(applied, 'shape') ? 'shape' : Object.keys(applied).sort()[0];
  if (carrier !== undefined) observed[carrier] = `${applied[carrier]} (changed outside: ${others.join(', ')})`;
  return observed;
}

/**
 * @param {Plan} plan
 * @returns {Properties}
 */
function toldBy({ planned_values }) {
  const { value, sensitive } = planned_values?.outputs?.[OBSERVED] ?? {};
  if (sensitive === true || typeof value !== 'object' || value === null || Array.isArray(value)) return {};
  /** @type {Record<string, PropertyValue>} */
  const told = {};
  for (const [name, item] of Object.entries(value)) {
    const property = asProperty(item);
    if (property !== undefined) told[name] = property;
  }
  return told;
}

/**
 * Returns a value in the form that properties have; undefined where it has none.
 * @param {unknown} value
 * @returns {PropertyValue | undefined}
 */
function asProperty(value) {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return Array.isArray(value) && value.every((item) => typeof item === 'string') ? value : undefined;
}

/** @param {unknown} value */
function isRecordValue(value) {
  return value !== null && value !== undefined && asProperty(value) !== undefined;
}

/**
 * @param {unknown} a
 * @param {unknown} b
 */
function isSame(a, b) {
  return JSON.stringify(a) === JSON.stringify(b);
}
