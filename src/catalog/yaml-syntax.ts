// Explains the most frequent YAML syntax errors: the parser says what it expected next, not what to change. All other
// errors are reported in the parser's words.

import { quote } from '../base/wording.ts';
import type { Fault } from '../model/entry.ts';

interface SyntaxFault {
  readonly offset: number;
  readonly fault: Fault;
}

/** The parser's offset, and the text before and after it in its line. */
interface FaultSpot {
  readonly offset: number;
  readonly reason: string;
  readonly before: string;
  readonly after: string;
  /** The nearest line above that is not empty, or ''. */
  readonly above: string;
  readonly aboveAt: number;
}

type Explain = (spot: FaultSpot) => SyntaxFault | undefined;

const CONFLICT_HINT = 'merge the two versions, and remove the lines that begin with <<<<<<<, ======= and >>>>>>>';

/** The first that recognises the mistake explains it. */
const EXPLANATIONS: readonly Explain[] = [
  explainRunOn,
  explainTab,
  explainMissingSpace,
  explainSecondColon,
  explainMissingColon,
];

/** The time of an explanation grows with the square of the line's length. */
const LINE_LENGTH_MAX = 2000;

const OTHER_HINT =
  'check the indentation and the quotes here and in the line above; a text needs quotes if it begins with ' +
  'a special character or contains ": "';

const ESCAPE_HINT = 'write a backslash as "\\\\", or use single quotes, in which it is a plain character';

/** Returns the fault and its place, from the parser's offset and reason. A long line is explained less exactly. */
export function explainSyntax(text: string, offset: number, reason: string): SyntaxFault {
  const conflict = /^(?:<{7}|>{7}|={7}|\|{7})(?= |\r?$)/m.exec(text);
  if (conflict !== null) return fault(conflict.index, 'this is a Git conflict marker', CONFLICT_HINT);
  if (reason.startsWith('nesting exceeded')) {
    const message = 'the file is nested deeper than 64 levels';
    return { offset, fault: { code: 'yaml_depth', message, hint: 'flatten it' } };
  }
  const spot = spotAt(text, offset, reason);
  const isLong = spot.before.length + spot.after.length > LINE_LENGTH_MAX || spot.above.length > LINE_LENGTH_MAX;
  for (const explain of isLong ? [explainUnclosed] : [explainUnclosed, ...EXPLANATIONS]) {
    const explained = explain(spot);
    if (explained !== undefined) return explained;
  }
  const hint = reason === 'unknown escape sequence' ? ESCAPE_HINT : OTHER_HINT;
  return fault(offset, `this is not YAML: ${reason}`, hint);
}

function spotAt(text: string, offset: number, reason: string): FaultSpot {
  const lineStart = Math.max(text.lastIndexOf('\n', offset - 1), text.lastIndexOf('\r', offset - 1)) + 1;
  const after = text.slice(offset).replace(/[\r\n].*$/s, '');
  const earlier = text.slice(0, lineStart).trimEnd();
  const aboveAt = Math.max(earlier.lastIndexOf('\n'), earlier.lastIndexOf('\r')) + 1;
  return { offset, reason, before: text.slice(lineStart, offset), after, above: earlier.slice(aboveAt), aboveAt };
}

function fault(offset: number, message: string, hint: string): SyntaxFault {
  return { offset, fault: { code: 'yaml_syntax', message, hint } };
}

function explainUnclosed({ offset, reason }: FaultSpot): SyntaxFault | undefined {
  if (!/^unexpected end of the (?:stream|document)/.test(reason)) return undefined;
  if (reason.includes('flow')) {
    return fault(offset, 'the file ends inside a "[" or "{" that is not closed', 'add the missing "]" or "}"');
  }
  const quote = reason.includes('single') ? "'" : '"';
  return fault(offset, `the file ends inside a text in ${quote} that is not closed`, `add the missing ${quote}`);
}

/** A text or list that is not closed continues into the next key, which is indented less. */
function explainRunOn({ offset, reason, above, aboveAt }: FaultSpot): SyntaxFault | undefined {
  if (reason !== 'deficient indentation') return undefined;
  const opening = /(?<=\s)["'[{](?=[^"'[{\]}]*$)/.exec(above);
  const hint = 'close it; if it has several lines, indent them deeper than its key';
  if (opening === null) return fault(offset, 'a text or list that begins above is not closed before this line', hint);
  return fault(aboveAt + opening.index, `the ${opening[0]} here is not closed`, hint);
}

function explainTab({ offset, before, after }: FaultSpot): SyntaxFault | undefined {
  const line = before + after;
  const indentation = line.length - line.replace(/^(?:\s|-(?=\s))*/, '').length;
  const tab = line.indexOf('\t');
  if (tab === -1 || tab >= indentation) return undefined;
  return fault(offset - before.length + tab, 'the indentation contains a tab', 'indent with spaces');
}

/** The parser reads `key:value` as one text and fails only at the next key. */
function explainMissingSpace(spot: FaultSpot): SyntaxFault | undefined {
  const own = missingSpaceIn(spot.before + spot.after, spot.offset - spot.before.length);
  return own ?? missingSpaceIn(spot.above, spot.aboveAt);
}

function missingSpaceIn(line: string, lineStart: number): SyntaxFault | undefined {
  const match = /^(\s*(?:- +)?)([A-Za-z0-9_.-]+):([^\s:/][^\r\n]*)$/.exec(line);
  if (match === null) return undefined;
  const [, indentation = '', key = '', value = ''] = match;
  if (/:\s/.test(value)) return undefined;
  const at = lineStart + indentation.length;
  return fault(at, `${quoted(`${key}:${value}`)} needs a space after the colon`, `write ${key}: ${value.slice(0, 80)}`);
}

function explainSecondColon({ offset, before, after }: FaultSpot): SyntaxFault | undefined {
  const isFlow = /[{[]/.test(before);
  const match = (isFlow ? /^.*[{[,]\s*[^\s:][^:]*:\s+/ : /^\s*(?:- +)*[^\s:][^:]*:\s+/).exec(before);
  if (after[0] !== ':' || match === null) return undefined;
  const rest = before.slice(match[0].length) + after;
  const value = quoted(isFlow ? rest.replace(/\s*[,}\]].*$/, '') : rest);
  const start = offset - before.length + match[0].length;
  return fault(start, `the value ${value} contains a colon before a space`, `put it in quotes: ${value}`);
}

function explainMissingColon({ offset, before, after, reason, above, aboveAt }: FaultSpot): SyntaxFault | undefined {
  if (!/^expected ':'|multiline key/.test(reason)) return undefined;
  // If a line has no colon, the parser fails only in the next line.
  const isAbove = (before + after).trim() === '';
  const line = isAbove ? above : before + after;
  const at = (isAbove ? aboveAt : offset - before.length) + indentOf(line);
  return fault(at, `${quoted(line)} has no colon`, 'write it as "key: value"');
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}

/** Returns the text in double quotes, without a comment after it. */
function quoted(text: string): string {
  return quote(text.replace(/\s+#.*$/, '').trim());
}
