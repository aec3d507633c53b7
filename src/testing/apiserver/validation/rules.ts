// The additions of a kind to the general rules: defaults and validation. object-rules.ts contains the table of kinds. This
// file also contains the rules for the metadata of every kind: names, labels, annotations, finalizers, and immutable fields.

import { type Cause, forbiddenField, invalidValue, required } from "../objects/api-error.ts";
import { isSame } from "../objects/json.ts";
import type { KubeObject, ObjectMeta } from "../objects/kube-object.ts";
import type { Resource } from "../objects/resource-table.ts";

export interface Rules {
  /** Sets the fields that the server defaults; called for every write. */
  readonly defaults?: (object: KubeObject, before: KubeObject | undefined) => KubeObject;
  readonly validate?: (object: KubeObject, before: KubeObject | undefined) => readonly Cause[];
}

/** The causes whose condition holds, for `causesOf(isWrong && cause, …)`. */
export function causesOf(...checks: readonly (Cause | false)[]): Cause[] {
  return checks.filter((each) => each !== false);
}

const subdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const label = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const namePart = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;

const subdomainText =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const labelText =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const namePartText =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const valueText =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

function nameRule(resource: Resource) {
  if (resource.plural === "namespaces" || resource.plural === "services")
    return { pattern: label, text: labelText, length: 63 };
  return { pattern: subdomain, text: subdomainText, length: 253 };
}

function keyProblem(key: string): string | undefined {
  const parts = key.split("/");
  const [prefix, name] = parts.length === 1 ? [undefined, parts[0]] : parts;
  if (parts.length > 2) {
    return `a qualified name ${namePartText.slice(10)} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`;
  }
  if (prefix !== undefined && !subdomain.test(prefix)) return `prefix part ${subdomainText}`;
  if (name === undefined || !namePart.test(name)) return namePartText;
  if (name.length > 63) return "name part must be no more than 63 bytes";
  return undefined;
}

function labelCauses({ labels = {}, annotations = {} }: ObjectMeta): Cause[] {
  const ofKey = (field: string, key: string, problem = keyProblem(key)): Cause[] =>
    problem === undefined ? [] : [invalidValue(field, key, problem)];
  const ofLabels = Object.entries(labels).flatMap(([key, value]) => {
    const problem = value.length > 63 ? "must be no more than 63 bytes" : valueText;
    const isWrong = value.length > 63 || (value !== "" && !namePart.test(value));
    return [
      ...ofKey("metadata.labels", key),
      ...causesOf(isWrong && invalidValue("metadata.labels", value, problem)),
    ];
  });
  const ofAnnotations = Object.keys(annotations).flatMap((key) =>
    ofKey("metadata.annotations", key, keyProblem(key.toLowerCase())),
  );
  return [...ofLabels, ...ofAnnotations];
}

function finalizerCauses(finalizers: readonly string[] = []): Cause[] {
  return finalizers.flatMap((finalizer, index) => {
    const field = `metadata.finalizers[${index}]`;
    const problem = keyProblem(finalizer);
    if (problem !== undefined) return [invalidValue(field, finalizer, problem)];
    if (finalizer.includes("/") || ["orphan", "foregroundDeletion", "kubernetes"].includes(finalizer))
      return [];
    return [
      invalidValue(field, finalizer, "name is neither a standard finalizer name nor is it fully qualified"),
    ];
  });
}

export function createMetaCauses(resource: Resource, { metadata }: KubeObject): readonly Cause[] {
  const { name } = metadata;
  if (name === "") return [required("metadata.name", "name or generateName is required")];
  const { pattern, text, length } = nameRule(resource);
  return [
    ...causesOf(
      !pattern.test(name) && invalidValue("metadata.name", name, text),
      name.length > length && invalidValue("metadata.name", name, `must be no more than ${length} bytes`),
    ),
    ...labelCauses(metadata),
    ...finalizerCauses(metadata.finalizers),
  ];
}

export function updateMetaCauses(
  { metadata }: KubeObject,
  { metadata: before }: KubeObject,
): readonly Cause[] {
  const { uid, labels, annotations, finalizers = [] } = metadata;
  const added = finalizers.filter((one) => before.finalizers?.includes(one) !== true);
  const isRelabelled = !isSame(labels, before.labels) || !isSame(annotations, before.annotations);
  return [
    ...causesOf(uid !== before.uid && invalidValue("metadata.uid", uid, "field is immutable")),
    ...(isSame(metadata.finalizers, before.finalizers) ? [] : finalizerCauses(finalizers)),
    ...causesOf(
      before.deletionTimestamp !== undefined &&
        added.length > 0 &&
        forbiddenField(
          "metadata.finalizers",
          `no new finalizers can be added if the object is being deleted, found new finalizers []string{${added.map((one) => JSON.stringify(one)).join(", ")}}`,
        ),
    ),
    ...(isRelabelled ? labelCauses(metadata) : []),
  ];
}
