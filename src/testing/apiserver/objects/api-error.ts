// The API server's errors, with upstream's messages: a metav1.Status with reason, code and details.

import { defined } from "../../../core/defined.ts";
import type { JsonObject } from "./json.ts";
import type { Resource } from "./resource-table.ts";

export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly code: number;
  readonly reason: string;
  readonly status: JsonObject;

  constructor(code: number, reason: string, message: string, details?: JsonObject) {
    super(message);
    this.code = code;
    this.reason = reason;
    this.status = defined({
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message,
      reason,
      details,
      code,
    });
  }
}

const qualified = (word: string, group: string): string => (group === "" ? word : `${word}.${group}`);

/** The object details in a Status. */
function detailsOf(name: string, group: string, kind: string): JsonObject {
  return defined({ name: name || undefined, group: group || undefined, kind: kind || undefined });
}

export function notFound({ plural, group }: Resource, name: string): ApiError {
  const message = `${qualified(plural, group)} "${name}" not found`;
  return new ApiError(404, "NotFound", message, detailsOf(name, group, plural));
}

export function alreadyExists({ plural, group }: Resource, name: string): ApiError {
  const message = `${qualified(plural, group)} "${name}" already exists`;
  return new ApiError(409, "AlreadyExists", message, detailsOf(name, group, plural));
}

export function conflict({ plural, group }: Resource, name: string, why: string, word = plural): ApiError {
  const message = `Operation cannot be fulfilled on ${qualified(word, group)} "${name}": ${why}`;
  return new ApiError(409, "Conflict", message, detailsOf(name, group, word));
}

export function forbidden({ plural, group }: Resource, name: string, why: string): ApiError {
  const message = `${qualified(plural, group)} ${name === "" ? "" : `"${name}" `}is forbidden: ${why}`;
  return new ApiError(403, "Forbidden", message, detailsOf(name, group, plural));
}

export function invalid(kind: string, group: string, name: string, causes: readonly Cause[]): ApiError {
  const texts = causes.map(({ field, message }) => `${field}: ${message}`);
  const what = texts.length === 1 ? texts[0] : `[${texts.join(", ")}]`;
  return new ApiError(422, "Invalid", `${qualified(kind, group)} "${name}" is invalid: ${what}`, {
    ...detailsOf(name, group, kind),
    causes: causes.map((cause) => ({ ...cause })),
  });
}

export const badRequest = (message: string): ApiError => new ApiError(400, "BadRequest", message);
export const unauthorized = (): ApiError => new ApiError(401, "Unauthorized", "Unauthorized");
export const expired = (message: string): ApiError => new ApiError(410, "Expired", message);
export const noSuchResource = (): ApiError =>
  new ApiError(404, "NotFound", "the server could not find the requested resource", {});
export const methodNotAllowed = (): ApiError =>
  new ApiError(
    405,
    "MethodNotAllowed",
    "the server does not allow this method on the requested resource",
    {},
  );
export const unsupportedMediaType = (message = "415: Unsupported Media Type"): ApiError =>
  new ApiError(415, "UnsupportedMediaType", message, {});
export const rejected = (): ApiError =>
  new ApiError(422, "Invalid", "the server rejected our request due to an error in our request", {});

/** The problem with a field, with upstream's message. */
export interface Cause {
  readonly reason: string;
  readonly message: string;
  readonly field: string;
}

function cause(reason: string, field: string, problem: string, detail: string): Cause {
  return { reason: `FieldValue${reason}`, message: detail === "" ? problem : `${problem}: ${detail}`, field };
}

export const required = (field: string, detail = ""): Cause =>
  cause("Required", field, "Required value", detail);

export const invalidValue = (field: string, value: unknown, detail: string): Cause =>
  cause("Invalid", field, `Invalid value: ${JSON.stringify(value)}`, detail);

export const forbiddenField = (field: string, detail: string): Cause =>
  cause("Forbidden", field, "Forbidden", detail);

export const duplicate = (field: string, value: unknown, detail = ""): Cause =>
  cause("Duplicate", field, `Duplicate value: ${JSON.stringify(value)}`, detail);

export function notSupported(field: string, value: unknown, supported: readonly string[]): Cause {
  const words = supported.map((word) => JSON.stringify(word)).join(", ");
  return cause(
    "NotSupported",
    field,
    `Unsupported value: ${JSON.stringify(value)}`,
    `supported values: ${words}`,
  );
}
