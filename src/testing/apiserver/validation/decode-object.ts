// Decodes what a client sent: checks kind and types, and drops, warns about or rejects unknown fields. The *-rules.ts files
// validate the values.

import { type ApiError, badRequest, invalid, invalidValue } from "../objects/api-error.ts";
import { isObject, type Json, type JsonObject, objectAt, textAt } from "../objects/json.ts";
import { apiVersionOf, type Resource } from "../objects/resource-table.ts";
import { FieldCheck, WrongTypeError } from "./check-fields.ts";

export type FieldValidation = "Strict" | "Warn" | "Ignore";

export interface DecodeOptions {
  readonly fieldValidation?: FieldValidation;
  readonly warn?: (text: string) => void;
}

const quote = (path: string): string => `unknown field "${path}"`;

function reportUnknownFields(
  check: FieldCheck,
  options: DecodeOptions,
  refuse: (why: string) => ApiError,
): void {
  if (check.unknown.length === 0) return;
  const problems = check.unknown.sort().map(quote);
  if (options.fieldValidation === "Strict") throw refuse(`strict decoding error: ${problems.join(", ")}`);
  if (options.fieldValidation !== "Ignore") for (const problem of problems) options.warn?.(problem);
}

export function readJson(text: string, kind: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw Object.assign(
      badRequest(
        `the object provided is unrecognized (must be of type ${kind}): couldn't get version/kind; json parse error: ${cause instanceof Error ? cause.message : cause} (${text.slice(0, 100)})`,
      ),
      { cause },
    );
  }
  if (!isObject(value)) {
    throw badRequest(`the object provided is unrecognized (must be of type ${kind}): expected a JSON object`);
  }
  return value;
}

/** Decodes a whole object, as POST and PUT send it. */
export function decodeObject(
  resource: Resource,
  given: JsonObject,
  before: JsonObject | undefined,
  options: DecodeOptions,
): JsonObject {
  const apiVersion = textAt(given, "apiVersion") || apiVersionOf(resource);
  const kind = textAt(given, "kind") || resource.kind;
  if (kind !== resource.kind || apiVersion !== apiVersionOf(resource)) {
    const version = apiVersion.split("/").at(-1) ?? "";
    throw badRequest(
      `${kind} in version "${version}" cannot be handled as a ${resource.kind}: converting (${version}.${kind}) to (core.${resource.kind}): unknown conversion`,
    );
  }
  const check = new FieldCheck();
  const refuse = (why: string): ApiError =>
    badRequest(`${kind} in version "${resource.version}" cannot be handled as a ${kind}: ${why}`);
  let object: JsonObject;
  try {
    object = check.object(given, resource.schema, before);
  } catch (error) {
    if (error instanceof WrongTypeError) throw Object.assign(refuse(error.message), { cause: error });
    throw error;
  }
  reportUnknownFields(check, options, refuse);
  return { ...object, kind, apiVersion, metadata: objectAt(object, "metadata") };
}

/** Decodes the result of a patch. The server's error messages differ here. */
export function decodePatched(
  resource: Resource,
  patched: JsonObject,
  before: JsonObject,
  options: DecodeOptions,
): JsonObject {
  const check = new FieldCheck();
  const refuse = (why: string): ApiError =>
    invalid("", "", "", [invalidValue("patch", JSON.stringify(patched) as Json, why)]);
  let object: JsonObject;
  try {
    object = check.object(patched, resource.schema, before);
  } catch (error) {
    if (error instanceof WrongTypeError) throw Object.assign(refuse(error.message), { cause: error });
    throw error;
  }
  reportUnknownFields(check, options, refuse);
  return object;
}
