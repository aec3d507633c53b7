import { expect, test } from "bun:test";
import { asTransport as cloudTransport } from "#ccm/testing";
import { fake } from "../../providers/fake/index.ts";
import type { AnyProvider } from "../../src/provider/provider.ts";
import "../../src/app/process-life.ts"; // Imported here, because its lazy import would take real time.
import { runProgram } from "../../src/app/run.ts";
import { type ManagerPlatform, systemPlatform } from "../../src/app/system-platform.ts";
import { seededRandom } from "../../src/platform/random.ts";
import { asTransport } from "../../src/testing/apiserver/as-transport.ts";
import { MemoryFiles } from "../../src/testing/virtual-time/memory-files.ts";
import { ServiceWorld } from "../support/service-world.ts";

test("the manager runs the garbage collector after decoding about 1.5 MiB, and fully every eighth time", async () => {
  const world = new ServiceWorld({ nodes: 0 });
  const collections: string[] = [];
  const platform: ManagerPlatform = {
    clock: world.clock,
    random: seededRandom(3),
    files: new MemoryFiles({}).files,
    environment: {},
    transport: asTransport(world.server),
    cloudTransport: cloudTransport(world.cloud),
    collectGarbage: (which = "all") => {
      collections.push(which);
    },
  };
  const stop = new AbortController();
  const streams = { out: () => undefined, err: () => undefined };
  const args = ["--master=https://test-api-server:6443", "--configure-cloud-routes=false"];
  const ended = runProgram(fake as unknown as AnyProvider, args, streams, platform, stop.signal);
  await world.pass(30);
  expect(collections).toEqual([]);
  for (let index = 0; index < 160; index += 1) {
    world.create(`web-${index}`, { annotations: { note: "x".repeat(100_000) }, spec: { type: "ClusterIP" } });
  }
  await world.pass(5);
  expect(collections.length).toBeGreaterThanOrEqual(8);
  expect(collections.length).toBeLessThanOrEqual(16);
  expect(collections.slice(0, 8)).toEqual([...Array<string>(7).fill("recent"), "all"]);
  stop.abort();
  await world.pass(30);
  expect(await ended).toBe(0);
});

test("the platform of the executable provides the garbage collector and the memory size", () => {
  const { collectGarbage, residentBytes } = systemPlatform({});
  expect(collectGarbage).toBeFunction();
  expect(residentBytes?.()).toBeGreaterThan(0);
});
