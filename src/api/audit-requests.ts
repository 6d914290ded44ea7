// Writes into the audit log what clients have asked for and what became of it: before the answer is sent, on the
// replica that decides. See docs/operate.md, the audit log, and ARCHITECTURE.md, "Audit log".
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AuditEntry, AuditLog } from '../base/audit-log.ts';
import { isMap } from '../model/json.ts';
import { findClient, type RequestStep } from './authenticate.ts';
import { findPeer, isForwarded } from './peer.ts';
import { requestIdOf } from './present.ts';

/** Tells the leader which replica has forwarded a request. No client sends it. */
export const FORWARDED_BY = 'x-treeline-forwarded-by';

type Facts = Partial<AuditEntry>;

interface Audited {
  readonly audit: Pick<AuditLog, 'record'>;
  /** What the request is for, once that is known. */
  facts: Facts;
}

const audits = new WeakMap<ServerResponse, Audited>();

/** Returns the step that has requests written into the audit log. */
export function auditRequests(audit: Pick<AuditLog, 'record'>): RequestStep {
  return (_request, response, next) => {
    audits.set(response, { audit, facts: {} });
    next();
  };
}

/** Notes what a request asks for: from now on, it is written how it ends. */
export function auditAction(response: ServerResponse, facts: Facts): void {
  const audited = audits.get(response);
  if (audited !== undefined) audited.facts = { ...audited.facts, ...facts };
}

/** Returns an operation, and what its body says it is for. */
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

/** Writes that what a request asks for is done. */
export function auditDone(response: ServerResponse, outcome: Pick<AuditEntry, 'commit' | 'branch'> = {}): void {
  const audited = audits.get(response);
  const { kind } = audited?.facts ?? {};
  if (audited === undefined || kind === undefined) return;
  audited.audit.record({ ...requestFacts(response), ...audited.facts, ...outcome, kind, decision: 'allowed' });
  audited.facts = {};
}

/** Writes that a request is refused: what was asked for, or any request of one who may not ask it. */
export function auditRefusal(response: ServerResponse, code: string, { status, message }: Refusal): void {
  const audited = audits.get(response);
  if (audited === undefined) return;
  const { audit, facts } = audited;
  const isForbidden = status === 401 || status === 403;
  const kind = isForbidden ? 'permission' : facts.kind;
  if (kind === undefined) return;
  const decision = status === 500 || code === 'outcome_unknown' ? 'unknown' : 'refused';
  // Other messages quote what is wrong in a body.
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
    // A client that is not let in may only claim to be that one.
    ...(client && { name: client.description, role: client.role }),
    remote: socket.remoteAddress,
    from: isForwarded(request) ? String(headers[FORWARDED_BY] ?? '') : undefined,
    method,
    path: url.split('?', 1)[0],
  };
}
