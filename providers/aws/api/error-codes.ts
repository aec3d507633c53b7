// What AWS's codes of errors mean. The status says little: most are 400. Pure.

import type { CloudErrorKind } from "#ccm";

const throttled =
  /^(RequestLimitExceeded|Throttling|ThrottlingException|ThrottledException|RequestThrottled(Exception)?|TooManyRequestsException|EC2ThrottledException|SlowDown|BandwidthLimitExceeded)$/;

/** The request was signed at a time that AWS refuses, or with a signature that may be wrong for that reason. */
const timed =
  /^(RequestExpired|RequestInTheFuture|RequestTimeTooSkewed|AuthFailure|SignatureDoesNotMatch|InvalidSignatureException)$/;

const rejected =
  /^(ExpiredToken(Exception)?|InvalidClientTokenId|UnrecognizedClientException|InvalidAccessKeyId|InvalidToken|IncompleteSignature|MissingAuthenticationToken(Exception)?|InvalidIdentityToken|IDPRejectedClaim)$/;

const forbidden =
  /^(UnauthorizedOperation|AccessDenied(Exception)?|OptInRequired|Blocked|PendingVerification)$/;

/** What a request for another object refers to: the request stays invalid until the user corrects it. */
const unknownReference = /^(CertificateNotFound|SubnetNotFound|AllocationIdNotFound|PolicyTypeNotFound)/;

/** The kind of an error; undefined if the status decides. */
export function kindOfCode(code: string): CloudErrorKind | undefined {
  if (throttled.test(code)) return "rate-limited";
  if (timed.test(code) || rejected.test(code)) return "unauthorized";
  if (forbidden.test(code)) return "forbidden";
  if (unknownReference.test(code)) return "invalid";
  if (
    /^(DependencyViolation|ResourceInUse|VolumeInUse|VolumeModificationRateExceeded|PriorRequestNotComplete|OperationInProgress|Incorrect\w*State)/.test(
      code,
    )
  )
    return "busy";
  if (/NotFound(Exception)?$/.test(code)) return "not-found";
  if (/Duplicate|AlreadyExists|IdempotentParameterMismatch/.test(code)) return "conflict";
  if (/^TooMany|LimitExceeded$|^Insufficient/.test(code)) return "quota";
  return undefined;
}

/** Whether a wrong clock of this machine may be the reason. */
export const mayBeClock = (code: string | undefined): boolean => code !== undefined && timed.test(code);
