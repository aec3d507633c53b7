// The meaning of AWS error codes. The status says little: most are 400. Pure.

import type { CloudErrorKind } from "#ccm";

const throttled =
  /^(RequestLimitExceeded|Throttling|ThrottlingException|ThrottledException|RequestThrottled(Exception)?|TooManyRequestsException|EC2ThrottledException|SlowDown|BandwidthLimitExceeded)$/;

/** The timestamp of the request is invalid, or its signature may be invalid because of the timestamp. */
const timed =
  /^(RequestExpired|RequestInTheFuture|RequestTimeTooSkewed|AuthFailure|SignatureDoesNotMatch|InvalidSignatureException)$/;

const rejected =
  /^(ExpiredToken(Exception)?|InvalidClientTokenId|UnrecognizedClientException|InvalidAccessKeyId|InvalidToken|IncompleteSignature|MissingAuthenticationToken(Exception)?|InvalidIdentityToken|IDPRejectedClaim)$/;

const forbidden =
  /^(UnauthorizedOperation|AccessDenied(Exception)?|OptInRequired|Blocked|PendingVerification)$/;

/** The object that the request refers to is missing: the request stays invalid until the user corrects it. */
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

/** Whether the error may be caused by this machine's clock. */
export const mayBeClock = (code: string | undefined): boolean => code !== undefined && timed.test(code);
