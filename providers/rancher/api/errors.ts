// What the error codes of the Cattle API mean for Fairlead. Pure.

import type { CloudErrorKind, ErrorReport } from "#ccm";

/** Where the status is not precise enough. */
const kinds: Readonly<Record<string, CloudErrorKind>> = {
  Unauthorized: "unauthorized",
  Forbidden: "forbidden",
  NotFound: "not-found",
  MethodNotAllowed: "invalid",
  InvalidAction: "invalid",
  Conflict: "conflict",
  // The object changes its state now.
  ActionNotAvailable: "busy",
  InvalidState: "busy",
  // A removed object keeps its name for some seconds, and another Service may create the same external service.
  NotUnique: "conflict",
  // Another Service removed what is referred to.
  InvalidReference: "conflict",
};

/** The server sends no message with these codes. */
const texts: Readonly<Record<string, string>> = {
  ActionNotAvailable: "the action is not possible in this state",
  InvalidAction: "the action does not exist",
  InvalidCharacters: "the value has characters that are not allowed",
  InvalidFormat: "the value has a wrong format",
  InvalidOption: "the value is not allowed",
  InvalidReference: "an object that is referred to does not exist",
  MaxLengthExceeded: "the value is too long",
  MaxLimitExceeded: "the value is too large",
  MinLengthExceeded: "the value is too short",
  MinLimitExceeded: "the value is too small",
  MissingRequired: "a value is missing",
  NotUnique: "the name is taken",
};

interface ApiErrorBody {
  readonly type: "error";
  readonly code?: string | null;
  readonly message?: string | null;
  readonly detail?: string | null;
  readonly fieldName?: string | null;
}

export function isApiError(body: unknown): body is ApiErrorBody {
  return (body as Partial<ApiErrorBody> | undefined)?.type === "error";
}

/** The message with the field that is invalid, and the code. */
export function readError(body: unknown): ErrorReport {
  if (!isApiError(body)) return {};
  const { code, message, detail, fieldName } = body;
  const sent = [message, detail].filter((text) => text !== undefined && text !== null && text !== "");
  const text = sent.length === 0 ? (texts[code ?? ""] ?? "no message") : sent.join(": ");
  const field = fieldName ? ` (field ${fieldName})` : "";
  return { message: `${text}${field} [${code ?? "no code"}]`, kind: kinds[code ?? ""] };
}

/** Whether the cloud refused the creation because the name is taken. */
export const isNameTaken = (message: string): boolean => message.endsWith("[NotUnique]");
