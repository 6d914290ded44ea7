// The blocks of a document that a reader pastes into a shell, with what the document says they print.

/** One block to paste. */
export interface Block {
  /** The headings above it, outermost first. */
  readonly headings: readonly string[];
  /** Of its first line, in the document. */
  readonly line: number;
  readonly text: string;
  /** What it prints; undefined where the document says nothing. `…` stands for anything. */
  readonly output: string | undefined;
}

interface Fence {
  readonly info: string;
  readonly text: string;
  readonly line: number;
  /** Whether nothing but empty lines is between it and the one before. */
  readonly isNext: boolean;
  readonly headings: readonly string[];
}

/**
 * Returns the blocks marked as `sh`, in order. A block without a language right after one is what that one prints. Those of a list are
 * without its indentation.
 */
export function blocksIn(document: string): readonly Block[] {
  const fences = fencesIn(document);
  return fences.flatMap(({ info, text, line, headings }, index) => {
    const next = fences[index + 1];
    const output = next?.info === '' && next.isNext ? next.text : undefined;
    return info === 'sh' ? [{ headings, line, text, output }] : [];
  });
}

function fencesIn(document: string): readonly Fence[] {
  const fences: Fence[] = [];
  const headings: string[] = [];
  let open: { info: string; line: number; indent: string; lines: string[] } | undefined;
  let isNext = false;
  for (const [index, line] of document.split('\n').entries()) {
    if (open !== undefined && line !== `${open.indent}\`\`\``) {
      open.lines.push(line.startsWith(open.indent) ? line.slice(open.indent.length) : line);
      continue;
    }
    if (open !== undefined) {
      fences.push({ ...open, text: open.lines.join('\n'), isNext, headings: [...headings] });
      open = undefined;
      isNext = true;
      continue;
    }
    const [, indent, info] = /^( *)```(.*)$/.exec(line) ?? [];
    if (indent !== undefined && info !== undefined) open = { info, line: index + 2, indent, lines: [] };
    else if (line !== '') {
      isNext = false;
      const [, marks = '', title = ''] = /^(#+) (.*)$/.exec(line) ?? [];
      if (marks !== '') headings.splice(marks.length - 1, headings.length, title);
    }
  }
  return fences;
}

/** Returns a pattern of outputs that hold what a document says is printed: whole lines, in this order. */
export function patternOf(output: string): RegExp {
  const lines = output
    .split('\n')
    .map((line) => (line === '…' ? '(?:.*\\n)*?' : `${line.split('…').map(escaped).join('.*')}[ \\t]*\\n`));
  return new RegExp(`^${lines.join('')}`, 'm');
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}
