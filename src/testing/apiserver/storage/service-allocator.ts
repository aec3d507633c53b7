// Allocates cluster addresses and node ports, and releases them when their Service is deleted. service-rules.ts decides which
// Services need any.

import type { Random } from "../../../platform/random.ts";
import { listAt, textAt, valueAt } from "../objects/json.ts";
import type { KubeObject } from "../objects/kube-object.ts";
import type { Allocator } from "../validation/rules.ts";
import type { StoredChange } from "./object-store.ts";

const firstPort = 30_000;
const portCount = 2768;

function portsOf(service: KubeObject): number[] {
  const ports = listAt(service, "spec", "ports").map((port) => valueAt(port, "nodePort"));
  return [...ports, service.spec?.["healthCheckNodePort"]].filter((port) => typeof port === "number");
}

function addressesOf(service: KubeObject): string[] {
  return listAt(service, "spec", "clusterIPs").filter((address) => typeof address === "string");
}

export class ServiceAllocator implements Allocator {
  readonly #random: Random;
  readonly #addresses = new Set<string>();
  readonly #ports = new Set<number>();

  constructor(random: Random) {
    this.#random = random;
  }

  address(family: string): string {
    for (;;) {
      const [a, b] = [
        Math.floor(this.#random.fraction() * 256),
        2 + Math.floor(this.#random.fraction() * 250),
      ];
      const address = family === "IPv6" ? `fd00:96::${a.toString(16)}${b.toString(16)}` : `10.96.${a}.${b}`;
      if (this.#addresses.has(address)) continue;
      return address;
    }
  }

  port(chosen: ReadonlySet<number>): number | undefined {
    const start = Math.floor(this.#random.fraction() * portCount);
    for (let step = 0; step < portCount; step++) {
      const port = firstPort + ((start + step) % portCount);
      if (!this.#ports.has(port) && !chosen.has(port)) return port;
    }
    return undefined;
  }

  isAddressTaken(address: string): boolean {
    return this.#addresses.has(address);
  }

  isPortTaken(port: number): boolean {
    return this.#ports.has(port);
  }

  follow(change: StoredChange): void {
    if (change.storage !== "services") return;
    const { before, object } = change;
    if (before !== undefined && before.spec !== object.spec) this.#release(before);
    if (change.type === "DELETED") this.#release(object);
    else if (before?.spec !== object.spec) {
      for (const address of addressesOf(object)) this.#addresses.add(address);
      for (const port of portsOf(object)) this.#ports.add(port);
    }
  }

  #release(service: KubeObject): void {
    if (textAt(service, "spec", "clusterIP") !== "None") {
      for (const address of addressesOf(service)) this.#addresses.delete(address);
    }
    for (const port of portsOf(service)) this.#ports.delete(port);
  }
}
