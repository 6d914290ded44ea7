// Defects of what keeps deletes from happening: protection, the delete budget, approvals, hand-overs, and what cannot be read.
import type { PlantedDefect } from '../planted-defect.ts';

export const DELETE_DEFECTS: readonly PlantedDefect[] = [
  {
    id: 'unreadable-removed',
    title: 'what cannot be read any more counts as removed',
    edits: [
      {
        file: 'src/derive.ts',
        find: 'const loaded = withUnreadable(read, knownObjects(baseline));',
        replace: 'const loaded = read;',
      },
    ],
  },
  {
    id: 'unreadable-lost-store',
    title: 'a lost store does not look for what cannot be read now',
    edits: [
      {
        file: 'src/follow/search-history.ts',
        find: 'if (isFirst) this.#strays = straysIn(desired.catalog);',
        replace: '',
      },
    ],
  },
  {
    id: 'protection-merge',
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
    id: 'protection-from-the-side',
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
    id: 'commits-at-once',
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
    id: 'protection-retain',
    title: 'deletion: retain beside protected: true cancels the protection',
    edits: [
      {
        file: 'src/desired/refusals.ts',
        find: 'versions.losses({ withRetained: true })',
        replace: 'versions.losses()',
      },
    ],
  },
  {
    id: 'budget-wanted-again',
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
    id: 'budget-judged-early',
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
    id: 'budget-slices',
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
    id: 'budget-approved',
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
    id: 'retain-scale-in',
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
    id: 'trailer-behind',
    title: 'a trailer counts upon a restored backup that does not know the servers for which its number was',
    isMetByVariants: true,
    edits: [
      {
        file: 'src/follow/walk-steps.ts',
        find: "ledger.read('head', HEAD)?.isBehind === true ? 0 : approvedCountOf(brought);",
        replace: 'approvedCountOf(brought);',
      },
    ],
  },
  {
    id: 'approval-over-restart',
    title: 'an approval that was not judged before a restart takes away servers whose record and file nobody knows',
    edits: [
      {
        file: 'src/follow/follow-commit.ts',
        find: 'withoutApprovals(readSafety(ledger, { budget, now: clock.now() }));',
        replace: 'readSafety(ledger, { budget, now: clock.now() });',
      },
      {
        file: 'src/follow/follow-commit.ts',
        find: 'await activate(this.#options, { desired }, { ...poll, place, last: active });',
        replace: 'await activate(this.#options, { desired }, { ...poll, place });',
      },
      {
        file: 'src/follow/object-rows.ts',
        find: "const entry = before?.units.get(key)?.entry ?? store.read('pinned',",
        replace: "const entry = before?.units.get(key)?.entry ?? store.read('terminating',",
      },
      {
        file: 'src/reconcile/calls/executor.ts',
        find: 'record: recordFor(server, job, this.#options), deadline',
        replace: 'record: this.#options.recordOf(server), deadline',
      },
    ],
  },
  {
    id: 'approval-stale',
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
    id: 'hand-over-protected',
    title: 'a server of a protected instance is handed to one that is not, and replaced or deleted there',
    edits: [
      {
        file: 'src/desired/refusals.ts',
        find: 'const isGiven = receiver !== undefined && receiver.name !== unit.name && !isProtected(receiver);',
        replace: 'const isGiven = receiver !== undefined && receiver.name === unit.name;',
      },
    ],
  },
  {
    id: 'hidden-copy-removed',
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
    id: 'lost-history-protected',
    title: 'with the history before, it is forgotten which instances are protected',
    edits: [
      {
        file: 'src/follow/restore.ts',
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
        file: 'src/reconcile/checks/server-checks.ts',
        find: 'const checker = { provider, tags };',
        replace: "const checker = { provider: provider && '', tags };",
      },
      {
        file: 'src/reconcile/checks/server-checks.ts',
        find: "return { provider: provider ?? '', tags",
        replace: "return { provider: provider === null ? '' : '', tags",
      },
    ],
  },
  {
    id: 'sync-approved',
    title: 'an approval counts for the servers that its commit changes, and for no others',
    edits: [
      {
        file: 'src/follow/sync.ts',
        find: 'visitAll(new Set([...ofApproved, ...(',
        replace: 'visitAll(new Set([...ofApproved.slice(ofApproved.length), ...(',
      },
    ],
  },
  {
    id: 'retain-deletes',
    title: 'a request to forget a server does not keep it from being deleted',
    edits: [
      {
        file: 'src/machine/requests.ts',
        find: "return requeue(row, { now, attempt: 0, policy: { ...row.policy, deletion: 'retain' } });",
        replace: 'return requeue(row, { now, attempt: 0 });',
      },
    ],
  },
  {
    id: 'replace-unchecked',
    title: 'what is replaced is created without a check that the old server is gone',
    edits: [
      {
        file: 'src/machine/decide.ts',
        find: "if (operation === 'create' && context.lastCheck !== 'answered') return",
        replace: "if (operation === 'create' && !row.replacing && context.lastCheck !== 'answered') return",
      },
      {
        file: 'src/machine/conclude.ts',
        find: "const checked = answer.outcome === 'absent';",
        replace: 'const checked = true;',
      },
    ],
  },
  {
    id: 'replace-protected',
    title: 'a request replaces a server of a protected instance',
    edits: [
      {
        file: 'src/machine/requests.ts',
        find: "if (policy.protected) return 'its",
        replace: "if (policy.protected && action !== null) return 'its",
      },
      {
        file: 'src/machine/decide.ts',
        find: 'if (row.replacing && row.policy.protected) return',
        replace: 'if (row.replacing && row.policy.protected && !row.approved) return',
      },
    ],
  },
];
