import { expect, test } from "bun:test";
import { minutes } from "../../../src/core/brand.ts";
import { NodeControllers, uninitialized } from "../../support/node-controllers.ts";

test("the CloudReady condition has the time of its write as heartbeat", async () => {
  const w = new NodeControllers().start("node");
  w.nodes.add({ name: "n0", spec: { taints: [uninitialized] } });
  await w.pass(minutes(5) / 1000);
  const [stored] = w.nodes.server.store.list("nodes") as unknown as readonly {
    status: {
      conditions: readonly { type: string; lastHeartbeatTime: string; lastTransitionTime: string }[];
    };
  }[];
  const [condition] = stored?.status.conditions ?? [];
  expect(condition?.type).toBe("CloudReady");
  expect(condition?.lastHeartbeatTime).toMatch(/^\d{4}-/);
  expect(condition?.lastHeartbeatTime).toBe(condition?.lastTransitionTime);
  await w.stop();
});
