// Has the audit log tell of every delete, and every delete of a replacement, that begins: from its durable intent, before the provider is
// called. What caused it is known of what happened in this process; else the commit is.
import type { AuditEntry, AuditLog } from '../base/audit-log.ts';
import { type Cause, clientOfCause } from '../machine/instance-events.ts';
import type { Client } from '../model/objects.ts';
import type { Change, ServerRow } from '../model/rows.ts';
import type { Ledger } from './ledger.ts';

interface AuditDeletesOptions {
  readonly ledger: Pick<Ledger, 'watch'>;
  readonly audit: Pick<AuditLog, 'record'>;
  /** Returns the registered client of a serial. */
  readonly registered: (serial: string) => Client | undefined;
}

/** The last approval for an instance. */
interface GivenApproval {
  readonly digest: string;
  readonly by: string | null;
  /** What used it up; undefined: nothing has. */
  readonly usedBy?: Cause | undefined;
}

type ServerChange = Extract<Change, { readonly kind: 'server' }>;
type ApprovalChange = Extract<Change, { readonly kind: 'approval' }>;

/** Watches the ledger of a leader. */
export function auditDeletes({ ledger, ...parts }: AuditDeletesOptions): void {
  const causes = new DeleteCauses();
  ledger.watch((change, cause) => {
    causes.follow(change, cause);
    if (change.kind === 'server') recordDelete(change, causes, parts);
  });
}

function recordDelete(
  { name: server, expected: before, value: row }: ServerChange,
  causes: DeleteCauses,
  { audit, registered }: Omit<AuditDeletesOptions, 'ledger'>,
): void {
  const action = row?.action;
  if (!row || action?.operation !== 'delete' || action.started === before?.action?.started) return;
  const { instance, commit, approved, wanted } = row;
  const { serial, ...known } = causes.of(server, row);
  const client = serial === null ? undefined : registered(serial);
  audit.record({
    ...{ kind: wanted === null ? 'delete' : 'replacement', decision: 'begun', server, instance, commit },
    ...{ approved: approved || action.isApproved === true, action: action.id, proxy: action.claim?.client },
    ...{ serial, name: client?.description, role: client?.role, ...known },
  });
}

/** Why servers go, as far as this process has seen it. */
class DeleteCauses {
  /** By server, until it is gone or wanted again. */
  readonly #causes = new Map<string, Cause>();
  /** By instance. */
  readonly #approvals = new Map<string, GivenApproval>();

  follow(change: Change, cause: Cause | undefined): void {
    if (change.kind === 'server') this.#followServer(change, cause);
    if (change.kind === 'approval') this.#followApproval(change, cause);
  }

  /** Returns who gave the approval that has a server go, or asked for what caused it. */
  of(
    server: string,
    { instance, approved }: ServerRow,
  ): Pick<AuditEntry, 'approval' | 'operation'> & { readonly serial: string | null } {
    const cause = this.#causes.get(server);
    const given = this.#approvals.get(instance);
    const used = approved && cause !== undefined && given?.usedBy === cause ? given : undefined;
    const serial = used?.by ?? (cause === undefined ? null : clientOfCause(cause, instance));
    return { serial, approval: used?.digest, operation: cause?.kind === 'operation' ? cause.operation : undefined };
  }

  #followServer({ name, expected: before, value: row }: ServerChange, cause: Cause | undefined): void {
    if (row === null || !isGoing(row)) {
      this.#causes.delete(name);
      return;
    }
    const isNews = before === undefined || !isGoing(before) || (row.approved && !before.approved);
    if (isNews && cause !== undefined && cause.kind !== 'pass') this.#causes.set(name, cause);
  }

  #followApproval({ name: digest, value }: ApprovalChange, cause: Cause | undefined): void {
    if (value !== null) {
      const instance = cause?.kind === 'operation' ? cause.instance : null;
      if (instance !== null) this.#approvals.set(instance, { digest, by: value.by });
      return;
    }
    for (const [instance, given] of this.#approvals) {
      if (given.digest === digest && given.usedBy === undefined)
        this.#approvals.set(instance, { ...given, usedBy: cause });
    }
  }
}

function isGoing({ wanted, replacing }: ServerRow): boolean {
  return wanted === null || replacing;
}
