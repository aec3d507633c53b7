// Nodes: the not-ready taint on creation, the zero values that the server prints, and immutable fields.

import {
  type Cause,
  duplicate,
  forbiddenField,
  invalidValue,
  notSupported,
  required,
} from "../objects/api-error.ts";
import {
  isObject,
  isSame,
  type JsonObject,
  listAt,
  objectAt,
  textAt,
  valueAt,
  withValue,
} from "../objects/json.ts";
import type { KubeObject } from "../objects/kube-object.ts";
import type { Rules } from "./rules.ts";

const effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"] as const;
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
    const key = textAt(taint, "key");
    const effect = textAt(taint, "effect");
    if (key === "") return [required(`${field}.key`, "name part must be non-empty")];
    if (effect === "") return [required(`${field}.effect`)];
    if (!effects.some((known) => known === effect)) return [notSupported(`${field}.effect`, effect, effects)];
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
  return listAt(node, "status", "addresses").flatMap((address, index): Cause[] => {
    const id = `${textAt(address, "type")} ${textAt(address, "address")}`;
    if (seen.has(id)) {
      return [
        duplicate(`status.addresses[${index}]`, {
          Type: textAt(address, "type"),
          Address: textAt(address, "address"),
        }),
      ];
    }
    seen.add(id);
    return [];
  });
}

const changeable = new Set(["taints", "unschedulable", "configSource", "externalID"]);

function specCauses(node: KubeObject, before: KubeObject): Cause[] {
  const causes: Cause[] = [];
  const providerID = textAt(before, "spec", "providerID");
  if (providerID !== "" && textAt(node, "spec", "providerID") !== providerID) {
    causes.push(
      forbiddenField("spec.providerID", 'node updates may not change providerID except from "" to valid'),
    );
  }
  const ranges = listAt(before, "spec", "podCIDRs");
  if (ranges.length > 0 && !isSame(ranges, valueAt(node, "spec", "podCIDRs"))) {
    causes.push(
      forbiddenField("spec.podCIDRs", 'node updates may not change podCIDR except from "" to valid'),
    );
  }
  const keys = new Set([...Object.keys(node.spec ?? {}), ...Object.keys(before.spec ?? {})]);
  for (const key of keys) {
    if (changeable.has(key) || key === "providerID" || key.startsWith("podCIDR")) continue;
    if (isSame(node.spec?.[key], before.spec?.[key])) continue;
    causes.push(
      forbiddenField(
        "spec",
        "node updates may only change labels, taints, or capacity (or configSource, if the DynamicKubeletConfig feature gate is enabled)",
      ),
    );
    break;
  }
  return causes;
}

function cidrCauses(node: KubeObject): Cause[] {
  const first = textAt(node, "spec", "podCIDR");
  const all = listAt(node, "spec", "podCIDRs");
  if (first !== "" && all.length > 0 && all[0] !== first) {
    return [invalidValue("spec.podCIDRs[0]", all[0], "must match podCIDR")];
  }
  return [];
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
  validate: (node, before) => {
    if (before === undefined) return [...taintCauses(node), ...addressCauses(node), ...cidrCauses(node)];
    return [
      ...(node.spec === before.spec
        ? []
        : [...taintCauses(node), ...specCauses(node, before), ...cidrCauses(node)]),
      ...(node.status === before.status ? [] : addressCauses(node)),
    ];
  },
};
