// Failures as the API server words them: a metav1.Status with reason, code and details. Nothing here decides when one is due.

import type { JsonObject } from "../storage/json.ts";
import type { Resource } from "../storage/resource-table.ts";

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

  constructor(
    code: number,
    reason: string,
    message: string,
    details?: JsonObject,
    metadata: JsonObject = {},
  ) {
    super(message);
    this.code = code;
    this.reason = reason;
    this.status = {
      kind: "Status",
      apiVersion: "v1",
      metadata,
      status: "Failure",
      message,
      reason,
      ...(details !== undefined && { details }),
      code,
    };
  }
}

const groupOf = (resource: Resource): JsonObject => (resource.group === "" ? {} : { group: resource.group });
const qualified = (word: string, resource: Resource): string =>
  resource.group === "" ? word : `${word}.${resource.group}`;

export const notFound = (resource: Resource, name: string): ApiError =>
  new ApiError(404, "NotFound", `${qualified(resource.plural, resource)} "${name}" not found`, {
    name,
    ...groupOf(resource),
    kind: resource.plural,
  });

export const alreadyExists = (resource: Resource, name: string): ApiError =>
  new ApiError(409, "AlreadyExists", `${qualified(resource.plural, resource)} "${name}" already exists`, {
    name,
    ...groupOf(resource),
    kind: resource.plural,
  });

export const conflict = (resource: Resource, name: string, why: string, word = resource.plural): ApiError =>
  new ApiError(
    409,
    "Conflict",
    `Operation cannot be fulfilled on ${qualified(word, resource)} "${name}": ${why}`,
    {
      name,
      ...groupOf(resource),
      kind: word,
    },
  );

export const modified = (resource: Resource, name: string): ApiError =>
  conflict(
    resource,
    name,
    "the object has been modified; please apply your changes to the latest version and try again",
  );

export const invalid = (
  kind: string,
  group: string,
  name: string,
  causes: readonly Cause[],
  code = 422,
): ApiError => {
  const texts = causes.map(({ field, message }) => `${field}: ${message}`);
  const what = group === "" ? kind : `${kind}.${group}`;
  return new ApiError(
    code,
    "Invalid",
    `${what} "${name}" is invalid: ${texts.length === 1 ? texts[0] : `[${texts.join(", ")}]`}`,
    {
      ...(name !== "" && { name }),
      ...(group !== "" && { group }),
      ...(kind !== "" && { kind }),
      causes: causes.map((cause) => ({ ...cause })),
    },
  );
};

export const badRequest = (message: string): ApiError => new ApiError(400, "BadRequest", message);

export const rejected = (): ApiError =>
  new ApiError(422, "Invalid", "the server rejected our request due to an error in our request", {});

export const forbidden = (resource: Resource, name: string, why: string): ApiError =>
  new ApiError(
    403,
    "Forbidden",
    `${qualified(resource.plural, resource)} ${name === "" ? "" : `"${name}" `}is forbidden: ${why}`,
    { ...(name !== "" && { name }), ...groupOf(resource), kind: resource.plural },
  );

export const expired = (message: string, metadata: JsonObject = {}): ApiError =>
  new ApiError(410, "Expired", message, undefined, metadata);

export const noSuchResource = (): ApiError =>
  new ApiError(404, "NotFound", "the server could not find the requested resource", {});

export const methodNotAllowed = (): ApiError =>
  new ApiError(
    405,
    "MethodNotAllowed",
    "the server does not allow this method on the requested resource",
    {},
  );

export const unauthorized = (): ApiError => new ApiError(401, "Unauthorized", "Unauthorized");

// The words Kubernetes has for what is wrong with one field.
export const required = (field: string, detail = ""): Cause => ({
  reason: "FieldValueRequired",
  message: detail === "" ? "Required value" : `Required value: ${detail}`,
  field,
});
export const invalidValue = (field: string, value: unknown, detail: string): Cause => ({
  reason: "FieldValueInvalid",
  message: `Invalid value: ${JSON.stringify(value)}: ${detail}`,
  field,
});
export const notSupported = (field: string, value: unknown, supported: readonly string[]): Cause => ({
  reason: "FieldValueNotSupported",
  message: `Unsupported value: ${JSON.stringify(value)}: supported values: ${supported.map((word) => JSON.stringify(word)).join(", ")}`,
  field,
});
export const forbiddenField = (field: string, detail: string): Cause => ({
  reason: "FieldValueForbidden",
  message: `Forbidden: ${detail}`,
  field,
});
export const duplicate = (field: string, value: unknown, detail = ""): Cause => ({
  reason: "FieldValueDuplicate",
  message: `Duplicate value: ${JSON.stringify(value)}${detail === "" ? "" : `: ${detail}`}`,
  field,
});
