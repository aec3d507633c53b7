import { expect, test } from "bun:test";
import { CloudError, minutes, seconds } from "../../../src/index.ts";
import { scriptedWorld } from "../../support/scripted-world.ts";

// Lookups of a load balancer that the cloud does not answer.

test("a lookup without a definite answer changes nothing, and is repeated at the time in its error", async () => {
  let asked = 0;
  const { w, script } = scriptedWorld(undefined, () => ({
    observe: async (_, listed) => {
      asked += 1;
      if (w.clock.monotonic() >= minutes(10)) return listed;
      const detail = { operation: "GET /pool", retryAfter: { in: seconds(10) } };
      throw new CloudError("unavailable", "the region does not answer", detail);
    },
  }));
  await w.start();
  w.create("web");
  await w.pass(300);
  expect(script.applied).toEqual([]);
  expect(asked).toBeGreaterThan(8);
  expect(w.events("web").join()).toContain("the region does not answer");
  await w.until(() => script.applied.length === 1, "the load balancer", 340);
  await w.stop();
});
