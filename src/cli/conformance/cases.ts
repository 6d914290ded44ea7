// Lists the cases of the conformance test in their order: the life of one server, inputs that are refused, hostile values,
// calls that are ended, and calls at the same time. docs/providers.md has the contract.
import type { ConformanceCase } from './conformance-case.ts';
import { forgeryCases, INPUT_CASES } from './input-cases.ts';
import { LIFE_CASES } from './life-cases.ts';
import { TIME_CASES } from './time-cases.ts';
import { Deviation, type Trial } from './trial.ts';
import { VALUE_CASES } from './value-cases.ts';

/** Returns all cases of a run, in their order. */
export function conformanceCases(trial: Trial): readonly ConformanceCase[] {
  return [...LIFE_CASES, ...INPUT_CASES, ...forgeryCases(trial), ...VALUE_CASES, ...TIME_CASES, PLACE_CASE];
}

/** The last case, over the answers to all others. */
const PLACE_CASE: ConformanceCase = {
  title: 'once an answer has named a place, all that follow name the same one',
  async run({ places }) {
    const named = places.slice(places.findIndex((place) => place !== undefined));
    const [first] = named;
    const other = named.findIndex((place) => place !== first);
    if (first === undefined || other === -1) return;
    const found = named[other] === undefined ? 'names no place' : `names the place "${named[other]}"`;
    throw new Deviation(`an answer ${found}, and one before it named "${first}"; Treeline takes it for no answer`);
  },
};
