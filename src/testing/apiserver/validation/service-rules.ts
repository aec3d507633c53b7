// Services: defaults, cluster addresses, node ports and fields that depend on the type. No load balancer is created here.

import { isIP } from "node:net";
import {
  ApiError,
  type Cause,
  duplicate,
  forbiddenField,
  invalid,
  invalidValue,
  notSupported,
  required,
} from "../objects/api-error.ts";
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

// Validates Services, with upstream's messages. Defaults have been set before.

const types = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
const protocols = ["SCTP", "TCP", "UDP"];
const range = "must be between 1 and 65535, inclusive";
const badIP = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";

function isPort(value: Json | undefined): boolean {
  return typeof value === "number" && value >= 1 && value <= 65535;
}

function portCauses(service: KubeObject): Cause[] {
  const ports = listAt(service, "spec", "ports");
  const type = textAt(service, "spec", "type");
  const names = new Set<string>();
  const numbers = new Set<string>();
  return ports.flatMap((port, index) => {
    const field = `spec.ports[${index}]`;
    const causes: Cause[] = [];
    const name = textAt(port, "name");
    const protocol = textAt(port, "protocol");
    const number = valueAt(port, "port") ?? 0;
    const target = valueAt(port, "targetPort");
    if (name === "" && ports.length > 1) causes.push(required(`${field}.name`));
    else if (name !== "" && names.has(name)) causes.push(duplicate(`${field}.name`, name));
    names.add(name);
    if (!isPort(number)) causes.push(invalidValue(`${field}.port`, number, range));
    if (!protocols.includes(protocol)) causes.push(notSupported(`${field}.protocol`, protocol, protocols));
    if (typeof target === "number" && !isPort(target)) {
      causes.push(invalidValue(`${field}.targetPort`, target, range));
    }
    const nodePort = valueAt(port, "nodePort");
    if (nodePort !== undefined && (type === "ClusterIP" || type === "ExternalName")) {
      causes.push(forbiddenField(`${field}.nodePort`, `may not be used when \`type\` is '${type}'`));
    } else if (typeof nodePort === "number" && (nodePort < 30_000 || nodePort > 32_767)) {
      causes.push(
        invalidValue(
          `${field}.nodePort`,
          nodePort,
          "provided port is not in the valid range. The range of valid ports is 30000-32767",
        ),
      );
    }
    const id = `${protocol}/${number}`;
    if (numbers.has(id)) causes.push(duplicate(field, { protocol, port: number }));
    numbers.add(id);
    return causes;
  });
}

function specCauses(service: KubeObject): Cause[] {
  const spec = service.spec ?? {};
  const type = textAt(spec, "type");
  const causes: Cause[] = [];
  if (listAt(spec, "ports").length === 0 && type !== "ExternalName" && spec["clusterIP"] !== "None") {
    causes.push(required("spec.ports"));
  }
  causes.push(...portCauses(service));
  if (!types.includes(type)) causes.push(notSupported("spec.type", type, types));
  if (type === "ExternalName" && textAt(spec, "externalName") === "")
    causes.push(required("spec.externalName"));
  const policy = spec["externalTrafficPolicy"];
  const isExternal = type === "NodePort" || type === "LoadBalancer" || listAt(spec, "externalIPs").length > 0;
  if (policy !== undefined && !isExternal) {
    causes.push(
      invalidValue(
        "spec.externalTrafficPolicy",
        policy,
        "may only be set for externally-accessible services",
      ),
    );
  } else if (policy !== undefined && policy !== "Cluster" && policy !== "Local") {
    causes.push(notSupported("spec.externalTrafficPolicy", policy, ["Cluster", "Local"]));
  }
  for (const key of ["loadBalancerClass", "allocateLoadBalancerNodePorts"]) {
    if (spec[key] !== undefined && type !== "LoadBalancer") {
      causes.push(forbiddenField(`spec.${key}`, "may only be used when `type` is 'LoadBalancer'"));
    }
  }
  listAt(spec, "loadBalancerSourceRanges").forEach((cidr, index) => {
    const [address, bits] = String(cidr).trim().split("/");
    if (isIP(address ?? "") === 0 || !/^\d+$/.test(bits ?? "")) {
      causes.push(
        invalidValue(
          `spec.loadBalancerSourceRanges[${index}]`,
          cidr,
          "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)",
        ),
      );
    }
  });
  return causes;
}

function statusCauses(service: KubeObject): Cause[] {
  const ingress = listAt(service, "status", "loadBalancer", "ingress");
  if (ingress.length > 0 && textAt(service, "spec", "type") !== "LoadBalancer") {
    return [
      forbiddenField("status.loadBalancer.ingress", "may only be used when `spec.type` is 'LoadBalancer'"),
    ];
  }
  return ingress.flatMap((entry, index) => {
    const field = `status.loadBalancer.ingress[${index}]`;
    const ip = textAt(entry, "ip");
    const mode = valueAt(entry, "ipMode");
    const causes: Cause[] = [];
    if (ip !== "" && isIP(ip) === 0) causes.push(invalidValue(`${field}.ip`, ip, badIP));
    if (ip === "" && mode !== undefined) {
      causes.push(forbiddenField(`${field}.ipMode`, "may not be specified when `ip` is not set"));
    }
    if (mode !== undefined && mode !== "VIP" && mode !== "Proxy") {
      causes.push(notSupported(`${field}.ipMode`, mode, ["Proxy", "VIP"]));
    }
    const hostname = textAt(entry, "hostname");
    if (hostname !== "" && isIP(hostname) !== 0) {
      causes.push(invalidValue(`${field}.hostname`, hostname, "must be a DNS name, not an IP address"));
    }
    return causes;
  });
}

function validateService(service: KubeObject, before: KubeObject | undefined): readonly Cause[] {
  const causes: Cause[] = [];
  if (service.spec !== before?.spec) {
    causes.push(...specCauses(service));
    const hadAddress = textAt(before, "spec", "clusterIP");
    const addresses = service.spec?.["clusterIPs"] ?? [];
    if (
      hadAddress !== "" &&
      textAt(service, "spec", "type") !== "ExternalName" &&
      !isSame(addresses, before?.spec?.["clusterIPs"])
    ) {
      causes.push(invalidValue("spec.clusterIPs[0]", addresses, "may not change once set"));
    }
    const wasBalanced =
      before?.spec?.["type"] === "LoadBalancer" && service.spec?.["type"] === "LoadBalancer";
    if (wasBalanced && !isSame(before?.spec?.["loadBalancerClass"], service.spec?.["loadBalancerClass"])) {
      causes.push(
        invalidValue(
          "spec.loadBalancerClass",
          service.spec?.["loadBalancerClass"] ?? null,
          "may not change once set",
        ),
      );
    }
  }
  return [...causes, ...statusCauses(service)];
}
