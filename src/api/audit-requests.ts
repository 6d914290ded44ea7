// Writes requests of clients and their outcomes into the audit log, before the answer is sent, on the replica that
// decides. See docs/operate.md, the audit log, and ARCHITECTURE.md, "Audit log".
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AuditEntry, AuditLog } from '../base/audit-log.ts';
import { isMap } from '../model/json.ts';
import { findClient, type RequestStep } from './authenticate.ts';
import { findPeer, isForwarded } from './peer.ts';
import { requestIdOf } from './present.ts';

/** The header with the replica that forwarded a request. Clients cannot set it. */
export const FORWARDED_BY = 'x-treeline-forwarded-by';

type Facts = Partial<AuditEntry>;

interface Audited {
  readonly audit: Pick<AuditLog, 'record'>;
  /** The purpose of the request, once known. */
  facts: Facts;
}

const audits = new WeakMap<ServerResponse, Audited>();

/** Returns the step that makes the audit log record requests. */
export function auditRequests(audit: Pick<AuditLog, 'record'>): RequestStep {
  return (_request, response, next) => {
    audits.set(response, { audit, facts: {} });
    next();
  };
}

/** Sets the purpose of a request. From now on, its outcome is audited. */
export function auditAction(response: ServerResponse, facts: Facts): void {
  const audited = audits.get(response);
  if (audited !== undefined) audited.facts = { ...audited.facts, ...facts };
}

/** Returns the audited facts of an operation, including the target in its body. */
export function operationFacts(operation: string, body: unknown, comment: string): Facts {
  const field = (name: string): string | undefined => {
    const value = isMap(body) && Object.hasOwn(body, name) ? body[name] : undefined;
    return typeof value === 'string' ? value : undefined;
  };
  return {
    kind: operation === 'approve' || operation === 'accept-history' ? 'approval' : 'operation',
    operation,
    instance: field('instance'),
    server: field('resource'),
    object: field('digest') ?? field('commit') ?? field('provider'),
    comment: comment === '' ? undefined : comment,
  };
}

/** Records the success of a request. */
export function auditDone(response: ServerResponse, outcome: Pick<AuditEntry, 'commit' | 'branch'> = {}): void {
  const audited = audits.get(response);
  const { kind } = audited?.facts ?? {};
  if (audited === undefined || kind === undefined) return;
  audited.audit.record({ ...requestFacts(response), ...audited.facts, ...outcome, kind, decision: 'allowed' });
  audited.facts = {};
}

/** Records the refusal of a request, if its purpose is known or the client lacks the right. */
export function auditRefusal(response: ServerResponse, code: string, { status, message }: Refusal): void {
  const audited = audits.get(response);
  if (audited === undefined) return;
  const { audit, facts } = audited;
  const isForbidden = status === 401 || status === 403;
  const kind = isForbidden ? 'permission' : facts.kind;
  if (kind === undefined) return;
  const decision = status === 500 || code === 'outcome_unknown' ? 'unknown' : 'refused';
  // Other messages may quote the body.
  const reason = isForbidden ? message : undefined;
  audit.record({ ...requestFacts(response), ...facts, kind, decision, code, reason });
  audited.facts = {};
}

interface Refusal {
  readonly status: number;
  readonly message: string;
}

function requestFacts(response: ServerResponse): Facts {
  const request: IncomingMessage = response.req;
  const { method, url = '', socket, headers } = request;
  const client = findClient(request);
  return {
    request: requestIdOf(response),
    serial: client?.serial ?? findPeer(request)?.serial,
    // The name and role are only certain for an authenticated client.
    ...(client && { name: client.description, role: client.role }),
    remote: socket.remoteAddress,
    from: isForwarded(request) ? String(headers[FORWARDED_BY] ?? '') : undefined,
    method,
    path: url.split('?', 1)[0],
  };
}
