// The sandbox of `npm start` in each simulated cloud, up to the second step of the demo.

import { expect, test } from "bun:test";
import { localClouds } from "../../scripts/clouds/registry.ts";
import { demoSteps } from "../../scripts/start/demo-steps.ts";
import { openSandbox } from "../../scripts/start/sandbox.ts";
import { milliseconds } from "../../src/core/brand.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { createLog } from "../../src/telemetry/log.ts";
import { runsAllTests } from "../../src/testing/breadth.ts";

/** Asks until the condition holds; the timeout of the test ends it otherwise. */
const until = async (holds: () => boolean): Promise<void> => {
  while (!holds()) await Bun.sleep(20);
};

// The sandbox runs in real time and mostly waits.
test.concurrent("the sandbox shows the state of the manager on a page, only under its own address, and prints where its cluster and cloud are [F91]", async () => {
  const stop = new AbortController();
  const [definition] = localClouds;
  if (definition === undefined) throw new Error("There is no simulated cloud.");
  const { cloud, manager, statusURL, variables, variablesFile, ended } = await openSandbox({
    definition,
    nodes: 1,
    cloudLatency: milliseconds(0),
    faults: false,
    port: 0,
    log: createLog({ format: "text", verbosity: 0, clock: systemClock, write: () => undefined }),
    signal: stop.signal,
  });
  try {
    const script = `. ${variablesFile}; echo "$KUBECONFIG $FAKE_ENDPOINT $FAKE_TOKEN"`;
    const { stdout } = Bun.spawnSync(["sh", "-c", script], { env: {} });
    expect(stdout.toString()).toBe(`${variables["KUBECONFIG"]} ${cloud.url} ${cloud.settings["token"]}\n`);
    await until(() => manager.nodes.get("node-1")?.spec.providerID !== undefined);
    const answer = await fetch(statusURL);
    expect(answer.headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(await answer.text()).toMatch(/rowheader" class="text">node-1</);
    const statuses = [
      fetch(statusURL, { headers: { host: "attacker.example" } }),
      fetch(statusURL.replace("/status", "/debug/state")),
      fetch(statusURL, { method: "POST" }),
    ].map(async (response) => (await response).status);
    expect(await Promise.all(statuses)).toEqual([404, 404, 405]);
  } finally {
    stop.abort(new Error("The test ended."));
    await ended;
  }
});

test.concurrent.each(
  (runsAllTests ? localClouds : localClouds.slice(0, 1)).map(
    (definition) => [definition.name, definition] as const,
  ),
)(
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
      const { uid = "" } = manager.services.get("default/shop")?.metadata ?? {};
      expect(cloud.hasLoadBalancerOf(uid, "default/shop")).toBe(true);
      expect(cloud.hasLoadBalancerOf("another", "default/another")).toBe(false);
    } finally {
      stop.abort(new Error("The test ended."));
      await sandbox.ended;
    }
  },
);
