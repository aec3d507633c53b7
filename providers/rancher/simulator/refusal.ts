// The API's error responses: each code with its status.

import { type Answer, RequestRefusal } from "#ccm/testing";

export const errorStatuses = {
  InvalidBodyContent: 400,
  Unauthorized: 401,
  Forbidden: 403,
  NotFound: 404,
  MethodNotAllowed: 405,
  Conflict: 409,
  ActionNotAvailable: 422,
  InvalidAction: 422,
  InvalidCharacters: 422,
  InvalidFormat: 422,
  InvalidOption: 422,
  InvalidReference: 422,
  InvalidState: 422,
  MaxLengthExceeded: 422,
  MaxLimitExceeded: 422,
  MinLengthExceeded: 422,
  MinLimitExceeded: 422,
  MissingRequired: 422,
  NotUnique: 422,
  PortInvalidProtocol: 422,
  PortWrongFormat: 422,
  ServerError: 500,
} as const;

export type ErrorCode = keyof typeof errorStatuses;

/** The codes of an invalid request that come with a message. */
const described: ReadonlySet<ErrorCode> = new Set(["InvalidState", "PortInvalidProtocol", "PortWrongFormat"]);

/** A request that the API rejects. The message is for test output, unless the server sends one. */
export class Refusal extends RequestRefusal {
  readonly code: ErrorCode;
  readonly fieldName: string | undefined;

  constructor(code: ErrorCode, message: string, fieldName?: string) {
    super(message);
    this.code = code;
    this.fieldName = fieldName;
  }

  toAnswer(): Answer {
    const { code, fieldName } = this;
    const status = errorStatuses[code];
    const message = status !== 422 || described.has(code) ? this.message : null;
    return {
      status,
      body: { type: "error", status, code, message, detail: null, ...(fieldName && { fieldName }) },
    };
  }
}
