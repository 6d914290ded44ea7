// Defects of what a controller finds at its start: other settings, another kind of provider, an older store, or none.
import type { PlantedDefect } from '../planted-defect.ts';

export const LIVES_DEFECTS: readonly PlantedDefect[] = [
  {
    id: 'lives-place',
    title:
      'the recorded head is read in the directory that the settings name now, and every commit continues what is followed',
    edits: [
      {
        file: 'src/follow/restore.ts',
        find: 'await readCommit(source, head.commit, { directory: head.place?.directory });',
        replace: 'await readCommit(source, head.commit, {});',
      },
      {
        file: 'src/follow/restore.ts',
        find: 'if (difference !== undefined) return difference;',
        replace: '',
      },
      {
        file: 'src/follow/continuation.ts',
        find: 'if (place.directory === now.directory) return { isNext: true };',
        replace: 'if (place.directory !== undefined) return { isNext: true };',
      },
    ],
  },
  {
    id: 'lives-url',
    title: 'the branch of another repository is followed without a question, as if it continued what is recorded',
    isMetByVariants: true,
    edits: [
      {
        file: 'src/follow/continuation.ts',
        find: 'if (isLost || !(await source.isAncestor(followed.commit, commit))) {',
        replace: 'if (isLost || (keys.length === 0 && !(await source.isAncestor(followed.commit, commit)))) {',
      },
      {
        file: 'src/follow/follow-commit.ts',
        find: 'if (commit === followed || commit === moved) return',
        replace: 'if (!(await source.isAncestor(followed, commit)) || commit === followed || commit === moved) return',
      },
    ],
  },
  {
    id: 'lives-restore',
    title: 'a recorded head that makes something else than is recorded is taken for what was active',
    edits: [
      {
        file: 'src/follow/restore.ts',
        find: 'await readCommit(source, head.commit, { directory: head.place?.directory });',
        replace: 'await readCommit(source, head.commit, {});',
      },
      {
        file: 'src/follow/restore.ts',
        find: 'if (difference !== undefined) return difference;',
        replace: '',
      },
    ],
  },
  {
    id: 'lives-suspension',
    title: 'a hand-over, or a renamed file, ends a suspension',
    edits: [
      {
        file: 'src/follow/hold-rows.ts',
        find: 'for (const { from, to } of handOvers) {',
        replace: 'for (const { from, to } of handOvers.slice(handOvers.length)) {',
      },
    ],
  },
  {
    id: 'lives-kind',
    title: 'a lost action ends as the entry of its name would end it now',
    edits: [
      {
        file: 'src/reconcile/decision-context.ts',
        find: "const ends = action.ends ?? provider?.lostActionEnds ?? 'after its deadline';",
        replace: "const ends = provider?.lostActionEnds ?? 'after its deadline';",
      },
    ],
  },
  {
    id: 'lives-lost-store',
    title: 'after a lost or restored store actions begin beside those that an earlier controller has begun',
    edits: [
      {
        file: 'src/reconcile/earlier-controller.ts',
        find: 'if (until === undefined || until <= now) return undefined;\n  const { signs',
        replace: 'if (until === undefined || until <= now || now > 0) return undefined;\n  const { signs',
      },
    ],
  },
];
