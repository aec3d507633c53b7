// Decodes what a client sent: checks kind and types, and drops, warns about or rejects unknown fields. The *-rules.ts files
// validate the values.

import { type ApiError, badRequest, invalid, invalidValue } from "../objects/api-error.ts";
import { isObject, type JsonObject, objectAt, textAt } from "../objects/json.ts";
import { type Resource, versionOf } from "../objects/resource-table.ts";
import { DecodeError, FieldCheck } from "./check-fields.ts";

type FieldValidation = "Strict" | "Warn" | "Ignore";

export interface DecodeOptions {
  readonly fieldValidation?: FieldValidation;
  readonly warn?: (text: string) => void;
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
  const apiVersion = textAt(given, "apiVersion") || versionOf(resource.group);
  const kind = textAt(given, "kind") || resource.kind;
  if (kind !== resource.kind || apiVersion !== versionOf(resource.group)) {
    const version = apiVersion.split("/").at(-1) ?? "";
    throw badRequest(
      `${kind} in version "${version}" cannot be handled as a ${resource.kind}: converting (${version}.${kind}) to (core.${resource.kind}): unknown conversion`,
    );
  }
  const refuse = (why: string): ApiError =>
    badRequest(`${kind} in version "v1" cannot be handled as a ${kind}: ${why}`);
  const object = checked(resource, given, before, options, refuse);
  return { ...object, kind, apiVersion, metadata: objectAt(object, "metadata") };
}

/** Decodes the result of a patch, for which the server's error messages differ. */
export function decodePatched(
  resource: Resource,
  patched: JsonObject,
  before: JsonObject,
  options: DecodeOptions,
): JsonObject {
  return checked(resource, patched, before, options, (why) =>
    invalid("", "", "", [invalidValue("patch", JSON.stringify(patched), why)]),
  );
}

function checked(
  resource: Resource,
  given: JsonObject,
  before: JsonObject | undefined,
  { fieldValidation, warn }: DecodeOptions,
  refuse: (why: string) => ApiError,
): JsonObject {
  const check = new FieldCheck();
  try {
    const object = check.object(given, resource.kind, before);
    const problems = check.unknown.sort().map((path) => `unknown field "${path}"`);
    if (fieldValidation === "Strict" && problems.length > 0)
      throw new DecodeError(`strict decoding error: ${problems.join(", ")}`);
    if (fieldValidation !== "Ignore") for (const problem of problems) warn?.(problem);
    return object;
  } catch (error) {
    if (error instanceof DecodeError) throw Object.assign(refuse(error.message), { cause: error });
    throw error;
  }
}
