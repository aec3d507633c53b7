// The table of kinds with their rules, and the rules of kinds that have only a few. Kinds without an entry follow only the
// general rules.

import { type Cause, invalidValue, notSupported, required } from "../objects/api-error.ts";
import {
  isObject,
  type Json,
  type JsonObject,
  listAt,
  objectAt,
  textAt,
  valueAt,
  withValue,
} from "../objects/json.ts";
import type { KubeObject } from "../objects/kube-object.ts";
import { nodeRules } from "./node-rules.ts";
import { causesOf, type Rules } from "./rules.ts";
import { serviceRules } from "./service-rules.ts";

const namespaceRules: Rules = {
  defaults: (namespace, before) => {
    const labels = namespace.metadata.labels ?? {};
    const { name } = namespace.metadata;
    const labelled =
      labels["kubernetes.io/metadata.name"] === name
        ? namespace
        : withValue(namespace, ["metadata", "labels"], { ...labels, "kubernetes.io/metadata.name": name });
    if (before !== undefined) return labelled;
    return { ...labelled, spec: { finalizers: ["kubernetes"] }, status: { phase: "Active" } };
  },
};

const eventTimes = ["firstTimestamp", "lastTimestamp", "eventTime"];

const eventRules: Rules = {
  defaults: (event) => {
    const filled: Record<string, Json | undefined> = { ...event };
    for (const field of eventTimes) filled[field] ??= null;
    filled["source"] ??= {};
    filled["reportingComponent"] ??= "";
    filled["reportingInstance"] ??= "";
    return filled as typeof event;
  },
  validate: (event) => {
    const about = textAt(event, "involvedObject", "namespace");
    const namespace = event.metadata.namespace ?? "";
    const isElsewhere =
      about === "" ? namespace !== "default" && namespace !== "kube-system" : about !== namespace;
    const type = textAt(event, "type");
    const isTypeWrong = event["eventTime"] !== null && type !== "Normal" && type !== "Warning";
    return causesOf(
      isElsewhere && invalidValue("involvedObject.namespace", about, "does not match event.namespace"),
      isTypeWrong && invalidValue("type", type, `has invalid value: ${type}`),
    );
  },
};

/** The field is unset, or at least `min`. */
function atLeast(lease: KubeObject, name: string, min: number, problem: string): Cause | false {
  const value = valueAt(lease, "spec", name);
  return typeof value === "number" && value < min && invalidValue(`spec.${name}`, value, problem);
}

const leaseRules: Rules = {
  validate: (lease) =>
    causesOf(
      atLeast(lease, "leaseDurationSeconds", 1, "must be greater than 0"),
      atLeast(lease, "leaseTransitions", 0, "must be greater than or equal to 0"),
    ),
};

const secretRules: Rules = {
  defaults: (secret) => {
    const { stringData, ...rest } = secret;
    const typed = { ...rest, type: secret["type"] ?? "Opaque" } as KubeObject;
    if (stringData === undefined) return typed;
    const added = Object.entries(objectAt(secret, "stringData")).map(([key, value]) => [
      key,
      Buffer.from(String(value)).toString("base64"),
    ]);
    return { ...typed, data: { ...objectAt(secret, "data"), ...Object.fromEntries(added) } };
  },
};

const addressTypes = ["FQDN", "IPv4", "IPv6"];

const sliceRules: Rules = {
  defaults: (slice) => {
    const ports = listAt(slice, "ports");
    return {
      ...slice,
      endpoints: listAt(slice, "endpoints").map((each) =>
        isObject(each) && each["conditions"] === undefined ? { ...each, conditions: {} } : each,
      ),
      ...(ports.length > 0 && {
        ports: ports.map((port) => (isObject(port) ? { name: "", protocol: "TCP", ...port } : port)),
      }),
    };
  },
  validate: (slice, before) => {
    const type = textAt(slice, "addressType");
    const isChanged = before !== undefined && textAt(before, "addressType") !== type;
    return causesOf(
      type === "" && required("addressType"),
      type !== "" && !addressTypes.includes(type) && notSupported("addressType", type, addressTypes),
      isChanged && invalidValue("addressType", type, "field is immutable"),
    );
  },
};

/** The server ignores a status that a client sets on creation. */
const beginningWith = (status: JsonObject): Rules => ({
  defaults: (object, before) => (before === undefined ? { ...object, status } : object),
});

const table: Readonly<Record<string, Rules>> = {
  nodes: nodeRules,
  services: serviceRules,
  namespaces: namespaceRules,
  events: eventRules,
  leases: leaseRules,
  secrets: secretRules,
  endpointslices: sliceRules,
  persistentvolumes: beginningWith({ phase: "Pending" }),
  persistentvolumeclaims: beginningWith({ phase: "Pending" }),
  volumeattachments: beginningWith({ attached: false }),
};

export const rulesFor = (storage: string): Rules => table[storage] ?? {};
