// Defines the error for a request that cannot be served. The codes are a closed list; api/errors.ts maps each to one
// HTTP status.

/** Why a request cannot be served. */
export type ServiceErrorCode =
  | 'invalid_input'
  | 'unauthorized'
  | 'client_not_registered'
  | 'fingerprint_mismatch'
  | 'certificate_expired'
  | 'foreign_origin'
  | 'not_allowed'
  | 'not_found'
  | 'method_not_allowed'
  | 'conflict'
  | 'edit_by_hand'
  | 'push_refused'
  | 'outcome_unknown'
  | 'precondition_failed'
  | 'body_too_large'
  | 'uri_too_long'
  | 'unsupported_media_type'
  | 'breaks_others'
  | 'too_many_requests'
  | 'not_ready'
  | 'internal';

/** One mistake in a request, or one problem that the write would cause. */
export interface ErrorDetail {
  readonly file?: string;
  readonly line?: number;
  readonly column?: number;
  readonly pointer: string;
  readonly message: string;
}

/** The error for a request that cannot be served. */
export class ServiceError extends Error {
  readonly code: ServiceErrorCode;
  readonly details: readonly ErrorDetail[];

  constructor(code: ServiceErrorCode, message: string, details: readonly ErrorDetail[] = []) {
    super(message);
    this.name = 'ServiceError';
    this.code = code;
    this.details = details;
  }
}
