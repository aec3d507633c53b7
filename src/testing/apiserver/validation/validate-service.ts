// Validates Services, with upstream's messages. Defaults have been set before.

import { isIP } from "node:net";
import {
  type Cause,
  duplicate,
  forbiddenField,
  invalidValue,
  notSupported,
  required,
} from "../objects/api-error.ts";
import { isSame, type Json, listAt, textAt, valueAt } from "../objects/json.ts";
import type { KubeObject } from "../objects/kube-object.ts";

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

export function validateService(service: KubeObject, before: KubeObject | undefined): readonly Cause[] {
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
