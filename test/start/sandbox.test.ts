// The sandbox of `npm start` in each simulated cloud, up to the second step of the demo.

import { expect, test } from "bun:test";
import { localClouds } from "../../scripts/clouds/registry.ts";
import { demoSteps } from "../../scripts/start/demo-steps.ts";
import { openSandbox } from "../../scripts/start/sandbox.ts";
import { milliseconds } from "../../src/core/brand.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { createLog } from "../../src/telemetry/log.ts";

/** Asks until the condition holds; the timeout of the test ends it otherwise. */
const until = async (holds: () => boolean): Promise<void> => {
  while (!holds()) await Bun.sleep(20);
};

test.each(localClouds.map((definition) => [definition.name, definition] as const))(
  "the sandbox of %s shows the load balancers of the cloud, and its routes if it has any",
  async (_, definition) => {
    const stop = new AbortController();
    const sandbox = await openSandbox({
      definition,
      nodes: 1,
      cloudLatency: milliseconds(0),
      faults: false,
      port: 0,
      log: createLog({ format: "text", verbosity: 0, clock: systemClock, write: () => undefined }),
      signal: stop.signal,
    });
    const { cloud, manager } = sandbox;
    try {
      expect(cloud.routeCount?.() ?? 0).toBe(0);
      for (const step of demoSteps(sandbox, 1).slice(0, 2)) {
        step.start();
        await until(() => step.waitingFor() === undefined);
      }
      await until(() => cloud.routeCount === undefined || cloud.routeCount() === 1);
      expect(cloud.hasLoadBalancerOf(manager.services.get("default/shop")?.metadata.uid ?? "")).toBe(true);
      expect(cloud.hasLoadBalancerOf("another")).toBe(false);
    } finally {
      stop.abort(new Error("The test ended."));
      await sandbox.ended;
    }
  },
  30_000,
);
