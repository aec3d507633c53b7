import { expect, test } from "bun:test";
import { asTransport as cloudTransport } from "#ccm/testing";
import { fake } from "../../providers/fake/index.ts";
import type { AnyProvider } from "../../src/provider/provider.ts";
import "../../src/app/process-life.ts"; // Imported here, because its lazy import would take real time.
import { runProgram } from "../../src/app/run.ts";
import { seededRandom } from "../../src/platform/random.ts";
import { asTransport } from "../../src/testing/apiserver/as-transport.ts";
import { MemoryFiles } from "../../src/testing/virtual-time/memory-files.ts";
import { VirtualClock } from "../../src/testing/virtual-time/virtual-clock.ts";
import { ServiceWorld } from "../support/service-world.ts";

// A whole process at the default log level: how it starts, and how it stops on request.

const runUntilStopped = async (...args: readonly string[]) => {
  const world = new ServiceWorld({ nodes: 0 });
  const lines: string[] = [];
  const streams = { out: () => undefined, err: (text: string) => void lines.push(text) };
  const stop = new AbortController();
  const platform = {
    clock: world.clock,
    random: seededRandom(3),
    files: new MemoryFiles({}).files,
    transport: asTransport(world.server),
    cloudTransport: cloudTransport(world.cloud),
    environment: { FAKE_ENDPOINT: "https://someone:hunter2@cloud.example:8443" },
  };
  const given = ["--master=https://test-api-server:6443", "--configure-cloud-routes=false", ...args];
  const ended = runProgram(fake as unknown as AnyProvider, given, streams, platform, stop.signal);
  let hasEnded = false;
  const end = ended.finally(() => {
    hasEnded = true;
  });
  await world.until(() => lines.some((line) => line.includes("Started ")), "it to run");
  await world.pass(5);
  stop.abort(new Error("received SIGTERM"));
  await world.until(() => hasEnded, "it to end");
  const said = lines.map((line) => line.slice(line.indexOf("] ") + 2, -1));
  return { code: await end, said, text: lines.join("") };
};

test("logs its endpoints at the start, and drains, releases the Lease and exits at the end [F67]", async () => {
  const { code, said, text } = await runUntilStopped();
  expect(code).toBe(0);
  expect(said).toEqual([
    expect.stringMatching(
      /^Started fake-cloud-controller-manager \S+ mode="enforce" clusterName="kubernetes" apiServer="https:\/\/test-api-server:6443" cloud="https:\/\/cloud\.example:8443" accounts="fake"$/,
    ),
    "Acquired leadership",
    "Received SIGTERM; draining in-flight work withinSeconds=10",
    "Released the Lease kube-system/cloud-controller-manager",
    "Exiting fake-cloud-controller-manager code=0",
  ]);
  expect(text).not.toContain("hunter2");
});

test("logs in one line why the process cannot start, and logs no shutdown", async () => {
  const lines: string[] = [];
  const streams = { out: () => undefined, err: (text: string) => void lines.push(text) };
  const nobody = () => Promise.reject(new Error("not asked"));
  const clock = new VirtualClock();
  const platform = {
    clock,
    random: seededRandom(3),
    files: new MemoryFiles({}).files,
    environment: {},
    transport: nobody,
    cloudTransport: nobody,
  };
  const given = ["--kubeconfig=/nowhere", "--configure-cloud-routes=false"];
  const { signal } = new AbortController();
  expect(await runProgram(fake as unknown as AnyProvider, given, streams, platform, signal)).toBe(2);
  expect(lines).toEqual([expect.stringContaining("Cannot read the kubeconfig /nowhere (ENOENT)")]);
});

test("logs no Lease at the shutdown of a process in observe mode", async () => {
  const { said } = await runUntilStopped("--mode=observe");
  expect(said.some((line) => line.includes("Lease"))).toBe(false);
  expect(said.at(-1)).toBe("Exiting fake-cloud-controller-manager code=0");
});
