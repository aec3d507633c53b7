// The table of kinds with their rules, and the rules of kinds that have only a few. Kinds without an entry follow only the
// general rules.

import { type Cause, invalidValue, notSupported, required } from "../objects/api-error.ts";
import { isObject, type Json, listAt, objectAt, textAt, withValue } from "../objects/json.ts";
import { nodeRules } from "./node-rules.ts";
import type { Rules } from "./rules.ts";
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
    const causes: Cause[] = [];
    if (about === "" ? namespace !== "default" && namespace !== "kube-system" : about !== namespace) {
      causes.push(invalidValue("involvedObject.namespace", about, "does not match event.namespace"));
    }
    const type = textAt(event, "type");
    if (event["eventTime"] !== null && type !== "Normal" && type !== "Warning") {
      causes.push(invalidValue("type", type, `has invalid value: ${type}`));
    }
    return causes;
  },
};

const leaseRules: Rules = {
  validate: (lease) => {
    const spec = objectAt(lease, "spec");
    const causes: Cause[] = [];
    const duration = spec["leaseDurationSeconds"];
    if (typeof duration === "number" && duration <= 0) {
      causes.push(invalidValue("spec.leaseDurationSeconds", duration, "must be greater than 0"));
    }
    const transitions = spec["leaseTransitions"];
    if (typeof transitions === "number" && transitions < 0) {
      causes.push(invalidValue("spec.leaseTransitions", transitions, "must be greater than or equal to 0"));
    }
    return causes;
  },
};

const encode = (text: string): string => Buffer.from(text).toString("base64");

const secretRules: Rules = {
  defaults: (secret) => {
    const { stringData, ...rest } = secret;
    if (stringData === undefined)
      return secret["type"] === undefined ? { ...secret, type: "Opaque" } : secret;
    const data: Record<string, Json | undefined> = { ...objectAt(secret, "data") };
    for (const [key, value] of Object.entries(objectAt(secret, "stringData")))
      data[key] = encode(String(value));
    return { ...rest, type: secret["type"] ?? "Opaque", data } as typeof secret;
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
    const causes: Cause[] = [];
    if (type === "") causes.push(required("addressType"));
    else if (!addressTypes.includes(type)) causes.push(notSupported("addressType", type, addressTypes));
    if (before !== undefined && textAt(before, "addressType") !== type) {
      causes.push(invalidValue("addressType", type, "field is immutable"));
    }
    return causes;
  },
};

const volumeRules: Rules = {
  defaults: (object, before) => (before === undefined ? { ...object, status: { phase: "Pending" } } : object),
};

/** The server keeps no status that a client creates. */
const attachmentRules: Rules = {
  defaults: (attachment, before) =>
    before === undefined ? { ...attachment, status: { attached: false } } : attachment,
};

// The rules of each kind. Kinds without an entry follow only the general rules.

const table: Readonly<Record<string, Rules>> = {
  nodes: nodeRules,
  services: serviceRules,
  namespaces: namespaceRules,
  events: eventRules,
  leases: leaseRules,
  secrets: secretRules,
  endpointslices: sliceRules,
  persistentvolumes: volumeRules,
  persistentvolumeclaims: volumeRules,
  volumeattachments: attachmentRules,
};

export const rulesFor = (storage: string): Rules => table[storage] ?? {};
