// Compares two explanations of one node: of two commits, or of what is active and what an approval would activate.
import type { ExplainedKey, ExplanationDifference, KeyChange, NodeExplanation } from '../model/explanation.ts';
import { fieldOf, isSame } from '../model/json.ts';
import { compareNames } from '../model/names.ts';
import type { Hierarchy } from '../model/objects.ts';
import type { RecordValue } from '../model/record.ts';
import { SECRET_VALUE, secretsOf } from './secrets.ts';

/** Tells when the controller last had a reason to update the server: not written anywhere, and different in every commit. */
const NOT_COMPARED: ReadonlySet<string> = new Set(['last_stack_update']);

/** The two sides; undefined: the node does not exist there. */
interface ComparedSides {
  readonly from: NodeExplanation | undefined;
  readonly to: NodeExplanation | undefined;
  /** The hierarchies of both sides, also of one on which the node or the key does not exist. */
  readonly hierarchies: readonly (Hierarchy | null)[];
}

/**
 * Returns the keys whose values differ, sorted, with the statements of both sides. `last_stack_update` is not compared.
 * Where only one side counts a key as a secret, the other may hold the secret itself, so its values are withheld.
 */
export function compareExplanations(node: string, { from, to, hierarchies }: ComparedSides): ExplanationDifference {
  const isSecret = (key: string): boolean => hierarchies.some((one) => one !== null && secretsOf(one).isSecret(key));
  const keys = new Set([...Object.keys(from?.keys ?? {}), ...Object.keys(to?.keys ?? {})]);
  const changes = [...keys].sort(compareNames).flatMap((key): KeyChange[] => {
    if (NOT_COMPARED.has(key)) return [];
    const before = keyIn(from, key);
    const after = keyIn(to, key);
    if (isSame(before?.value ?? null, after?.value ?? null)) return [];
    const shown = isSecret(key) ? withheld : (own: ExplainedKey | null): ExplainedKey | null => own;
    return [{ key, from: shown(before), to: shown(after) }];
  });
  return { node, from: sideOf(from), to: sideOf(to), changes };
}

/** A removed key is not in the record, but its statements say which layer removes it. */
function keyIn(side: NodeExplanation | undefined, key: string): ExplainedKey | null {
  return side === undefined ? null : (fieldOf(side.keys, key) ?? null);
}

function sideOf(side: NodeExplanation | undefined): ExplanationDifference['from'] {
  if (side === undefined) return null;
  const { keys: _, ...others } = side;
  return others;
}

/** Where the side itself counts the key as a secret, its values are references. */
function withheld(own: ExplainedKey | null): ExplainedKey | null {
  if (own === null || own.isSecret) return own;
  const hide = <Value extends RecordValue | null>(value: Value): Value | string =>
    value === null ? value : SECRET_VALUE;
  const statements = own.statements.map(({ adds: _, ...statement }) => ({
    ...statement,
    value: hide(statement.value),
  }));
  return { ...own, value: hide(own.value), statements };
}
