import { expect, test } from "bun:test";
import { defineProvider } from "../../src/index.ts";
import type { Node } from "../../src/kube/objects.ts";
import type { KubeObject } from "../../src/testing/apiserver/objects/kube-object.ts";
import { resourceNamed } from "../../src/testing/apiserver/objects/resource-table.ts";
import { ScriptedRoutes } from "../controllers/route/scripted-routes.ts";
import { toNode } from "../support/api-server-nodes.ts";
import { uninitialized } from "../support/node-controllers.ts";
import { machine, ScriptedSource } from "../support/scripted-source.ts";
import { ServiceWorld } from "../support/service-world.ts";

// A whole manager on a cloud that finds machines by name immediately, but lists them late.

const setUp = () => {
  const parts: { source?: ScriptedSource; table?: ScriptedRoutes } = {};
  const provider = defineProvider({
    contract: 3,
    name: "late",
    schemes: ["fake://"],
    config: {},
    connect: () => {
      const { source, table } = parts;
      if (source === undefined || table === undefined) throw new Error("The world is not there yet.");
      return { instances: { sources: [source], matchBy: ["name"] }, routes: table.routes };
    },
  });
  const w = new ServiceWorld({ nodes: 0, provider });
  const source = new ScriptedSource({ clock: w.clock, pageSize: 1, lookups: { name: 1 } });
  const table = new ScriptedRoutes(w.clock);
  Object.assign(parts, { source, table });
  for (const key of ["a", "b", "c"]) source.put(machine(key));
  return { w, source, table };
};

test("a Node whose machine appears late gets its provider id soon afterwards, and then its route [F25 F58]", async () => {
  for (const delay of [1, 7, 20, 45]) {
    const { w, source, table } = setUp();
    await w.start("--controllers=cloud-node,route", "--cluster-cidr=10.244.0.0/16");
    await w.pass(5);
    const spec = { taints: [uninitialized], podCIDR: "10.244.1.0/24", podCIDRs: ["10.244.1.0/24"] };
    const joining = toNode({ name: "n0", uid: "uid-n0", spec });
    w.server.store.put(resourceNamed("nodes"), joining as unknown as KubeObject);
    await w.pass(delay);
    source.hidden.set("n0", "listing");
    source.put(machine("n0"));
    const node = () => w.server.store.get("nodes", undefined, "n0") as unknown as Node;
    const initialized = () =>
      node().spec.providerID === "fake://n0" && (node().spec.taints ?? []).length === 0;
    await w.until(() => initialized() || table.changes.length > 0, "the Node or its route", 2 * delay + 5);
    expect({ delay, initialized: initialized() }).toEqual({ delay, initialized: true });
    await w.until(() => table.changes.length === 1, "the route", 1);
    await w.stop();
  }
});
