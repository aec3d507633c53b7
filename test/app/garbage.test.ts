import { expect, test } from "bun:test";
import { asTransport as cloudTransport } from "#ccm/testing";
import { fake } from "../../providers/fake/index.ts";
import type { AnyProvider } from "../../src/app/connect-cloud.ts";
import "../../src/app/process-life.ts"; // Imported here, because its lazy import would take real time.
import { runProgram } from "../../src/app/run.ts";
import { systemPlatform } from "../../src/app/system-platform.ts";
import { seededRandom } from "../../src/platform/random.ts";
import { asTransport } from "../../src/testing/apiserver/as-transport.ts";
import { MemoryFiles } from "../../src/testing/virtual-time/memory-files.ts";
import { ServiceWorld } from "../support/service-world.ts";

test("the manager collects garbage each time it has decoded about 1.5 MiB", async () => {
  const world = new ServiceWorld({ nodes: 0 });
  let collections = 0;
  const platform = {
    ...{ clock: world.clock, random: seededRandom(3), files: new MemoryFiles({}).files, environment: {} },
    ...{ transport: asTransport(world.server), cloudTransport: cloudTransport(world.cloud) },
    collectGarbage: () => {
      collections += 1;
    },
  };
  const stop = new AbortController();
  const streams = { out: () => undefined, err: () => undefined };
  const args = ["--master=https://test-api-server:6443", "--configure-cloud-routes=false"];
  const ended = runProgram(fake as unknown as AnyProvider, args, streams, platform, stop.signal);
  await world.pass(30);
  expect(collections).toBe(0);
  for (let index = 0; index < 32; index += 1) {
    world.create(`web-${index}`, { annotations: { note: "x".repeat(100_000) }, spec: { type: "ClusterIP" } });
  }
  await world.pass(5);
  expect(collections).toBeGreaterThanOrEqual(2);
  expect(collections).toBeLessThanOrEqual(8);
  stop.abort();
  await world.pass(30);
  expect(await ended).toBe(0);
});

test("the environment of the executable collects garbage", () => {
  expect(systemPlatform({}).collectGarbage).toBeFunction();
});
