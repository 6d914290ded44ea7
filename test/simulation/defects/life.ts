// Defects in the life of one server: checks before creates, spellings, lost outcomes, requests, clocks.
import type { PlantedDefect } from '../planted-defect.ts';

export const LIFE_DEFECTS: readonly PlantedDefect[] = [
  {
    id: '4',
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
    id: '4-failed-create',
    title: 'what somebody else builds after a failed create is taken for what that create has made',
    edits: [
      {
        file: 'src/machine/decide.ts',
        find: '  if (!isUnsure || context.lastCheck',
        replace: '  if (isUnsure || context.lastCheck',
      },
    ],
  },
  {
    id: '4-never-made',
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
    id: '5',
    title: 'a name that changes in case only is adopted or created while the old spelling is still there',
    edits: [
      {
        file: 'src/reconcile/decision-context.ts',
        find: '  if (mayBeThere(row)) return undefined;\n',
        replace: '  if (row !== undefined) return undefined;\n',
      },
    ],
  },
  {
    id: '5-circle',
    title: 'the old spelling waits for those that wait for the new one',
    edits: [
      {
        file: 'src/reconcile/decision-context.ts',
        find: '  return isAwaited ? [',
        replace: '  return isAwaited && false ? [',
      },
    ],
  },
  {
    id: '7',
    title: 'lost tries are repeated at once, for ever',
    edits: [
      {
        file: 'src/machine/conclude.ts',
        find: '  if (isConverged(row) || action === null',
        replace: '  if (!isConverged(row) || action === null',
      },
    ],
  },
  {
    id: '7-otherwise',
    title: 'a provider that makes a server otherwise than asked, and loses it, is asked for ever',
    edits: [
      {
        file: 'src/machine/conclude.ts',
        find: '  const attempt = applied === action.spec ? 0 : row.attempt + 1;\n',
        replace: '  const attempt = 0;\n',
      },
    ],
  },
  {
    id: '12-adopt',
    title: 'adopting a server that was being replaced leaves a row that no pass can handle',
    edits: [
      {
        file: 'src/machine/conclude.ts',
        find: 'gaveUp: false, replacing: false, dirty: false },',
        replace: 'gaveUp: false },',
      },
      {
        file: 'src/machine/decide.ts',
        find: "  if (row.state !== 'pending') return decideQueued(row, context);\n  const unmet",
        replace: '  const unmet',
      },
    ],
  },
  {
    id: '12-retry',
    title: 'a server whose outcome is unknown and whose check failed is not checked again on request',
    edits: [
      {
        file: 'src/machine/requests.ts',
        find: " || (row.state === 'unknown' && row.due !== null)",
        replace: '',
      },
    ],
  },
  {
    id: '12-commit',
    title: 'a server whose outcome is unknown and whose check failed is not checked again with a commit',
    edits: [
      {
        file: 'src/machine/want.ts',
        find: " || (state === 'unknown' && due !== null)",
        replace: ' || (due === undefined)',
      },
    ],
  },
  {
    id: '13-back',
    title: 'after the clock was set back, waits last until the moment that the wrong clock wrote down',
    edits: [
      {
        file: 'src/reconcile/clock-watch.ts',
        find: '      this.#backMs -= stepMs;\n',
        replace: '',
      },
    ],
  },
  {
    id: '13-forward',
    title: 'after the clock has jumped forward, nothing is looked at that is due by then',
    edits: [
      {
        file: 'src/reconcile/clock-watch.ts',
        find: '    if (stepMs > STEP_MS) this.#forwardMs += stepMs;\n',
        replace: '',
      },
    ],
  },
  {
    id: '13-start',
    title: 'a start after the clock was set back leaves recorded times in the future',
    edits: [
      {
        file: 'src/reconcile/watch-clock.ts',
        find: 'corrected: correctStamps(parts, { backMs: 0, forwardMs: 0, since: clock.monotonic() }) };',
        replace: 'corrected: Promise.resolve() };',
      },
    ],
  },
  {
    id: '13-younger',
    title: 'an action that began between a step back of the clock and its detection loses as much of its time',
    edits: [
      {
        file: 'src/reconcile/stamp-corrections.ts',
        find: ' || mayBeYounger) return action;',
        replace: ') return action;',
      },
    ],
    metBy: {
      test: 'test/reconcile/stamp-corrections.test.ts',
      because: 'no seed of 20,000 has an action begin between the step back and its detection, and end late',
    },
  },
  {
    id: '13-lost',
    title: 'a lost action counts as ended as soon as the wall clock has jumped beyond its deadline',
    edits: [
      {
        file: 'src/reconcile/decision-context.ts',
        find: '  return leftMs === undefined ? Date',
        replace: '  return leftMs !== -1 ? Date',
      },
    ],
  },
];
