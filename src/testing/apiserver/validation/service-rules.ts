// Services: defaults, cluster addresses, node ports and fields that depend on the type. No load balancer is created here.

import { isIP } from "node:net";
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
  type Json,
  type JsonObject,
  listAt,
  objectAt,
  textAt,
  valueAt,
  without,
} from "../objects/json.ts";
import type { KubeObject } from "../objects/kube-object.ts";
import { causesOf, type Rules } from "./rules.ts";
import { hasAddress, hasNodePorts } from "./service-allocator.ts";

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
  return { ...kept, ports };
}

/** The fields that only some Services have. */
const dependentFields: readonly (readonly [(spec: JsonObject) => boolean, readonly string[]])[] = [
  [hasAddress, ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"]],
  [hasNodePorts, ["externalTrafficPolicy"]],
  [({ type }) => type === "LoadBalancer", ["allocateLoadBalancerNodePorts", "loadBalancerClass"]],
  [
    ({ type, externalTrafficPolicy }) => type === "LoadBalancer" && externalTrafficPolicy === "Local",
    ["healthCheckNodePort"],
  ],
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

// Validates Services, with upstream's messages. Defaults have been set before.

const types = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
const protocols = ["SCTP", "TCP", "UDP"];
const policies = ["Cluster", "Local"];
const nodePortRange = "provided port is not in the valid range. The range of valid ports is 30000-32767";
const badRange = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
const range = "must be between 1 and 65535, inclusive";
const badIP = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";

const isPort = (value: Json): boolean => typeof value === "number" && value >= 1 && value <= 65535;

function portCauses({ spec }: KubeObject): Cause[] {
  const ports = listAt(spec, "ports");
  const type = textAt(spec, "type");
  const names = new Set<string>();
  const numbers = new Set<string>();
  return ports.flatMap((each, index) => {
    const field = `spec.ports[${index}]`;
    const [name, protocol] = [textAt(each, "name"), textAt(each, "protocol")];
    const port = valueAt(each, "port") ?? 0;
    const target = valueAt(each, "targetPort");
    const nodePort = valueAt(each, "nodePort");
    const isInternal = type === "ClusterIP" || type === "ExternalName";
    const isOutside = typeof nodePort === "number" && (nodePort < 30_000 || nodePort > 32_767);
    const id = `${protocol}/${port}`;
    const causes = causesOf(
      name === "" && ports.length > 1 && required(`${field}.name`),
      name !== "" && names.has(name) && duplicate(`${field}.name`, name),
      !isPort(port) && invalidValue(`${field}.port`, port, range),
      !protocols.includes(protocol) && notSupported(`${field}.protocol`, protocol, protocols),
      typeof target === "number" && !isPort(target) && invalidValue(`${field}.targetPort`, target, range),
      nodePort !== undefined &&
        isInternal &&
        forbiddenField(`${field}.nodePort`, `may not be used when \`type\` is '${type}'`),
      isOutside && !isInternal && invalidValue(`${field}.nodePort`, nodePort, nodePortRange),
      numbers.has(id) && duplicate(field, { protocol, port }),
    );
    names.add(name);
    numbers.add(id);
    return causes;
  });
}

function specCauses(service: KubeObject): Cause[] {
  const spec = service.spec ?? {};
  const type = textAt(spec, "type");
  const isBalanced = type === "LoadBalancer";
  const policy = spec["externalTrafficPolicy"];
  const isExternal = type === "NodePort" || isBalanced || listAt(spec, "externalIPs").length > 0;
  const needsPorts = type !== "ExternalName" && spec["clusterIP"] !== "None";
  const onlyBalanced = (key: string): Cause | false =>
    spec[key] !== undefined &&
    !isBalanced &&
    forbiddenField(`spec.${key}`, "may only be used when `type` is 'LoadBalancer'");
  return [
    ...causesOf(listAt(spec, "ports").length === 0 && needsPorts && required("spec.ports")),
    ...portCauses(service),
    ...causesOf(
      !types.includes(type) && notSupported("spec.type", type, types),
      type === "ExternalName" && textAt(spec, "externalName") === "" && required("spec.externalName"),
      policy !== undefined &&
        !isExternal &&
        invalidValue(
          "spec.externalTrafficPolicy",
          policy,
          "may only be set for externally-accessible services",
        ),
      policy !== undefined &&
        isExternal &&
        !policies.some((each) => each === policy) &&
        notSupported("spec.externalTrafficPolicy", policy, policies),
      onlyBalanced("loadBalancerClass"),
      onlyBalanced("allocateLoadBalancerNodePorts"),
    ),
    ...listAt(spec, "loadBalancerSourceRanges").flatMap((cidr, index) => {
      const [address = "", bits = ""] = String(cidr).trim().split("/");
      const isWrong = isIP(address) === 0 || !/^\d+$/.test(bits);
      return causesOf(isWrong && invalidValue(`spec.loadBalancerSourceRanges[${index}]`, cidr, badRange));
    }),
  ];
}

function statusCauses({ spec, status }: KubeObject): Cause[] {
  const field = "status.loadBalancer.ingress";
  const ingress = listAt(status, "loadBalancer", "ingress");
  if (ingress.length > 0 && textAt(spec, "type") !== "LoadBalancer")
    return [forbiddenField(field, "may only be used when `spec.type` is 'LoadBalancer'")];
  return ingress.flatMap((entry, index) => {
    const at = `${field}[${index}]`;
    const [ip, hostname] = [textAt(entry, "ip"), textAt(entry, "hostname")];
    const mode = valueAt(entry, "ipMode");
    const isUnknownMode = mode !== undefined && mode !== "VIP" && mode !== "Proxy";
    return causesOf(
      ip !== "" && isIP(ip) === 0 && invalidValue(`${at}.ip`, ip, badIP),
      ip === "" &&
        mode !== undefined &&
        forbiddenField(`${at}.ipMode`, "may not be specified when `ip` is not set"),
      isUnknownMode && notSupported(`${at}.ipMode`, mode, ["Proxy", "VIP"]),
      hostname !== "" &&
        isIP(hostname) !== 0 &&
        invalidValue(`${at}.hostname`, hostname, "must be a DNS name, not an IP address"),
    );
  });
}

function changeCauses({ spec = {} }: KubeObject, before: JsonObject | undefined): Cause[] {
  const addresses = spec["clusterIPs"] ?? [];
  const className = spec["loadBalancerClass"];
  const isReaddressed =
    textAt(before, "clusterIP") !== "" && hasAddress(spec) && !isSame(addresses, before?.["clusterIPs"]);
  const isReclassified =
    before?.["type"] === "LoadBalancer" &&
    spec["type"] === "LoadBalancer" &&
    !isSame(before["loadBalancerClass"], className);
  return causesOf(
    isReaddressed && invalidValue("spec.clusterIPs[0]", addresses, "may not change once set"),
    isReclassified && invalidValue("spec.loadBalancerClass", className ?? null, "may not change once set"),
  );
}

function validateService(service: KubeObject, before: KubeObject | undefined): readonly Cause[] {
  const isSpecSame = service.spec === before?.spec;
  const ofSpec = isSpecSame ? [] : [...specCauses(service), ...changeCauses(service, before?.spec)];
  return [...ofSpec, ...statusCauses(service)];
}
