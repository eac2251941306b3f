// What calls raise. `ClientError.reason` is the server's code; its words are in docs/protocol.md.

import type { Notice } from "./gen/quizglass/v1/session_pb.js";
import type { BadRequest, ErrorInfo, RetryInfo } from "./gen/google/rpc/error_details_pb.js";

/** Numbers of google.rpc.Code, by name. */
export enum Status {
  OK = 0,
  CANCELLED = 1,
  UNKNOWN = 2,
  INVALID_ARGUMENT = 3,
  DEADLINE_EXCEEDED = 4,
  NOT_FOUND = 5,
  ALREADY_EXISTS = 6,
  PERMISSION_DENIED = 7,
  RESOURCE_EXHAUSTED = 8,
  FAILED_PRECONDITION = 9,
  ABORTED = 10,
  OUT_OF_RANGE = 11,
  UNIMPLEMENTED = 12,
  INTERNAL = 13,
  UNAVAILABLE = 14,
  DATA_LOSS = 15,
  UNAUTHENTICATED = 16,
}

/** More about an error. */
export interface ErrorDetails {
  /** Reason code of the server, e.g. INVALID_FIELD; empty when it sent none. */
  reason?: string;
  metadata?: Record<string, string>;
  /** Path of the field that is wrong. */
  field?: string;
  /** Milliseconds after which another attempt may succeed; undefined: not said. */
  retryAfterMs?: number | undefined;
}

/**
 * Base of everything a session raises.
 *
 * - ServerUnavailable: nothing answers there, or not in time
 * - Overloaded: no room now
 * - DeadlineExceeded: no time was left to say anything
 * - Cancelled: the turn was interrupted, or the session closed
 * - Unauthenticated: the server asks for a token, and no valid one came
 * - NotPermitted: the token does not allow it
 * - InvalidRequest: a field is wrong; `field` names it
 * - NotFound: something named does not exist
 * - NotSupported: the server cannot do it
 * - SessionLost: the session could not be resumed, and a question was half answered, or its sound is gone (SOUND_LOST)
 * - ServerError: the server failed
 */
export class ClientError extends Error {
  readonly reason: string;
  readonly metadata: Record<string, string>;
  readonly field: string;
  readonly retryAfterMs: number | undefined;

  constructor(
    message: string,
    readonly status: Status,
    details: ErrorDetails = {},
  ) {
    super(message);
    this.name = new.target.name;
    this.reason = details.reason ?? "";
    this.metadata = details.metadata ?? {};
    this.field = details.field ?? "";
    this.retryAfterMs = details.retryAfterMs;
  }
}

export class ServerUnavailable extends ClientError {}
export class Overloaded extends ClientError {}
export class DeadlineExceeded extends ClientError {}
export class Cancelled extends ClientError {}
export class Unauthenticated extends ClientError {}
export class NotPermitted extends ClientError {}
export class InvalidRequest extends ClientError {}
export class NotFound extends ClientError {}
export class NotSupported extends ClientError {}
export class SessionLost extends ClientError {}
export class ServerError extends ClientError {}

const CLASSES: Partial<Record<Status, typeof ClientError>> = {
  [Status.UNAVAILABLE]: ServerUnavailable,
  [Status.RESOURCE_EXHAUSTED]: Overloaded,
  [Status.DEADLINE_EXCEEDED]: DeadlineExceeded,
  [Status.CANCELLED]: Cancelled,
  [Status.UNAUTHENTICATED]: Unauthenticated,
  [Status.PERMISSION_DENIED]: NotPermitted,
  [Status.INVALID_ARGUMENT]: InvalidRequest,
  [Status.NOT_FOUND]: NotFound,
  [Status.FAILED_PRECONDITION]: NotSupported,
  [Status.UNIMPLEMENTED]: NotSupported,
};

/** The error of a status. */
export function errorOf(status: Status, message: string, details: ErrorDetails = {}): ClientError {
  return new (CLASSES[status] ?? ServerError)(message || Status[status] || "the call failed", status, details);
}

/** The error that the details of a failed call tell of, as google.rpc has them. */
export function errorOfCall(
  status: Status,
  message: string,
  info?: ErrorInfo,
  bad?: BadRequest,
  retry?: RetryInfo,
): ClientError {
  const delay = retry?.retryDelay;
  return errorOf(status, message, {
    reason: info?.reason ?? "",
    metadata: info?.metadata ?? {},
    field: bad?.fieldViolations[0]?.field ?? "",
    retryAfterMs: delay && Number(delay.seconds) * 1000 + delay.nanos / 1e6,
  });
}

/** The error of a failure within a session. */
export function errorOfNotice(notice: Notice): ClientError {
  return errorOf(notice.status, notice.text, {
    reason: notice.reason,
    metadata: notice.metadata,
    field: notice.field,
    retryAfterMs: notice.retryAfterUs ? Number(notice.retryAfterUs) / 1000 : undefined,
  });
}

/** The error of an argument that cannot be. */
export function invalid(field: string, told: string): InvalidRequest {
  return new InvalidRequest(`${field}: ${told}`, Status.INVALID_ARGUMENT, { reason: "INVALID_FIELD", field });
}
