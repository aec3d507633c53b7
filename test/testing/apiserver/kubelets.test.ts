// Simulated kubelets and the stand-in for the node lifecycle controller, in virtual time.

import { describe, expect, test } from "bun:test";
import { minutes, seconds } from "../../../src/core/brand.ts";
import { seededRandom } from "../../../src/platform/random.ts";
import { ApiServer } from "../../../src/testing/apiserver/api-server.ts";
import { Kubelets } from "../../../src/testing/apiserver/kubelet/kubelets.ts";
import { listAt, textAt } from "../../../src/testing/apiserver/objects/json.ts";
import { resourceNamed } from "../../../src/testing/apiserver/objects/resource-table.ts";
import { VirtualClock } from "../../../src/testing/virtual-time/virtual-clock.ts";

const start = () => {
  const clock = new VirtualClock();
  const random = seededRandom(1);
  const server = new ApiServer({ clock, random });
  const down = new Set<string>();
  const kubelets = new Kubelets({ server, clock, random, isMachineUp: (name) => !down.has(name) });
  const node = (name: string) => server.store.get("nodes", "", name);
  const ready = (name: string) =>
    textAt(
      listAt(node(name), "status", "conditions").find((each) => textAt(each, "type") === "Ready"),
      "status",
    );
  const taints = (name: string) =>
    listAt(node(name), "spec", "taints").map((each) => `${textAt(each, "key")}:${textAt(each, "effect")}`);
  return { clock, server, down, kubelets, node, ready, taints };
};

const uninitialized = "node.cloudprovider.kubernetes.io/uninitialized:NoSchedule";

describe("a kubelet", () => {
  test("a kubelet registers an uninitialized Node that is not ready, and becomes ready soon after", async () => {
    const { clock, kubelets, ready, taints, node } = start();
    kubelets.join({ name: "w", providedIP: "10.0.0.7", podCIDRs: ["10.244.0.0/24"] });
    expect(ready("w")).toBe("False");
    expect(taints("w")).toEqual([uninitialized, "node.kubernetes.io/not-ready:NoSchedule"]);
    expect(node("w")?.metadata.annotations?.["alpha.kubernetes.io/provided-node-ip"]).toBe("10.0.0.7");
    await clock.advance(seconds(5));
    expect(ready("w")).toBe("True");
    expect(taints("w")).toEqual([uninitialized]);
    kubelets.stop();
    expect(clock.pending).toBe(0);
  });

  test("a kubelet renews its Lease often and writes its status rarely", async () => {
    const { clock, server, kubelets } = start();
    kubelets.join({ name: "w" });
    await clock.advance(seconds(20));
    const writes = new Map<string, number>();
    server.onWrite(({ storage }) => writes.set(storage, (writes.get(storage) ?? 0) + 1));
    await clock.advance(minutes(5));
    expect(writes.get("leases")).toBe(30);
    expect(writes.get("nodes")).toBe(1);
  });

  test("a kubelet becomes Unknown and unreachable when its machine stops, and ready again when the machine returns", async () => {
    const { clock, kubelets, down, ready, taints } = start();
    kubelets.join({ name: "w" });
    await clock.advance(seconds(10));
    down.add("w");
    await clock.advance(seconds(45));
    expect(ready("w")).toBe("True");
    await clock.advance(seconds(15));
    expect(ready("w")).toBe("Unknown");
    expect(taints("w")).toEqual([
      uninitialized,
      "node.kubernetes.io/unreachable:NoSchedule",
      "node.kubernetes.io/unreachable:NoExecute",
    ]);
    down.delete("w");
    await clock.advance(seconds(5));
    expect(ready("w")).toBe("True");
    expect(taints("w")).toEqual([uninitialized]);
  });

  test("a kubelet does not register again after its machine is gone and its Node was deleted", async () => {
    const { clock, server, kubelets, node } = start();
    const name = "w-1";
    for (const each of [name, "w-2", "w-3"]) kubelets.join({ name: each });
    await clock.advance(seconds(10));
    kubelets.leave(name);
    server.objects.delete(resourceNamed("nodes"), "", name);
    await clock.advance(minutes(10));
    expect(node(name)).toBeUndefined();
    expect(kubelets.names).toEqual(["w-2", "w-3"]);
  });
});
