// Nodes: the not-ready taint on creation, the zero values that the server prints, and immutable fields.

import {
  type Cause,
  duplicate,
  forbiddenField,
  invalidValue,
  notSupported,
  required,
} from "../objects/api-error.ts";
import { isObject, isSame, type JsonObject, listAt, objectAt, textAt, withValue } from "../objects/json.ts";
import type { KubeObject } from "../objects/kube-object.ts";
import { cidrCauses } from "./address-rules.ts";
import { causesOf, type Rules } from "./rules.ts";

const effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
const notReady = "node.kubernetes.io/not-ready";

const emptyNodeInfo: JsonObject = {
  machineID: "",
  systemUUID: "",
  bootID: "",
  kernelVersion: "",
  osImage: "",
  containerRuntimeVersion: "",
  kubeletVersion: "",
  kubeProxyVersion: "",
  operatingSystem: "",
  architecture: "",
};

function withNotReadyTaint(node: KubeObject): KubeObject {
  const taints = listAt(node, "spec", "taints");
  if (taints.some((taint) => textAt(taint, "key") === notReady && textAt(taint, "effect") === "NoSchedule")) {
    return node;
  }
  return withValue(node, ["spec", "taints"], [...taints, { key: notReady, effect: "NoSchedule" }]);
}

function defaults(node: KubeObject, before: KubeObject | undefined): KubeObject {
  if (before !== undefined && node.status === before.status) return node;
  const status = node.status ?? {};
  const info = objectAt(status, "nodeInfo");
  const filled = {
    ...node,
    status: {
      ...status,
      // The server prints this deprecated struct even when it is not set.
      daemonEndpoints: status["daemonEndpoints"] ?? { kubeletEndpoint: { Port: 0 } },
      nodeInfo: "architecture" in info && "bootID" in info ? info : { ...emptyNodeInfo, ...info },
      ...(status["conditions"] !== undefined && {
        conditions: listAt(status, "conditions").map((condition) =>
          isObject(condition) && condition["lastHeartbeatTime"] === undefined
            ? {
                ...condition,
                lastHeartbeatTime: null,
                lastTransitionTime: condition["lastTransitionTime"] ?? null,
              }
            : condition,
        ),
      }),
    },
  };
  return before === undefined ? withNotReadyTaint(filled) : filled;
}

function taintCauses(node: KubeObject): Cause[] {
  const seen = new Set<string>();
  return listAt(node, "spec", "taints").flatMap((taint, index): Cause[] => {
    const field = `metadata.taints[${index}]`;
    const [key, effect] = [textAt(taint, "key"), textAt(taint, "effect")];
    if (key === "") return [required(`${field}.key`, "name part must be non-empty")];
    if (effect === "") return [required(`${field}.effect`)];
    if (!effects.includes(effect)) return [notSupported(`${field}.effect`, effect, effects)];
    const id = `${key}:${effect}`;
    if (seen.has(id)) {
      const value = { Key: key, Value: textAt(taint, "value"), Effect: effect, TimeAdded: null };
      return [duplicate(field, value, "taints must be unique by key and effect pair")];
    }
    seen.add(id);
    return [];
  });
}

function addressCauses(node: KubeObject): Cause[] {
  const seen = new Set<string>();
  return listAt(node, "status", "addresses").flatMap((address, index) => {
    const value = { Type: textAt(address, "type"), Address: textAt(address, "address") };
    const id = `${value.Type} ${value.Address}`;
    const causes = causesOf(seen.has(id) && duplicate(`status.addresses[${index}]`, value));
    seen.add(id);
    return causes;
  });
}

/** The fields of the spec that may change, or that another check covers. */
const changeable = new Set([
  ...["taints", "unschedulable", "configSource", "externalID"],
  ...["providerID", "podCIDR", "podCIDRs"],
]);

function changeCauses({ spec = {} }: KubeObject, { spec: before = {} }: KubeObject): Cause[] {
  const providerID = textAt(before, "providerID");
  const ranges = listAt(before, "podCIDRs");
  const isOtherChanged = Object.keys({ ...spec, ...before }).some(
    (key) => !changeable.has(key) && !isSame(spec[key], before[key]),
  );
  return causesOf(
    providerID !== "" &&
      textAt(spec, "providerID") !== providerID &&
      invalidValue("spec.providerID", null, "field cannot be modified once set"),
    ranges.length > 0 &&
      !isSame(ranges, spec["podCIDRs"]) &&
      forbiddenField("spec.podCIDRs", 'node updates may not change podCIDR except from "" to valid'),
    isOtherChanged &&
      forbiddenField(
        "spec",
        "node updates may only change labels, taints, or capacity (or configSource, if the DynamicKubeletConfig feature gate is enabled)",
      ),
  );
}

function rangeCauses({ spec }: KubeObject, before: KubeObject | undefined): Cause[] {
  const only = textAt(spec, "podCIDR");
  const ranges = listAt(spec, "podCIDRs").map(String);
  const [first] = ranges;
  const isOther = only !== "" && first !== undefined && first !== only;
  const earlier = listAt(before?.spec, "podCIDRs").map(String);
  return [
    ...causesOf(isOther && invalidValue("spec.podCIDRs[0]", first, "must match podCIDR")),
    ...ranges.flatMap((range, index) => cidrCauses(`spec.podCIDRs[${index}]`, range, earlier)),
  ];
}

export const nodeRules: Rules = {
  defaults: (node, before) => {
    const filled = defaults(node, before);
    const podCIDR = textAt(filled, "spec", "podCIDR");
    const podCIDRs = listAt(filled, "spec", "podCIDRs");
    if (podCIDR !== "" && podCIDRs.length === 0) return withValue(filled, ["spec", "podCIDRs"], [podCIDR]);
    const [only] = podCIDRs;
    return podCIDR === "" && only !== undefined ? withValue(filled, ["spec", "podCIDR"], only) : filled;
  },
  validate: (node, before) => [
    ...(node.spec === before?.spec
      ? []
      : [...taintCauses(node), ...(before ? changeCauses(node, before) : []), ...rangeCauses(node, before)]),
    ...(node.status === before?.status ? [] : addressCauses(node)),
  ],
};
