import { afterEach, describe, expect, test } from "bun:test";
import { NodeControllers } from "../support/node-controllers.ts";
import { machine } from "../support/scripted-source.ts";
import { E, I, inCloud, U } from "../support/upstream-nodes.ts";

// Rows of upstream's test catalogue about addresses of nodes that are not being initialised.

let world: NodeControllers | undefined;
afterEach(() => world?.stop());

describe("TestNodeAddressesNotUpdate", () => {
  // Upstream writes addresses after the taint went; ours come first, so that whoever sees it gone sees them (invariant 3).
  test.each(["TestNodeAddressesNotUpdate", "TestNodeAddressesNotUpdateV2"])(
    "%s: a tainted node gets no addresses from a refresh, only by being initialised [S4]",
    async (_) => {
      world = new NodeControllers({ machines: [machine("node0")], isSelected: () => false });
      world.nodes.add({ name: "node0", spec: { taints: [U] } });
      world.start("node");
      world.inventory.wantListing(0, "refresh");
      await world.pass(60);
      expect(world.nodes.node("node0").status.addresses).toBeUndefined();
    },
  );
});

describe("TestUpdateNodeStatus", () => {
  // Upstream makes one call per node, whatever the workers; ours makes one per page (decision 0001).
  test.each([1, 5, 10, 30])(
    "TestUpdateNodeStatus: a hundred nodes with %d workers cost one listing [F9]",
    async (concurrency) => {
      const names = Array.from({ length: 100 }, (_, index) => `node${index}`);
      const addresses = inCloud([I("10.0.0.1"), E("132.143.154.163")]);
      world = new NodeControllers({
        machines: names.map((name) => machine(name, { addresses, type: "" })),
        concurrency,
      });
      for (const name of names) world.nodes.add({ name, spec: { providerID: `fake://${name}` } });
      world.start("node");
      world.inventory.wantListing(0, "refresh");
      await world.pass(5);
      expect(world.cloud.calls.map(({ what }) => what)).toEqual(["list"]);
      expect(world.nodes.sent).toHaveLength(100);
      expect(names.every((name) => world?.nodes.node(name).status.addresses?.length === 2)).toBe(true);
    },
  );
});
