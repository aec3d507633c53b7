// Assigns pod CIDRs to Nodes, as kube-controller-manager does. It assigns the lowest free range, so that the range of a deleted
// Node is soon reused, which is the hardest case for routes.

import { milliseconds } from "../../src/core/brand.ts";
import type { Clock } from "../../src/platform/clock.ts";
import type { Random } from "../../src/platform/random.ts";
import type { ApiServer } from "../../src/testing/apiserver/api-server.ts";
import { resourceNamed } from "../../src/testing/apiserver/objects/resource-table.ts";

export const clusterCIDR = "10.244.0.0/16";

const nodes = resourceNamed("nodes");

export class PodRanges {
  readonly #server: ApiServer;
  /** The uids of the Nodes, by the number of their range. */
  readonly #taken = new Map<number, string>();
  readonly #kept = new Set<string>();

  constructor(server: ApiServer, clock: Clock, random: Random) {
    this.#server = server;
    server.onWrite(({ storage, type, object }) => {
      if (storage !== "nodes") return;
      const { name, uid } = object.metadata;
      if (type === "DELETED" && !this.#kept.delete(uid)) this.#release(uid);
      if (type !== "ADDED" || object.spec?.["podCIDR"] !== undefined) return;
      clock.after(milliseconds(Math.round(50 + random.fraction() * 2000)), () => this.#assign(name, uid));
    });
  }

  /** Keeps the range of a Node that will vanish without a deletion and return. */
  keep(uid: string): void {
    this.#kept.add(uid);
  }

  #assign(name: string, uid: string): void {
    if (this.#server.store.get("nodes", "", name)?.metadata.uid !== uid) return;
    let number = 0;
    while (this.#taken.has(number)) number += 1;
    this.#taken.set(number, uid);
    const podCIDR = `10.244.${number}.0/24`;
    this.#server.objects.patch(nodes, "", name, "", (node) => ({
      ...node,
      spec: { ...node.spec, podCIDR, podCIDRs: [podCIDR] },
    }));
  }

  #release(uid: string): void {
    for (const [number, holder] of this.#taken) if (holder === uid) this.#taken.delete(number);
  }
}
