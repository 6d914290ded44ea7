// Writes the difference of two texts in the format of git, which `git apply` accepts.
import { FILE_HEADERS_ONLY, formatPatch, type StructuredPatchHunk, structuredPatch } from 'diff';

/** A file with more changed lines is shown as removed and added as a whole. */
const CHANGES_MAX = 500;

/** Returns the diff of one file, or an empty text if there is no change. Null: there is no file. */
export function unifiedDiff(path: string, before: string | null, after: string | null): string {
  if (before === after) return '';
  const head = [
    `diff --git a/${path} b/${path}`,
    ...(before === null ? ['new file mode 100644'] : []),
    ...(after === null ? ['deleted file mode 100644'] : []),
  ];
  const names = [before === null ? '/dev/null' : `a/${path}`, after === null ? '/dev/null' : `b/${path}`] as const;
  const options = { context: 3, maxEditLength: CHANGES_MAX };
  const found = structuredPatch(...names, before ?? '', after ?? '', undefined, undefined, options);
  const hunks = found?.hunks ?? [wholeFile(before ?? '', after ?? '')];
  const [oldFileName, newFileName] = names;
  const patch = { oldFileName, newFileName, oldHeader: undefined, newHeader: undefined, hunks };
  return `${head.join('\n')}\n${hunks.length === 0 ? '' : formatPatch(patch, FILE_HEADERS_ONLY)}`;
}

function wholeFile(before: string, after: string): StructuredPatchHunk {
  const [removed, added] = [markLines(before, '-'), markLines(after, '+')];
  const countOf = (lines: readonly string[]): number => lines.filter((line) => !line.startsWith('\\')).length;
  const [oldLines, newLines] = [countOf(removed), countOf(added)];
  const [oldStart, newStart] = [Math.min(1, oldLines), Math.min(1, newLines)];
  return { oldStart, oldLines, newStart, newLines, lines: [...removed, ...added] };
}

function markLines(text: string, sign: '-' | '+'): readonly string[] {
  const lines = text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  return lines.flatMap((line) =>
    line.endsWith('\n') ? `${sign}${line.slice(0, -1)}` : [`${sign}${line}`, '\\ No newline at end of file'],
  );
}
