// Planted defects of work that is left out: what follows from the active state is not derived, compared or fetched again.
import type { PlantedDefect } from '../planted-defect.ts';

export const LEFT_OUT_WORK_DEFECTS: readonly PlantedDefect[] = [
  {
    id: 'carry-over-refused',
    title: 'an instance that is refused since what it needs is gone counts as valid with the next commit',
    edits: [
      {
        file: 'src/desired/carry-over.ts',
        find: 'if (baseline.invalid.size > 0 || baseline.held.size > 0) return false;',
        replace: '',
      },
    ],
  },
  {
    id: 'carry-over-dependencies',
    title: 'a commit that changes only dependencies is admitted without a look at what they need',
    edits: [
      {
        file: 'src/desired/carry-over.ts',
        find: ' || !isSameList(neededBy(unit), neededBy(active))) return false;',
        replace: ') return false;',
      },
      {
        file: 'src/desired/carry-over.ts',
        find: 'return active !== undefined && isSameList(spec.dependsOn, active.spec.dependsOn);',
        replace: 'return active !== undefined && isSameList(spec.dependsOn, spec.dependsOn);',
      },
    ],
  },
  {
    id: 'specs-written',
    title: 'an applied spec is written as the wanted one',
    edits: [
      {
        file: 'src/store/row-json.ts',
        find: '(spec !== null && spec === wanted ? WANTED : spec)',
        replace: '(spec !== null && wanted !== null ? WANTED : spec)',
      },
    ],
  },
  {
    id: 'specs-changed',
    title: 'a wanted spec that changes is read back as the former one',
    edits: [
      {
        file: 'src/store/row-json.ts',
        find: 'if (wanted === ((before as ServerRow | undefined)?.wanted ?? null)) return [kept];',
        replace: 'if (before !== undefined) return [kept];',
      },
    ],
  },
  {
    id: 'sync-going',
    title: 'servers that are going already are not compared with the commits that follow',
    edits: [
      {
        file: 'src/follow/sync.ts',
        find: 'visitAll(new Set([...former, ...unwanted]), (name) => {',
        replace: 'visitAll(new Set([...former, ...unwanted.slice(unwanted.length)]), (name) => {',
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
    id: 'sync-restart',
    title: 'after a restart, only the servers of units that the commit changed are compared',
    edits: [
      {
        file: 'src/follow/sync.ts',
        find: "before === undefined ? store.list('server').keys() : formerServers(desired, before)",
        replace: 'before === undefined ? [] : formerServers(desired, before)',
      },
    ],
  },
  {
    id: 'own-packs-base',
    title: 'own commits are added to a local copy that lacks what they build on',
    metBy: { test: 'test/source/adopt-commits.test.ts', because: 'the simulated repository has no packs' },
    edits: [
      {
        file: 'src/source/adopt-commits.ts',
        find: 'if ((await objects.findCommit(base)) === undefined) return undefined;',
        replace: '',
      },
    ],
  },
  {
    id: 'own-packs-offered',
    title: 'a commit that is not the last of those offered is taken for the new head',
    metBy: { test: 'test/source/adopt-commits.test.ts', because: 'the simulated repository has no packs' },
    edits: [
      {
        file: 'src/source/followed-copy.ts',
        find: 'if (offered?.commits.at(-1) !== head) return undefined;',
        replace: 'if (offered?.commits.includes(head) !== true) return undefined;',
      },
    ],
  },
];
