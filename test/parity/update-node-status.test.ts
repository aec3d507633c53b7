import { afterEach, describe, expect, test } from "bun:test";
import { NodeControllers } from "../support/node-controllers.ts";
import { machine } from "../support/scripted-source.ts";
import { E, I, inCloud, U } from "../support/upstream-nodes.ts";

// Rows of upstream's tests of addresses of Nodes that are not being initialized.

let world: NodeControllers | undefined;
afterEach(() => world?.stop());

describe("TestNodeAddressesNotUpdate", () => {
  // Upstream writes the addresses after it has removed the taint. Fairlead writes them first, so that any observer of
  // the removal sees them.
  test.each(["TestNodeAddressesNotUpdate", "TestNodeAddressesNotUpdateV2"])(
    "%s: a refresh gives a tainted Node no addresses; only its initialization does [S4]",
    async (_) => {
      world = new NodeControllers({ machines: [machine("node0")], isSelected: () => false });
      world.nodes.add({ name: "node0", spec: { taints: [U] } });
      world.start("node");
      world.inventory.requestListing(0, "refresh");
      await world.pass(60);
      expect(world.nodes.node("node0").status.addresses).toBeUndefined();
    },
  );
});

describe("TestUpdateNodeStatus", () => {
  // Upstream makes one call per Node with any number of workers; Fairlead makes one per page (decision 0001).
  test.each([1, 5, 10, 30])(
    "TestUpdateNodeStatus: a hundred Nodes with %d workers cost one listing [F9]",
    async (concurrency) => {
      const names = Array.from({ length: 100 }, (_, index) => `node${index}`);
      const addresses = inCloud([I("10.0.0.1"), E("132.143.154.163")]);
      world = new NodeControllers({
        machines: names.map((name) => machine(name, { addresses, type: "" })),
        concurrency,
      });
      for (const name of names) world.nodes.add({ name, spec: { providerID: `fake://${name}` } });
      world.start("node");
      world.inventory.requestListing(0, "refresh");
      await world.pass(5);
      expect(world.cloud.calls.map(({ what }) => what)).toEqual(["list"]);
      expect(world.nodes.sent).toHaveLength(100);
      expect(names.every((name) => world?.nodes.node(name).status.addresses?.length === 2)).toBe(true);
    },
  );
});
