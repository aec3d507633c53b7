// Services: defaults, cluster addresses, node ports and fields that depend on the type. No load balancer is created here.

import { ApiError, invalid, invalidValue } from "../objects/api-error.ts";
import {
  isObject,
  isSame,
  type Json,
  type JsonObject,
  listAt,
  textAt,
  valueAt,
  without,
  withValue,
} from "../objects/json.ts";
import type { KubeObject } from "../objects/kube-object.ts";
import type { Allocator, Rules } from "./rules.ts";
import { validateService } from "./validate-service.ts";

function wantsNodePorts(spec: JsonObject | undefined): boolean {
  return (
    spec?.["type"] === "NodePort" ||
    (spec?.["type"] === "LoadBalancer" && spec["allocateLoadBalancerNodePorts"] !== false)
  );
}

function hasNodePorts(spec: JsonObject | undefined): boolean {
  return spec?.["type"] === "NodePort" || spec?.["type"] === "LoadBalancer";
}

const hasAddress = (spec: JsonObject | undefined): boolean => spec?.["type"] !== "ExternalName";

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
  const known = new Map(
    listAt(before, "ports").map((port) => [
      `${textAt(port, "protocol")}/${valueAt(port, "port")}`,
      valueAt(port, "nodePort"),
    ]),
  );
  const ports = listAt(kept, "ports").map((port) => {
    const nodePort = known.get(`${textAt(port, "protocol")}/${valueAt(port, "port")}`);
    return isObject(port) && port["nodePort"] === undefined && nodePort !== undefined
      ? { ...port, nodePort }
      : port;
  });
  return { ...kept, ports };
}

/** Removes the fields that the new type does not have, unless the client has just set them. */
function dropForType(spec: JsonObject, before: JsonObject | undefined): JsonObject {
  let result = spec;
  const drop = (key: string): void => {
    if (result[key] !== undefined && isSame(result[key], before?.[key])) result = without(result, key);
  };
  if (!hasAddress(result)) {
    drop("clusterIP");
    drop("clusterIPs");
    drop("ipFamilies");
    drop("ipFamilyPolicy");
    drop("internalTrafficPolicy");
  }
  if (!hasNodePorts(result)) {
    if (
      before !== undefined &&
      listAt(result, "ports").some((port) => valueAt(port, "nodePort") !== undefined)
    ) {
      const old = listAt(before, "ports").map((port) => valueAt(port, "nodePort"));
      const ports = listAt(result, "ports").map((port) =>
        isObject(port) && old.includes(port["nodePort"]) ? without(port, "nodePort") : port,
      );
      result = { ...result, ports };
    }
    drop("externalTrafficPolicy");
  }
  if (result["type"] !== "LoadBalancer") {
    drop("allocateLoadBalancerNodePorts");
    drop("loadBalancerClass");
  }
  if (result["type"] !== "LoadBalancer" || result["externalTrafficPolicy"] !== "Local")
    drop("healthCheckNodePort");
  return result;
}

function defaults(service: KubeObject, before: KubeObject | undefined): KubeObject {
  let result = service;
  if (before === undefined || service.spec !== before.spec) {
    const given = service.spec ?? {};
    const type = given["type"] ?? "ClusterIP";
    const ports = listAt(given, "ports").map(defaultPort);
    const typed = { ...given, ...(ports.length > 0 && { ports }), type };
    const spec = dropForType(keepAllocated(typed, before?.spec), before?.spec);
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
    result = { ...result, spec: filled };
  }
  const status = before === undefined ? {} : (result.status ?? {});
  const typeChanged = before !== undefined && before.spec?.["type"] !== result.spec?.["type"];
  const loadBalancer =
    typeChanged && result.spec?.["type"] !== "LoadBalancer" ? {} : (status["loadBalancer"] ?? {});
  const ingress = listAt(loadBalancer, "ingress");
  const filledIngress = ingress.map((entry) =>
    isObject(entry) && textAt(entry, "ip") !== "" && entry["ipMode"] === undefined
      ? { ...entry, ipMode: "VIP" }
      : entry,
  );
  if (before !== undefined && result.status === before.status && !typeChanged) return result;
  return {
    ...result,
    status: {
      ...status,
      loadBalancer:
        filledIngress.length === 0
          ? loadBalancer
          : { ...(loadBalancer as JsonObject), ingress: filledIngress },
    },
  };
}

function portTaken(service: KubeObject, field: string, value: Json | undefined): ApiError {
  return invalid("Service", "", service.metadata.name, [
    invalidValue(field, value, "provided port is already allocated"),
  ]);
}

function allocatePorts(service: KubeObject, before: KubeObject | undefined, allocator: Allocator) {
  const own = new Set(listAt(before, "spec", "ports").map((port) => valueAt(port, "nodePort")));
  const chosen = new Set<number>();
  return listAt(service, "spec", "ports").map((port, index) => {
    if (!isObject(port)) return port;
    const wanted = port["nodePort"];
    if (typeof wanted === "number") {
      if (!own.has(wanted) && allocator.isPortTaken(wanted)) {
        throw portTaken(service, `spec.ports[${index}].nodePort`, wanted);
      }
      chosen.add(wanted);
      return port;
    }
    if (!wantsNodePorts(service.spec)) return port;
    const nodePort = allocator.port(chosen);
    if (nodePort === undefined) {
      throw new ApiError(500, "InternalError", "failed to allocate a nodePort: range is full");
    }
    chosen.add(nodePort);
    return { ...port, nodePort };
  });
}

function allocate(service: KubeObject, before: KubeObject | undefined, allocator: Allocator): KubeObject {
  if (service.spec === before?.spec) return service;
  let spec: JsonObject = service.spec ?? {};
  if (hasAddress(spec) && textAt(spec, "clusterIP") === "") {
    const addresses = listAt(spec, "ipFamilies").map((family) => allocator.address(String(family)));
    spec = { ...spec, clusterIP: addresses[0], clusterIPs: addresses };
  } else if (hasAddress(spec) && spec["clusterIPs"] === undefined) {
    spec = { ...spec, clusterIPs: [spec["clusterIP"] ?? ""] };
  }
  const [address] = listAt(spec, "clusterIPs");
  if (
    before === undefined &&
    typeof address === "string" &&
    address !== "None" &&
    allocator.isAddressTaken(address)
  ) {
    throw invalid("Service", "", service.metadata.name, [
      invalidValue(
        "spec.clusterIPs",
        [address],
        `failed to allocate IP ${address}: provided IP is already allocated`,
      ),
    ]);
  }
  if (listAt(spec, "ports").length > 0) {
    spec = { ...spec, ports: allocatePorts({ ...service, spec }, before, allocator) };
  }
  const needsHealthCheck = spec["type"] === "LoadBalancer" && spec["externalTrafficPolicy"] === "Local";
  if (needsHealthCheck && spec["healthCheckNodePort"] === undefined) {
    const chosen = new Set(listAt(spec, "ports").map((port) => valueAt(port, "nodePort") as number));
    spec = withValue(spec, ["healthCheckNodePort"], allocator.port(chosen));
  }
  return { ...service, spec };
}

export const serviceRules: Rules = { defaults, allocate, validate: validateService };
