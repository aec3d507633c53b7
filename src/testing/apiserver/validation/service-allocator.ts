// Cluster addresses and node ports: which are in use, and which a Service gets. They are released when their Service is deleted.

import type { Random } from "../../../platform/random.ts";
import { ApiError, invalid, invalidValue } from "../objects/api-error.ts";
import { isObject, type Json, type JsonObject, listAt, textAt, valueAt } from "../objects/json.ts";
import type { KubeObject } from "../objects/kube-object.ts";

const firstPort = 30_000;
const portCount = 2768;

export const hasAddress = (spec: JsonObject | undefined): boolean => spec?.["type"] !== "ExternalName";

export function hasNodePorts(spec: JsonObject | undefined): boolean {
  return spec?.["type"] === "NodePort" || spec?.["type"] === "LoadBalancer";
}

export const needsHealthCheck = ({ type, externalTrafficPolicy }: JsonObject): boolean =>
  type === "LoadBalancer" && externalTrafficPolicy === "Local";

const wantsNodePorts = (spec: JsonObject): boolean =>
  hasNodePorts(spec) && (spec["type"] === "NodePort" || spec["allocateLoadBalancerNodePorts"] !== false);

function portsOf(service: KubeObject): number[] {
  const ports = listAt(service, "spec", "ports").map((port) => valueAt(port, "nodePort"));
  return [...ports, service.spec?.["healthCheckNodePort"]].filter((port) => typeof port === "number");
}

function addressesOf(service: KubeObject): string[] {
  return listAt(service, "spec", "clusterIPs").filter((address) => typeof address === "string");
}

function refused({ metadata }: KubeObject, field: string, value: Json, why: string): ApiError {
  return invalid("Service", "", metadata.name, [invalidValue(field, value, why)]);
}

export class ServiceAllocator {
  readonly #random: Random;
  readonly #addresses = new Set<string>();
  readonly #ports = new Set<number>();

  constructor(random: Random) {
    this.#random = random;
  }

  /** Notes a write. Without `after`, the Service is gone. */
  follow(before: KubeObject | undefined, after: KubeObject | undefined): void {
    if (before?.spec === after?.spec) return;
    if (before !== undefined) {
      if (textAt(before, "spec", "clusterIP") !== "None")
        for (const address of addressesOf(before)) this.#addresses.delete(address);
      for (const port of portsOf(before)) this.#ports.delete(port);
    }
    if (after === undefined) return;
    for (const address of addressesOf(after)) this.#addresses.add(address);
    for (const port of portsOf(after)) this.#ports.add(port);
  }

  /** Adds missing addresses and ports to a valid Service. */
  allocate(service: KubeObject, before: KubeObject | undefined): KubeObject {
    if (service.spec === before?.spec) return service;
    let spec: JsonObject = service.spec ?? {};
    if (hasAddress(spec) && textAt(spec, "clusterIP") === "") {
      const addresses = listAt(spec, "ipFamilies").map((family) => this.#address(String(family)));
      spec = { ...spec, clusterIP: addresses[0], clusterIPs: addresses };
    } else if (hasAddress(spec) && spec["clusterIPs"] === undefined) {
      spec = { ...spec, clusterIPs: [spec["clusterIP"] ?? ""] };
    }
    const [address] = listAt(spec, "clusterIPs");
    if (
      before === undefined &&
      typeof address === "string" &&
      address !== "None" &&
      this.#addresses.has(address)
    ) {
      const why = `failed to allocate IP ${address}: provided IP is already allocated`;
      throw refused(service, "spec.clusterIPs", [address], why);
    }
    if (listAt(spec, "ports").length > 0) {
      spec = { ...spec, ports: this.#withNodePorts({ ...service, spec }, before) };
    }
    if (needsHealthCheck(spec) && spec["healthCheckNodePort"] === undefined) {
      const chosen = new Set(listAt(spec, "ports").map((port) => valueAt(port, "nodePort")));
      spec = { ...spec, healthCheckNodePort: this.#port(chosen) };
    }
    return { ...service, spec };
  }

  #withNodePorts(service: KubeObject, before: KubeObject | undefined): readonly Json[] {
    const own = new Set(listAt(before, "spec", "ports").map((port) => valueAt(port, "nodePort")));
    const chosen = new Set<Json | undefined>();
    return listAt(service, "spec", "ports").map((port, index) => {
      if (!isObject(port)) return port;
      const wanted = port["nodePort"];
      if (typeof wanted === "number") {
        if (!own.has(wanted) && this.#ports.has(wanted)) {
          const why = "provided port is already allocated";
          throw refused(service, `spec.ports[${index}].nodePort`, wanted, why);
        }
        chosen.add(wanted);
        return port;
      }
      if (!wantsNodePorts(service.spec ?? {})) return port;
      const nodePort = this.#port(chosen);
      chosen.add(nodePort);
      return { ...port, nodePort };
    });
  }

  #address(family: string): string {
    for (;;) {
      const [a, b] = [
        Math.floor(this.#random.fraction() * 256),
        2 + Math.floor(this.#random.fraction() * 250),
      ];
      const address = family === "IPv6" ? `fd00:96::${a.toString(16)}${b.toString(16)}` : `10.96.${a}.${b}`;
      if (!this.#addresses.has(address)) return address;
    }
  }

  /** A free port that is not in `chosen`. */
  #port(chosen: ReadonlySet<Json | undefined>): number {
    const start = Math.floor(this.#random.fraction() * portCount);
    for (let step = 0; step < portCount; step++) {
      const port = firstPort + ((start + step) % portCount);
      if (!this.#ports.has(port) && !chosen.has(port)) return port;
    }
    throw new ApiError(500, "InternalError", "failed to allocate a nodePort: range is full");
  }
}
