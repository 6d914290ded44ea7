// Mends of what is read, admitted and restored, taken back.
import type { PlantedDefect } from '../planted-defect.ts';

/** Returns each defect with the edits that bring it back. */
export const ADMISSION_DEFECTS: readonly PlantedDefect[] = [
  {
    id: '1',
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
    id: '1-layer',
    title: 'a typed object that cannot be read counts as removed, and its keys are missing',
    edits: [
      {
        file: 'src/desired/known-objects.ts',
        find: "if (isPlainTypeName(type) || type === 'stack-template') yield",
        replace: "if (type === 'stack-template') yield",
      },
    ],
  },
  {
    id: '1-folder',
    title: 'a link in place of a folder removes all that stood below',
    edits: [
      {
        file: 'src/catalog/unreadable.ts',
        find: '.find((folder) => places.has(folder))',
        replace: '.find(() => false)',
      },
    ],
  },
  {
    id: '1-extension',
    title: 'a file renamed to .yml or .YAML is removed',
    edits: [
      {
        file: 'src/catalog/strays.ts',
        find: '([^.].*?)\\.ya?ml(?:~|\\.bak)?$/i;',
        replace: '([^.].*?)\\.yaml(?:~|\\.bak)?$/;',
      },
    ],
  },
  {
    id: '1-lost-store',
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
    id: '1-lost-store-known',
    title:
      'a lost store takes a version from a commit in which a layer is unreadable that the newest commit has unreadable too',
    metBy: {
      test: 'test/reconcile/unreadable.test.ts',
      because: 'one of about 60,000 seeds draws it, which is kept as a script',
    },
    edits: [
      {
        file: 'src/follow/search-history.ts',
        find: 'this.#known = { ...EMPTY_BASELINE, objects: new Map([...desired.objects, ...this.#known.objects]) };',
        replace: 'if (isFirst) this.#known = { ...EMPTY_BASELINE, objects: desired.objects };',
      },
    ],
  },
  {
    id: '1-write',
    title: 'a write is judged as if what stands in place of an object were not there',
    edits: [
      {
        file: 'src/service/write/check-edits.ts',
        find: 'new Map<string, SnapshotFile>(catalog.places)',
        replace:
          'new Map<string, SnapshotFile>([...catalog.places].filter(([path]) => catalog.files.get(path)?.text != null))',
      },
    ],
  },
  {
    id: '8',
    title: 'the search of history joins versions that make the same server',
    edits: [
      {
        file: 'src/follow/search-history.ts',
        find: 'const baseline = desired ?? known;',
        replace:
          'const sound = [...(desired?.candidates ?? [])].filter(([, unit]) => isValidUnit(unit)); const baseline = desired === undefined ? known : { ...desired, units: new Map([...desired.units, ...sound]) };',
      },
      {
        file: 'src/desired/name-conflicts.ts',
        find: 'return moving.length > 0 ? moving : lost.slice(0, 1);',
        replace: 'return moving;',
      },
    ],
  },
  {
    id: '8-internal',
    title: 'an exception while one instance is built stops the commit for all',
    metBy: { test: 'test/desired/admit.test.ts', because: 'no file is known that throws' },
    edits: [
      {
        file: 'src/desired/candidates.ts',
        find: 'const problem = defectAt(entry, error);',
        replace: 'throw error; const problem = defectAt(entry, error);',
      },
    ],
  },
  {
    id: '15a',
    title: "a refused newcomer hides another team's clientcert",
    edits: [
      {
        file: 'src/derive.ts',
        find: 'buildClientcerts(catalog, instances.owners, earlier)',
        replace:
          'buildClientcerts(catalog, new Map([...instances.owners, ...[...stacks.units].flatMap(([key, unit]) => [...unit.servers.keys()].map((name) => [name, key] as const))]), earlier)',
      },
    ],
  },
  {
    id: '15b',
    title: 'who depends on a protected instance that stays is Invalid',
    edits: [
      {
        file: 'src/desired/admit.ts',
        find: 'yield* admission.settleNames();',
        replace: 'yield* admission.settle(() => []);',
      },
    ],
  },
  {
    id: '15b-held',
    title: 'who depends on a held instance that stays is Invalid',
    edits: [
      {
        file: 'src/desired/admit.ts',
        find: 'settled = yield* attempt({ candidates, baseline, safety, waiting });',
        replace:
          'for (const key of waiting) admission.hold(key); settled = { ...settled, problems: [...settled.problems, ...(yield* admission.settle(() => []))] };',
      },
    ],
  },
  {
    id: '15c',
    title: 'who depends on an instance that is wrong itself is told of a mistake of its own',
    metBy: { test: 'test/desired/admit.test.ts', because: 'nothing but the words differ' },
    edits: [
      {
        file: 'src/desired/missing-servers.ts',
        find: 'if (this.#unknownMakers.length > 0)',
        replace: 'if (this.#unknownMakers.length < 0)',
      },
      {
        file: 'src/desired/missing-servers.ts',
        find: 'if (maker !== undefined) return waitingText',
        replace: 'if (maker === null) return waitingText',
      },
    ],
  },
  {
    id: '15d',
    title: 'a suspension outlives its instance and meets a later one of that name',
    edits: [
      {
        file: 'src/follow/hold-rows.ts',
        find: 'const rows = new Map([...suspensions].filter(([name]) => isKept(name)));',
        replace: 'const rows = new Map([...suspensions].filter(([name]) => name === name || isKept(name)));',
      },
      {
        file: 'src/reconcile/emptied-instances.ts',
        find: "const suspension = this.#ledger.read('suspension', name);",
        replace: 'const suspension = undefined;',
      },
    ],
  },
  {
    id: '17-chain',
    title: 'admission looks at all units again each time one is pinned',
    edits: [
      {
        file: 'src/desired/outside-needs.ts',
        find: 'const unchecked = [...this.#unchecked];',
        replace: 'const unchecked = [...this.#versions.newest.keys()];',
      },
    ],
  },
  {
    id: '17-rebuild',
    title: 'a wrong unit is built again with every commit',
    edits: [
      {
        file: 'src/desired/candidates.ts',
        find: 'if (known !== undefined && !hasDefect(known.problems) &&',
        replace: 'if (known !== undefined && known.problems.length === 0 &&',
      },
    ],
  },
  {
    id: '17-removal',
    title: 'the servers that an instance loses are compared with each that is going already',
    edits: [
      {
        file: 'src/desired/deletions.ts',
        find: 'counted.has(server)',
        replace: 'known.some((each) => each.server === server)',
      },
    ],
  },
];
