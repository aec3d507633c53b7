// Services: defaults, cluster addresses, node ports and fields that depend on the type. Creates no load balancer.

import { defined } from "../../../core/defined.ts";
import {
  isObject,
  isSame,
  type Json,
  type JsonObject,
  listAt,
  objectAt,
  textAt,
  valueAt,
  without,
} from "../objects/json.ts";
import type { KubeObject } from "../objects/kube-object.ts";
import type { Rules } from "./rules.ts";
import { hasAddress, hasNodePorts, needsHealthCheck } from "./service-allocator.ts";
import { validateService } from "./validate-service.ts";

function defaultPort(port: Json): Json {
  if (!isObject(port)) return port;
  const target = port["targetPort"];
  return {
    ...port,
    protocol: port["protocol"] ?? "TCP",
    ...(target === undefined || target === 0 || target === "" ? { targetPort: port["port"] } : {}),
  };
}

/** Keeps the values that the server assigned earlier when a client omits them. */
function keepAllocated(spec: JsonObject, before: JsonObject | undefined): JsonObject {
  let kept = spec;
  if (before === undefined) return kept;
  if (hasAddress(before) && hasAddress(kept) && textAt(kept, "clusterIP") === "") {
    kept = {
      ...kept,
      clusterIP: before["clusterIP"],
      clusterIPs: kept["clusterIPs"] ?? before["clusterIPs"],
    };
  }
  // `clusterIPs` follows `clusterIP` when only that changed, and vice versa.
  const [first] = listAt(kept, "clusterIPs");
  if (hasAddress(kept) && kept["clusterIP"] !== first) {
    kept = isSame(kept["clusterIPs"], before["clusterIPs"])
      ? { ...kept, clusterIPs: [kept["clusterIP"] ?? ""] }
      : { ...kept, clusterIP: first };
  }
  if (!hasNodePorts(before) || !hasNodePorts(kept)) return kept;
  const idOf = (port: Json): string => `${textAt(port, "protocol")}/${valueAt(port, "port")}`;
  const known = new Map(listAt(before, "ports").map((port) => [idOf(port), valueAt(port, "nodePort")]));
  const ports = listAt(kept, "ports").map((port) => {
    const nodePort = known.get(idOf(port));
    const isMissing = isObject(port) && port["nodePort"] === undefined && nodePort !== undefined;
    return isMissing ? { ...port, nodePort } : port;
  });
  const healthCheckNodePort = kept["healthCheckNodePort"] ?? before["healthCheckNodePort"];
  return { ...kept, ports, ...(needsHealthCheck(kept) && defined({ healthCheckNodePort })) };
}

/** The fields that only some Services have. */
const dependentFields: readonly (readonly [(spec: JsonObject) => boolean, readonly string[]])[] = [
  [hasAddress, ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"]],
  [hasNodePorts, ["externalTrafficPolicy"]],
  [({ type }) => type === "LoadBalancer", ["allocateLoadBalancerNodePorts", "loadBalancerClass"]],
  [needsHealthCheck, ["healthCheckNodePort"]],
];

/** Removes the fields that the new type does not have, unless the client has just set them. */
function dropForType(spec: JsonObject, before: JsonObject | undefined): JsonObject {
  let result = spec;
  if (!hasNodePorts(spec) && before !== undefined && listAt(spec, "ports").length > 0) {
    const old = listAt(before, "ports").flatMap((port) => valueAt(port, "nodePort") ?? []);
    const ports = listAt(spec, "ports").map((port) =>
      isObject(port) && old.some((nodePort) => nodePort === port["nodePort"])
        ? without(port, "nodePort")
        : port,
    );
    result = { ...spec, ports };
  }
  for (const [has, fields] of dependentFields) {
    const isKept = has(result);
    for (const field of fields) {
      const isOld = result[field] !== undefined && isSame(result[field], before?.[field]);
      if (!isKept && isOld) result = without(result, field);
    }
  }
  return result;
}

function defaultSpec(given: JsonObject, before: JsonObject | undefined): JsonObject {
  const type = given["type"] ?? "ClusterIP";
  const ports = listAt(given, "ports").map(defaultPort);
  const typed = { ...given, ...(ports.length > 0 && { ports }), type };
  const spec = dropForType(keepAllocated(typed, before), before);
  const filled: Record<string, Json | undefined> = {
    ...spec,
    sessionAffinity: spec["sessionAffinity"] ?? "None",
  };
  if (hasNodePorts(spec)) filled["externalTrafficPolicy"] ??= "Cluster";
  if (type === "LoadBalancer") filled["allocateLoadBalancerNodePorts"] ??= true;
  if (hasAddress(spec)) {
    filled["internalTrafficPolicy"] ??= "Cluster";
    filled["ipFamilyPolicy"] ??= "SingleStack";
    filled["ipFamilies"] ??= ["IPv4"];
  }
  return filled;
}

function defaults(service: KubeObject, before: KubeObject | undefined): KubeObject {
  const isSpecSame = before !== undefined && service.spec === before.spec;
  const spec = isSpecSame ? service.spec : defaultSpec(service.spec ?? {}, before?.spec);
  const result = spec === undefined ? service : { ...service, spec };
  const typeChanged = before !== undefined && before.spec?.["type"] !== spec?.["type"];
  if (before !== undefined && service.status === before.status && !typeChanged) return result;
  const status = before === undefined ? {} : (service.status ?? {});
  const isBalanced = !typeChanged || spec?.["type"] === "LoadBalancer";
  const loadBalancer = isBalanced ? objectAt(status, "loadBalancer") : {};
  const ingress = listAt(loadBalancer, "ingress").map((entry) =>
    isObject(entry) && textAt(entry, "ip") !== "" ? { ...entry, ipMode: entry["ipMode"] ?? "VIP" } : entry,
  );
  return {
    ...result,
    status: { ...status, loadBalancer: ingress.length === 0 ? loadBalancer : { ...loadBalancer, ingress } },
  };
}

export const serviceRules: Rules = { defaults, validate: validateService };
