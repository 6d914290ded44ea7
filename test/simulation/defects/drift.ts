// Planted defects of drift, of requests for single servers, and of calls that end with themselves.
import type { PlantedDefect } from '../planted-defect.ts';

export const DRIFT_DEFECTS: readonly PlantedDefect[] = [
  {
    id: 'drift-slot',
    title: 'healing takes no slot of its group',
    edits: [
      {
        file: 'src/machine/rollout.ts',
        find: 'if (row.dirty || isBeyond) return true;',
        replace: 'if (row.dirty || isBeyond || row.healing !== undefined) return true;',
      },
    ],
  },
  {
    id: 'drift-many-gone',
    title: 'a site that answers absent for all its servers has all of them made anew',
    edits: [
      {
        file: 'src/reconcile/server-pass.ts',
        find: 'hasManyGone: () => sites.areManyGone(name, row)',
        replace: 'hasManyGone: () => false',
      },
    ],
  },
  {
    id: 'drift-all-gone',
    title: 'the servers of a site that are all gone are made anew where they are few',
    edits: [
      {
        file: 'src/reconcile/site-witness.ts',
        find: 'return !isKnown && this.hasOthers(server, row);',
        replace: 'return false;',
      },
    ],
  },
  {
    id: 'drift-missed',
    title: 'servers of a site that are all gone are made anew by updates that did not find them after a failed try',
    metBy: {
      test: 'test/reconcile/many-gone.test.ts',
      because: 'hardly ever are all servers of a site gone and its updates fail',
    },
    edits: [
      {
        file: 'src/machine/conclude.ts',
        find: 'if (row.wanted === null || !at.hasOthers?.())',
        replace: 'if (row.wanted === null || row.attempt > 0 || !at.hasOthers?.())',
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
        file: 'src/reconcile/server-checks.ts',
        find: "result?.kind === 'check' && !isRoutine &&",
        replace: "result?.kind === 'check' &&",
      },
    ],
  },
  {
    id: 'drift-breaker',
    title: 'healing never stops',
    edits: [
      {
        file: 'src/machine/drift.ts',
        find: 'if (fought.length > 0) return',
        replace: 'if (fought.length > 99) return',
      },
    ],
  },
  {
    id: 'drift-rounds',
    title: 'rounds of healing are forgotten as soon as a check finds the server as wanted',
    edits: [
      {
        file: 'src/machine/drift.ts',
        find: 'return row.checked ? row : { ...row, checked: true };',
        replace: 'return withoutHealing(row);',
      },
    ],
  },
  {
    id: 'drift-report',
    title: 'drift is healed where it is only to be reported',
    edits: [
      {
        file: 'src/machine/drift.ts',
        find: "if (policy !== 'heal') return",
        replace: "if (policy === 'off') return",
      },
    ],
  },
  {
    id: 'drift-entry',
    title: 'the policy of the provider entry wins over that of the instance',
    edits: [
      {
        file: 'src/machine/drift.ts',
        find: "return row.policy.drift ?? entry ?? 'report';",
        replace: "return entry ?? row.policy.drift ?? 'report';",
      },
    ],
  },
  {
    id: 'drift-off',
    title: 'servers are checked where drift is off',
    edits: [
      {
        file: 'src/reconcile/check-plan.ts',
        find: "return isRequested || driftPolicyOf(row, entry.drift) !== 'off' ? row.provider : null;",
        replace: 'return isRequested || driftPolicyOf(row, entry.drift) ? row.provider : null;',
      },
    ],
  },
  {
    id: 'drift-try',
    title: 'a routine check that fails counts as a failed try',
    edits: [
      {
        file: 'src/reconcile/server-checks.ts',
        find: 'return result !== undefined && !(isRoutine && !isAnswered);',
        replace: 'return result !== undefined;',
      },
      {
        file: 'src/machine/conclude.ts',
        find: "if (row.state !== 'unknown' && (row.state !== 'pending' || row.wanted === null)) return row;",
        replace: 'if (row.wanted === null) return row;',
      },
    ],
  },
  {
    id: 'drift-pause',
    title: 'a check that answers is followed by the next one at once',
    edits: [
      {
        file: 'src/reconcile/check-plan.ts',
        find: 'return longer * (1 - JITTER + 2 * JITTER * random);',
        replace: 'return (longer * (1 - JITTER + 2 * JITTER * random)) / (failures === 0 ? 3 : 1);',
      },
    ],
  },
  {
    id: 'drift-id',
    title: 'healing gives its action no id of its own',
    metBy: { test: 'test/machine/drift.test.ts', because: 'simulated sites do not recognise repeated calls' },
    edits: [
      {
        file: 'src/machine/drift.ts',
        find: 'return requeue(row, { ...when, attempt: 0, generation: row.generation + 1 });',
        replace: 'return requeue(row, { ...when, attempt: 0 });',
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
    id: 'replace-counts',
    title: 'a replacement that a person asked for counts against the budget',
    edits: [
      {
        file: 'src/machine/requests.ts',
        find: 'adopting: false, replacing: true, approved: true });',
        replace: 'adopting: false, replacing: true });',
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
  {
    id: 'pretended',
    title: 'a server that was only pretended to be made waits for a person when it is to be real',
    edits: [
      {
        file: 'src/reconcile/responsible-provider.ts',
        find: 'if (row.isPretended !== true || row.provider === null) return false;',
        replace: 'if (row.isPretended || row.provider === null) return false;',
      },
    ],
  },
  {
    id: 'ends-with-call',
    title: 'a call that still runs something is given up, as if it had ended with the controller',
    edits: [
      {
        file: 'src/execute/executor.ts',
        find: "if (entry.provider.lostActionEnds !== 'with its call') reject(",
        replace: 'if (entry.provider.lostActionEnds !== undefined) reject(',
      },
    ],
  },
];
