// How a file indents what stands below a key, so that new lines look like the old ones.
import { type Indents, USUAL_INDENTS } from './write-value.ts';
import { columnOf, type LayoutNode } from './yaml-layout.ts';

/** Returns how far the first map and the first list below a key are indented in `text`; two columns where there is none. */
export function indentsOf(text: string, root: LayoutNode): Indents {
  return {
    map: indentOf(text, root, 'map') ?? USUAL_INDENTS.map,
    list: indentOf(text, root, 'list') ?? USUAL_INDENTS.list,
  };
}

function indentOf(text: string, node: LayoutNode, kind: 'map' | 'list'): number | undefined {
  if (node.kind === 'scalar' || node.isFlow) return undefined;
  for (const { start, node: below } of node.entries) {
    if (below === null) continue;
    const isWanted = node.kind === 'map' && below.kind === kind && !below.isFlow;
    const indent = isWanted ? columnOf(text, below.start) - columnOf(text, start) : indentOf(text, below, kind);
    if (indent !== undefined) return indent;
  }
  return undefined;
}
