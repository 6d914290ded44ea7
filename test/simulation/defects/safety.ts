// Defects of what keeps deletes from happening: protection, the delete budget, approvals, and what a restart makes of them.
import type { PlantedDefect } from '../planted-defect.ts';

export const SAFETY_DEFECTS: readonly PlantedDefect[] = [
  {
    id: '2-merge',
    title: 'a commit of a side branch that a merge brings lifts the protection',
    edits: [
      {
        file: 'src/follow/commit-steps.ts',
        find: 'const line = firstParentLine(commits, followed);',
        replace: 'const line = [...commits];',
      },
    ],
  },
  {
    id: '2-followed-from-the-side',
    title: 'first parents lift the protection although the followed commit comes in from the side',
    edits: [
      {
        file: 'src/follow/first-parents.ts',
        find: 'while (next !== undefined && after.has(next.oid)) {',
        replace: 'while (next !== undefined) {',
      },
    ],
  },
  {
    id: '2-at-once',
    title: 'of several commits that come in one poll only the last one counts',
    isMetByVariants: true,
    edits: [
      {
        file: 'src/follow/follow-commit.ts',
        find: 'if (steps.length > 0) return await this.#takeAll(steps, poll);',
        replace: 'if (steps.length > 0) return await this.#takeAll(steps.slice(-1), poll);',
      },
    ],
  },
  {
    id: '2-forgotten',
    title: 'a server that a commit has forgotten is changed by a later one of the same poll',
    metBy: {
      test: 'test/follow/commits-at-once.test.ts',
      because: 'it must be given up by an instance that retains, and be wanted again otherwise, in one poll',
    },
    edits: [
      {
        file: 'src/machine/want.ts',
        find: "(row.policy.deletion === 'retain' || row.former !== undefined)",
        replace: '(row.former !== undefined)',
      },
    ],
  },
  {
    id: '2-retain',
    title: 'deletion: retain beside protected: true cancels the protection',
    edits: [
      {
        file: 'src/desired/lost-servers.ts',
        find: 'versions.losses({ withRetained: true })',
        replace: 'versions.losses()',
      },
    ],
  },
  {
    id: '3a',
    title: 'a delete that has begun stops to count when its server is wanted again',
    edits: [
      {
        file: 'src/machine/removals.ts',
        find: 'if (!isBegun && !isOver) return [];',
        replace: 'if (!isOver) return [];',
      },
    ],
  },
  {
    id: '3b',
    title: 'what was counted before the files were read decides when the commit is taken',
    edits: [
      {
        file: 'src/follow/walk-steps.ts',
        find: 'const desired = await judgeStep(parts, first, walk.first, ledger);',
        replace:
          'const desired = walk.before === undefined ? await judgeStep(parts, first, walk.first, ledger) : walk.first.desired;',
      },
    ],
  },
  {
    id: '3b-slices',
    title: 'passes write rows between the judgement of a commit and its activation',
    metBy: {
      test: 'test/follow/activate.test.ts',
      because: 'what passes write makes the commit of the store conflict, and it is judged anew',
    },
    edits: [
      {
        file: 'src/follow/follow-commit.ts',
        find: 'gate.exclusive(async () => {\n        const walked =',
        replace: 'gate.shared(async () => {\n        const walked =',
      },
    ],
  },
  {
    id: '3c',
    title: 'an approved delete whose server is wanted again while it runs counts as unapproved',
    edits: [
      {
        file: 'src/machine/removals.ts',
        find: 'if (!isBegun && expected === undefined) return [];',
        replace: 'if (row.approved) return [];',
      },
    ],
  },
  {
    id: '3d',
    title: 'servers that were never made count, and are held',
    edits: [
      {
        file: 'src/follow/safety.ts',
        find: 'return row !== undefined && isMade(row) && row.action?.isApproved !== true ? row.incarnation : undefined;',
        replace: 'return row?.incarnation;',
      },
    ],
  },
  {
    id: '3e',
    title: 'deletion: retain and fewer servers in one commit deletes',
    edits: [
      {
        file: 'src/follow/sync.ts',
        find: "if (row.policy.deletion === 'retain' || !isRetaining(unit)) return row;",
        replace: 'if (unit !== undefined || !isRetaining(unit)) return row;',
      },
      {
        file: 'src/desired/versions.ts',
        find: 'return isRetaining(this.of(key));',
        replace: 'return false;',
      },
    ],
  },
  {
    id: '6',
    title: 'an approval that was not judged before a restart takes away servers whose record and file nobody knows',
    edits: [
      {
        file: 'src/follow/follow-commit.ts',
        find: 'withoutApprovals(safetyOf(ledger, { budget, now: clock.now() }));',
        replace: 'safetyOf(ledger, { budget, now: clock.now() });',
      },
      {
        file: 'src/follow/follow-commit.ts',
        find: 'await activate(this.#options, { desired }, { ...poll, place, last: baseline });',
        replace: 'await activate(this.#options, { desired }, { ...poll, place });',
      },
      {
        file: 'src/follow/object-rows.ts',
        find: "const entry = before?.units.get(key)?.entry ?? store.read('pinned',",
        replace: "const entry = before?.units.get(key)?.entry ?? store.read('terminating',",
      },
      {
        file: 'src/execute/executor.ts',
        find: 'record: recordFor(server, job, this.#options), deadline',
        replace: 'record: this.#options.recordOf(server), deadline',
      },
    ],
  },
  {
    id: '6-review',
    title: 'an approval that was not judged before a restart is judged with the next commit only',
    edits: [
      {
        file: 'src/reconcile/reviews.ts',
        find: 'this.#asked = isOpen ? 1 : 0;',
        replace: 'this.#asked = isOpen ? 0 : 0;',
      },
    ],
  },
  {
    id: '11-lost',
    title: 'an approval that comes while a commit waits to be taken is dropped by it',
    edits: [
      {
        file: 'src/follow/walk-steps.ts',
        find: 'const desired = await judgeStep(parts, first, walk.first, ledger);',
        replace:
          'const desired = walk.before === undefined ? await judgeStep(parts, first, walk.first, ledger) : walk.first.desired;',
      },
      {
        file: 'src/follow/hold-rows.ts',
        find: "return what === 'deletes' ? deletes.has(digest) : failures.has(digest);",
        replace: "return what !== 'deletes' && failures.has(digest);",
      },
    ],
  },
  {
    id: '11-both',
    title: 'of rewritten history and nothing left, the approval of one drops that of the other',
    edits: [
      {
        file: 'src/follow/hold-rows.ts',
        find: "if (what === 'history' || what === 'nothing left') return isOpen(digest);",
        replace: "if (what === 'history' || what === 'nothing left') return isOpen('');",
      },
    ],
  },
  {
    id: '11-stale',
    title: 'an approval of what is not held any more is recorded, and lies about for the next accident',
    edits: [
      {
        file: 'src/reconcile/row-requests.ts',
        find: 'const item = await this.#exclusive(asked, async () => {\n      const found = find();',
        replace: 'const found = find();\n    const item = await this.#exclusive(asked, async () => {',
      },
    ],
  },
  {
    id: 'hand-over-wrong',
    title: 'a server that one commit takes from an instance goes although the instance that may take it over is wrong',
    edits: [
      {
        file: 'src/desired/deletions.ts',
        find: 'if (undetermined.length > 0 && isAnyOf(removals, lost)) return undeterminedText(undetermined);',
        replace: 'if (undetermined.length < 0 && isAnyOf(removals, lost)) return undeterminedText(undetermined);',
      },
    ],
  },
  {
    id: 'hand-over-unread',
    title: 'an instance renamed to a file that is not read counts as removed',
    edits: [
      {
        file: 'src/desired/undetermined.ts',
        find: 'return [...wrong, ...newUnreadInstances(catalog, { places, instances, reappearing })];',
        replace: 'return wrong;',
      },
    ],
  },
  {
    id: 'hand-over-content',
    title:
      'a file of an instance that is there again under a name that makes none, and says nothing, counts as removed',
    edits: [
      {
        file: 'src/catalog/strays.ts',
        find: 'const meant = gone.has(oid) ? path : type',
        replace: 'const meant = gone.has(path) ? path : type',
      },
      {
        file: 'src/follow/read-commit.ts',
        find: 'if (gone.length === 0) return undefined;',
        replace: 'if (gone.length >= 0) return undefined;',
      },
    ],
  },
  {
    id: 'hand-over-more',
    title: 'a server that is held for a wrong instance goes once another one goes with it',
    edits: [
      {
        file: 'src/desired/deletions.ts',
        find: 'return before?.isHandOver === true && isAnyOf(removals, before.servers) ? before.reason : undefined;',
        replace: 'return undefined;',
      },
    ],
  },
  {
    id: 'hand-over-known',
    title: 'what was wrong before counts as new after a restart, or with every commit',
    edits: [
      {
        file: 'src/desired/undetermined.ts',
        find: 'return isUndetermined(unit) && known.get(key) !== versionOf(unit);',
        replace: 'return isUndetermined(unit) && known.size >= 0;',
      },
      { file: 'src/derive.ts', find: 'isKnown ? [] : yield* newlyUndetermined(', replace: 'yield* newlyUndetermined(' },
    ],
  },
  {
    id: 'hand-over-protected',
    title: 'a server of a protected instance is handed to one that is not, and replaced or deleted there',
    edits: [
      {
        file: 'src/desired/lost-servers.ts',
        find: 'const isGiven = receiver !== undefined && receiver.name !== unit.name && !isProtected(receiver);',
        replace: 'const isGiven = receiver !== undefined && receiver.name === unit.name;',
      },
    ],
  },
  {
    id: '1-copy',
    title: 'an object whose file became a hidden or backup copy counts as removed',
    edits: [
      {
        file: 'src/catalog/unreadable.ts',
        find: '.filter((place) => !isCopy(place) || isBeside(place, path));',
        replace: '.filter((place) => !isCopy(place));',
      },
    ],
  },
  {
    id: 'lost-history-held',
    title: 'where the local copy is lost and the history rewritten, nothing is held and the controller never comes up',
    edits: [
      {
        file: 'src/follow/branch-poll.ts',
        find: 'else if (current.get() === undefined && (await source.has(recorded.commit))) await this.#commits.restore(poll);',
        replace: 'else if (current.get() === undefined) await this.#commits.restore(poll);',
      },
    ],
  },
  {
    id: 'lost-history-rows',
    title: 'a history that is accepted although the one before is lost is taken as if nothing had been there',
    edits: [
      {
        file: 'src/follow/follow-commit.ts',
        find: 'const baseline = recordedBaseline(ledger, head);',
        replace: 'const baseline = EMPTY_BASELINE;',
      },
    ],
  },
  {
    id: 'lost-history-protected',
    title: 'with the history before, it is forgotten which instances are protected',
    edits: [
      {
        file: 'src/follow/recorded-baseline.ts',
        find: 'const entry = entryOfRow(document) as Entry<StackInstance>;',
        replace: 'const entry = entryOfRow({ ...document, object: {} }) as Entry<StackInstance>;',
      },
    ],
  },
  {
    id: 'create-other-checker',
    title: 'a server is made at a provider entry since another one found nothing',
    edits: [
      {
        file: 'src/reconcile/server-checks.ts',
        find: 'const checker = { provider: result.provider, tags: asked };',
        replace: "const checker = { provider: '', tags: asked };",
      },
      {
        file: 'src/reconcile/server-checks.ts',
        find: "return { provider: provider ?? '', tags",
        replace: "return { provider: provider === null ? '' : '', tags",
      },
    ],
  },
];
