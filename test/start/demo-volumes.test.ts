// The last steps of the demo: a claim becomes a file in a mounted volume, with the real volume controller and the real Node service.

import { expect, test } from "bun:test";
import { localClouds } from "../../scripts/clouds/registry.ts";
import { Demo } from "../../scripts/start/demo.ts";
import { volumeSteps } from "../../scripts/start/demo-volumes.ts";
import { openSandbox } from "../../scripts/start/sandbox.ts";
import { milliseconds } from "../../src/core/brand.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { createLog } from "../../src/telemetry/log.ts";
import { runsAllTests } from "../../src/testing/breadth.ts";

const withVolumes = localClouds.filter(({ provider }) => provider.volumeDriver !== undefined);

test.concurrent.each(
  (runsAllTests ? withVolumes : withVolumes.slice(0, 1)).map(
    (definition) => [definition.name, definition] as const,
  ),
)("the demo of %s turns a claim into a file in a mounted volume [S10]", async (_, definition) => {
  const stop = new AbortController();
  const log = createLog({ format: "text", verbosity: 0, clock: systemClock, write: () => undefined });
  const sandbox = await openSandbox({
    ...{ definition, nodes: 1, cloudLatency: milliseconds(0), faults: false, port: 0, log },
    signal: stop.signal,
  });
  const lines: string[] = [];
  try {
    while (sandbox.manager.nodes.get("node-1")?.spec.providerID === undefined) await Bun.sleep(20);
    const demo = new Demo({
      steps: volumeSteps(sandbox),
      ...{ elapsed: () => performance.now(), pause: 0, report: (text) => lines.push(text) },
    });
    while (!demo.isDone) {
      demo.tick();
      await Bun.sleep(20);
    }
    expect(lines.at(-1)).toMatch(/^step 3 of 3: done: .*\/pod\/hello: "written by a pod" \(volume .+\)$/);
  } finally {
    stop.abort(new Error("The test ended."));
    await sandbox.ended;
  }
});

test("the demo of a cloud without volumes has no steps about them", () => {
  expect(volumeSteps({ driver: undefined } as never)).toEqual([]);
});
