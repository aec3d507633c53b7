// Validates Services, with upstream's messages. Defaults are already set.

import { isIP } from "node:net";
import {
  type Cause,
  duplicate,
  forbiddenField,
  invalidValue,
  notSupported,
  required,
} from "../objects/api-error.ts";
import { isSame, type Json, type JsonObject, listAt, textAt, valueAt } from "../objects/json.ts";
import type { KubeObject } from "../objects/kube-object.ts";
import { cidrCauses, ipCauses } from "./address-rules.ts";
import { causesOf } from "./rules.ts";
import { hasAddress } from "./service-allocator.ts";

const types = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
const protocols = ["SCTP", "TCP", "UDP"];
const policies = ["Cluster", "Local"];
const nodePortRange = "provided port is not in the valid range. The range of valid ports is 30000-32767";
const range = "must be between 1 and 65535, inclusive";

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

/** The API server trims source ranges. */
const rangesOf = (spec: JsonObject | undefined): readonly string[] =>
  listAt(spec, "loadBalancerSourceRanges").map((range) => String(range).trim());

function specCauses(service: KubeObject, before: KubeObject | undefined): Cause[] {
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
    ...rangesOf(spec).flatMap((range, index) =>
      cidrCauses(`spec.LoadBalancerSourceRanges[${index}]`, range, rangesOf(before?.spec)),
    ),
  ];
}

function statusCauses({ spec, status }: KubeObject, before: KubeObject | undefined): Cause[] {
  const field = "status.loadBalancer.ingress";
  const earlier = listAt(before?.status, "loadBalancer", "ingress").map((entry) => textAt(entry, "ip"));
  const ingress = listAt(status, "loadBalancer", "ingress");
  if (ingress.length > 0 && textAt(spec, "type") !== "LoadBalancer")
    return [forbiddenField(field, "may only be used when `spec.type` is 'LoadBalancer'")];
  return ingress.flatMap((entry, index) => {
    const at = `${field}[${index}]`;
    const [ip, hostname] = [textAt(entry, "ip"), textAt(entry, "hostname")];
    const mode = valueAt(entry, "ipMode");
    const isUnknownMode = mode !== undefined && mode !== "VIP" && mode !== "Proxy";
    const ofAddress = ip === "" ? [] : ipCauses(`${at}.ip`, ip, earlier);
    const others = causesOf(
      ip === "" &&
        mode !== undefined &&
        forbiddenField(`${at}.ipMode`, "may not be specified when `ip` is not set"),
      isUnknownMode && notSupported(`${at}.ipMode`, mode, ["Proxy", "VIP"]),
      hostname !== "" &&
        isIP(hostname) !== 0 &&
        invalidValue(`${at}.hostname`, hostname, "must be a DNS name, not an IP address"),
    );
    return [...ofAddress, ...others];
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

export function validateService(service: KubeObject, before: KubeObject | undefined): readonly Cause[] {
  const isSpecSame = service.spec === before?.spec;
  const ofSpec = isSpecSame ? [] : [...specCauses(service, before), ...changeCauses(service, before?.spec)];
  return [...ofSpec, ...statusCauses(service, before)];
}
