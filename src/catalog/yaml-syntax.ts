// Explains the YAML syntax errors that people make most to the author of the file: there the parser names what it
// expected next, and not what to change. Every other error is reported in the parser's words.

import { quote } from '../base/wording.ts';
import type { Fault } from '../model/entry.ts';

interface SyntaxFault {
  readonly offset: number;
  readonly fault: Fault;
}

/** The line around the parser's offset, and what stands before and after it there. */
interface FaultSpot {
  readonly offset: number;
  readonly reason: string;
  readonly before: string;
  readonly after: string;
  /** The nearest line above that holds anything, or ''. */
  readonly above: string;
  readonly aboveAt: number;
}

type Explain = (spot: FaultSpot) => SyntaxFault | undefined;

const CONFLICT_HINT = 'merge the two versions, and remove the lines that begin with <<<<<<<, ======= and >>>>>>>';

/** Tried in turn; the first that recognises the mistake explains it. */
const EXPLANATIONS: readonly Explain[] = [
  explainRunOn,
  explainTab,
  explainMissingSpace,
  explainSecondColon,
  explainMissingColon,
];

/** The time of explanations that look at a line grows with the square of its length. */
const LINE_LENGTH_MAX = 2000;

const OTHER_HINT =
  'check the indentation and the quotes here and in the line above; a text needs quotes if it begins with ' +
  'a special character or contains ": "';

const ESCAPE_HINT = 'write a backslash as "\\\\", or use single quotes, in which it is a plain character';

/** Returns the fault and its place, from the parser's offset and reason. In a long line it says less. */
export function explainSyntax(text: string, offset: number, reason: string): SyntaxFault {
  const conflict = /^(?:<{7}|>{7}|={7}|\|{7})(?= |\r?$)/m.exec(text);
  if (conflict !== null) return fault(conflict.index, 'a git conflict marker stands here', CONFLICT_HINT);
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
  return fault(offset, `this is no YAML: ${reason}`, hint);
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

/** A text or list that is never closed runs into the next key, which is not indented as deep. */
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
  return fault(offset - before.length + tab, 'a tab stands in the indentation', 'indent with spaces');
}

/** `key:value` reads as one text, which the parser notices only at the next key. */
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
  return fault(start, `the value ${value} holds a colon before a space`, `put it in quotes: ${value}`);
}

function explainMissingColon({ offset, before, after, reason, above, aboveAt }: FaultSpot): SyntaxFault | undefined {
  if (!/^expected ':'|multiline key/.test(reason)) return undefined;
  // At the end of a line the parser has gone on to the next one.
  const isAbove = (before + after).trim() === '';
  const line = isAbove ? above : before + after;
  const at = (isAbove ? aboveAt : offset - before.length) + indentOf(line);
  return fault(at, `${quoted(line)} has no colon`, 'write it as "key: value"');
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}

/** The text in double quotes, ready to be pasted, without a comment after it. */
function quoted(text: string): string {
  return quote(text.replace(/\s+#.*$/, '').trim());
}
