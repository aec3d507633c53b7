// The API server's errors, with upstream's messages: a metav1.Status with reason, code and details.

import { defined } from "../../../core/defined.ts";
import type { JsonObject } from "./json.ts";
import type { Resource } from "./resource-table.ts";

export interface Cause {
  readonly reason: string;
  readonly message: string;
  readonly field: string;
}

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

const groupOf = (resource: Resource): JsonObject => (resource.group === "" ? {} : { group: resource.group });
function qualified(word: string, resource: Resource): string {
  return resource.group === "" ? word : `${word}.${resource.group}`;
}

export function notFound(resource: Resource, name: string): ApiError {
  return new ApiError(404, "NotFound", `${qualified(resource.plural, resource)} "${name}" not found`, {
    name,
    ...groupOf(resource),
    kind: resource.plural,
  });
}

export function alreadyExists(resource: Resource, name: string): ApiError {
  return new ApiError(
    409,
    "AlreadyExists",
    `${qualified(resource.plural, resource)} "${name}" already exists`,
    {
      name,
      ...groupOf(resource),
      kind: resource.plural,
    },
  );
}

export function conflict(resource: Resource, name: string, why: string, word = resource.plural): ApiError {
  return new ApiError(
    409,
    "Conflict",
    `Operation cannot be fulfilled on ${qualified(word, resource)} "${name}": ${why}`,
    {
      name,
      ...groupOf(resource),
      kind: word,
    },
  );
}

export function modified(resource: Resource, name: string): ApiError {
  return conflict(
    resource,
    name,
    "the object has been modified; please apply your changes to the latest version and try again",
  );
}

export function invalid(
  kind: string,
  group: string,
  name: string,
  causes: readonly Cause[],
  code = 422,
): ApiError {
  const texts = causes.map(({ field, message }) => `${field}: ${message}`);
  const what = group === "" ? kind : `${kind}.${group}`;
  return new ApiError(
    code,
    "Invalid",
    `${what} "${name}" is invalid: ${texts.length === 1 ? texts[0] : `[${texts.join(", ")}]`}`,
    defined({
      name: name || undefined,
      group: group || undefined,
      kind: kind || undefined,
      causes: causes.map((cause) => ({ ...cause })),
    }),
  );
}

export const badRequest = (message: string): ApiError => new ApiError(400, "BadRequest", message);

export function rejected(): ApiError {
  return new ApiError(422, "Invalid", "the server rejected our request due to an error in our request", {});
}

export function forbidden(resource: Resource, name: string, why: string): ApiError {
  return new ApiError(
    403,
    "Forbidden",
    `${qualified(resource.plural, resource)} ${name === "" ? "" : `"${name}" `}is forbidden: ${why}`,
    defined({ name: name || undefined, ...groupOf(resource), kind: resource.plural }),
  );
}

export const expired = (message: string): ApiError => new ApiError(410, "Expired", message);

export function noSuchResource(): ApiError {
  return new ApiError(404, "NotFound", "the server could not find the requested resource", {});
}

export function methodNotAllowed(): ApiError {
  return new ApiError(
    405,
    "MethodNotAllowed",
    "the server does not allow this method on the requested resource",
    {},
  );
}

export const unauthorized = (): ApiError => new ApiError(401, "Unauthorized", "Unauthorized");

// Causes: what is wrong with one field, with upstream's messages.

export function required(field: string, detail = ""): Cause {
  return {
    reason: "FieldValueRequired",
    message: detail === "" ? "Required value" : `Required value: ${detail}`,
    field,
  };
}
export function invalidValue(field: string, value: unknown, detail: string): Cause {
  return {
    reason: "FieldValueInvalid",
    message: `Invalid value: ${JSON.stringify(value)}: ${detail}`,
    field,
  };
}
export function notSupported(field: string, value: unknown, supported: readonly string[]): Cause {
  return {
    reason: "FieldValueNotSupported",
    message: `Unsupported value: ${JSON.stringify(value)}: supported values: ${supported.map((word) => JSON.stringify(word)).join(", ")}`,
    field,
  };
}
export function forbiddenField(field: string, detail: string): Cause {
  return {
    reason: "FieldValueForbidden",
    message: `Forbidden: ${detail}`,
    field,
  };
}
export function duplicate(field: string, value: unknown, detail = ""): Cause {
  return {
    reason: "FieldValueDuplicate",
    message: `Duplicate value: ${JSON.stringify(value)}${detail === "" ? "" : `: ${detail}`}`,
    field,
  };
}
