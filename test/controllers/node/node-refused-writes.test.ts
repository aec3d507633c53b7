import { expect, test } from "bun:test";
import { NodeControllers } from "../../support/node-controllers.ts";
import { machine } from "../../support/scripted-source.ts";

test("reports a rejected write to an initialized Node on the Node until it succeeds", async () => {
  const w = new NodeControllers({ machines: [machine("n0")] }).start("node");
  w.nodes.server.faults.intercept = ({ method }) =>
    method === "PATCH" ? new Response("{}", { status: 403 }) : undefined;
  w.nodes.add({ name: "n0", spec: { providerID: "fake://n0" } });
  w.inventory.requestListing(w.clock.monotonic(), "refresh");
  await w.pass(60);
  expect(w.reasons("n0")).toEqual(["KubernetesRefused"]);
  expect(w.node.report().problems.get("n0")?.[0]?.reason).toBe("KubernetesRefused");
  w.nodes.server.faults.intercept = undefined;
  await w.pass(600);
  expect(w.node.report().problems.size).toBe(0);
  expect(w.nodes.node("n0").status.addresses).toEqual([{ type: "InternalIP", address: "10.0.0.1" }]);
  await w.stop();
});
