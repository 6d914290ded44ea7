// Writes every delete that begins to the audit log, from its durable intent and before the provider is called. The
// approval is a line of its own; both lines have its digest.
import type { AuditLog } from '../base/audit-log.ts';
import type { Change, ServerRow } from '../model/rows.ts';
import type { Ledger } from './ledger.ts';

interface AuditDeletesOptions {
  readonly ledger: Pick<Ledger, 'watch'>;
  readonly audit: Pick<AuditLog, 'record'>;
}

type ServerChange = Extract<Change, { readonly kind: 'server' }>;

/** Watches the ledger of a leader. */
export function auditDeletes({ ledger, audit }: AuditDeletesOptions): void {
  /** By instance, the digest of an approval that was not used yet. */
  const open = new Map<string, string>();
  /** By server, the digest of the approval that allowed its delete. */
  const used = new Map<string, string>();
  ledger.watch((change, cause) => {
    if (change.kind === 'server') {
      followServer(change, { open, used });
      recordDelete(change, used, audit);
    } else if (change.kind === 'approval' && change.value === null) {
      for (const [instance, digest] of open) if (digest === change.name) open.delete(instance);
    } else if (change.kind === 'approval' && cause?.kind === 'operation' && cause.instance !== null) {
      open.set(cause.instance, change.name);
    }
  });
}

type Digests = Map<string, string>;

/** An activation writes the servers before it removes the approvals that it has used. */
function followServer({ name, expected: before, value: row }: ServerChange, digests: Record<'open' | 'used', Digests>) {
  const digest = row === null ? undefined : digests.open.get(row.instance);
  if (row?.approved !== true) digests.used.delete(name);
  else if (before?.approved !== true && digest !== undefined) digests.used.set(name, digest);
}

function recordDelete(
  { name: server, expected: before, value: row }: ServerChange,
  used: ReadonlyMap<string, string>,
  audit: AuditDeletesOptions['audit'],
): void {
  const action = row?.action;
  if (!row || action?.operation !== 'delete' || action.started === before?.action?.started) return;
  const { instance, commit, approved, wanted }: ServerRow = row;
  audit.record({
    kind: wanted === null ? 'delete' : 'replacement',
    decision: 'begun',
    server,
    instance,
    commit,
    approved: approved || action.isApproved === true,
    approval: used.get(server),
    action: action.id,
    proxy: action.claim?.client,
  });
}
