// Defects of what is done twice or lost: lost outcomes, servers that are gone, and former lives of the controller.
import type { PlantedDefect } from '../planted-defect.ts';

export const OUTCOME_DEFECTS: readonly PlantedDefect[] = [
  {
    id: 'create-unchecked',
    title: 'a server that waited is created without another check, over what somebody else built',
    edits: [
      {
        file: 'src/machine/decide.ts',
        find: "  if (operation === 'create' && context.lastCheck !== 'answered') return decideCheck(row, context);\n",
        replace: '',
      },
    ],
  },
  {
    id: 'delete-never-made',
    title: 'a server that was never made is deleted where a provider was told to make it once',
    edits: [
      {
        file: 'src/machine/decide.ts',
        find: "return state !== 'unknown' && !mayBeThere(row) && !isLeft(row);",
        replace: "return state !== 'unknown' && row.provider === null;",
      },
    ],
  },
  {
    id: 'lost-action-clock',
    title: 'a lost action counts as ended as soon as the wall clock has jumped beyond its deadline',
    edits: [
      {
        file: 'src/reconcile/passes/decision-context.ts',
        find: '  return leftMs === undefined ? Date',
        replace: '  return leftMs !== -1 ? Date',
      },
    ],
  },
  {
    id: 'lost-outcome-entry',
    title: 'a lost outcome is looked up by nobody once the settings choose another entry',
    edits: [
      { file: 'src/reconcile/passes/responsible-provider.ts', find: " && row.state !== 'unknown';", replace: ';' },
    ],
  },
  {
    id: 'forgotten-during-delete',
    title: 'a server is forgotten while its delete runs',
    metBy: {
      test: 'test/reconcile/retain-and-replace.test.ts',
      because: 'a person has to ask for it in the moment in which the delete runs',
    },
    edits: [
      {
        file: 'src/machine/requests.ts',
        find: "action === null || state === 'unknown'",
        replace: "action === null || state !== 'done'",
      },
    ],
  },
  {
    id: 'drift-many-gone',
    title: 'a site that answers absent for all its servers has all of them made again',
    edits: [
      {
        file: 'src/reconcile/passes/server-pass.ts',
        find: 'hasManyGone: () => sites.areManyGone(name, row)',
        replace: 'hasManyGone: () => false',
      },
    ],
  },
  {
    id: 'drift-all-gone',
    title: 'the servers of a site that are all gone are made again where they are few',
    edits: [
      {
        file: 'src/reconcile/checks/site-witness.ts',
        find: "return this.#othersAre(server, site) === 'gone' && this.hasOthers(server, row);",
        replace: 'return false;',
      },
    ],
  },
  {
    id: 'drift-absent',
    title: 'one check that finds a server gone is enough to make it anew',
    edits: [
      {
        file: 'src/machine/drift.ts',
        find: 'if (isToBeConfirmed(row)) return confirmed(row, found, at);',
        replace: 'if (isToBeConfirmed(row) || found === null) return confirmed(row, found, at);',
      },
      {
        file: 'src/reconcile/checks/server-checks.ts',
        find: 'if (!isRoutine) this.#fresh.record(',
        replace: 'if (isRoutine || true) this.#fresh.record(',
      },
    ],
  },
  {
    id: 'lives-place',
    title:
      'the recorded head is read in the directory that the settings name now, and every commit continues what is followed',
    edits: [
      {
        file: 'src/follow/restore.ts',
        find: 'await readCommit(source, head.commit, { earlier, directory: head.place?.directory });',
        replace: 'await readCommit(source, head.commit, { earlier });',
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
        find: 'await readCommit(source, head.commit, { earlier, directory: head.place?.directory });',
        replace: 'await readCommit(source, head.commit, { earlier });',
      },
      {
        file: 'src/follow/restore.ts',
        find: 'if (difference !== undefined) return difference;',
        replace: '',
      },
    ],
  },
  {
    id: 'lives-kind',
    title: 'a lost action ends as the entry of its name would end it now',
    edits: [
      {
        file: 'src/reconcile/passes/decision-context.ts',
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
        file: 'src/reconcile/passes/earlier-controller.ts',
        find: 'if (until === undefined || until <= now) return undefined;\n  const { signs',
        replace: 'if (until === undefined || until <= now || now > 0) return undefined;\n  const { signs',
      },
    ],
  },
];
