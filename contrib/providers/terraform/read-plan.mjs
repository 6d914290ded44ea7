// Reads plans as `terraform show -json` prints them: replacements, outputs, and differences from the applied
// properties. Pure.

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

/** The output of a module with the real properties of a server. */
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
 * Returns true if the refresh has found a resource that Terraform manages.
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
 * Returns the outputs that are strings, numbers, booleans or lists of strings, as in records. Omits sensitive outputs.
 * @param {Plan} plan
 * @returns {Readonly<Record<string, unknown>>}
 */
export function outputsIn({ planned_values }) {
  const outputs = Object.entries(planned_values?.outputs ?? {});
  const reported = outputs.filter(
    ([name, { sensitive, value }]) => name !== OBSERVED && sensitive !== true && isRecordValue(value),
  );
  return Object.fromEntries(reported.map(([name, { value }]) => [name, value]));
}

/**
 * Returns the real properties of a server from a refresh-only plan. Drift overrides the applied properties, and the
 * output `observed` overrides both. Properties that an unfinished run should have changed have their old values.
 * @param {Plan} plan
 * @param {ServerFacts} facts
 * @returns {{ readonly observed: Properties, readonly message: string }}
 */
export function observedIn(plan, { wanted, applied }) {
  if (applied === null) {
    const observed = Object.fromEntries(Object.keys(wanted).map((name) => [name, UNFINISHED]));
    return { observed, message: 'its create has not finished' };
  }
  const reported = reportedIn(plan);
  const drift = driftIn(plan);
  const unfinished = Object.keys(wanted).filter((name) => !isSame(wanted[name], applied[name]));
  const pending = unfinished.map((name) => [name, applied[name] ?? UNFINISHED]);
  const observed = { ...applied, ...drifted(drift, applied, reported), ...reported, ...Object.fromEntries(pending) };
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
      // Only the name of a sensitive attribute is shown.
      ...{ before: before?.[attribute], after: after_sensitive?.[attribute] ? undefined : after?.[attribute] },
    }));
  });
}

/**
 * Returns the properties that drift changes. An attribute with the name and the applied value of a property counts as
 * this property. Other drift is added to the property `shape`, or to the first one: Treeline compares only properties.
 * @param {readonly Drift[]} drift
 * @param {Properties} applied
 * @param {Properties} reported
 * @returns {Properties}
 */
function drifted(drift, applied, reported) {
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
  // A module with the output `observed` decides itself which property shows the drift.
  if (others.length === 0 || Object.keys(reported).length > 0) return observed;
  const carrier = Object.hasOwn(applied, 'shape') ? 'shape' : Object.keys(applied).sort()[0];
  if (carrier !== undefined) observed[carrier] = `${applied[carrier]} (changed outside: ${others.join(', ')})`;
  return observed;
}

/**
 * @param {Plan} plan
 * @returns {Properties}
 */
function reportedIn({ planned_values }) {
  const { value, sensitive } = planned_values?.outputs?.[OBSERVED] ?? {};
  if (sensitive === true || typeof value !== 'object' || value === null || Array.isArray(value)) return {};
  /** @type {Record<string, PropertyValue>} */
  const reported = {};
  for (const [name, item] of Object.entries(value)) {
    const property = asProperty(item);
    if (property !== undefined) reported[name] = property;
  }
  return reported;
}

/**
 * Returns a value in the form of a property; undefined if that is not possible.
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
