import { expect, test } from "bun:test";
import { fake } from "../../providers/fake/index.ts";
import { asTransport as cloudTransport } from "../../providers/fake/simulator/transport.ts";
import type { AnyProvider } from "../../src/app/connect-cloud.ts";
// The program itself imports these lazily, which would take real time here.
import "../../src/app/process-life.ts";
import { runProgram } from "../../src/app/run.ts";
import "../../src/config-file/parse-yaml.ts";
import type { Listen, ListenOptions } from "../../src/platform/listener.ts";
import { seededRandom } from "../../src/platform/random.ts";
import { asTransport } from "../../src/testing/apiserver/as-transport.ts";
import { MemoryFiles } from "../../src/testing/virtual-time/memory-files.ts";
import { ServiceWorld } from "../support/service-world.ts";

// A whole process with its port, while its configuration file changes: the parts of the process continue, and the
// manager is replaced.

const path = "/etc/fairlead.yaml";
const head = "apiVersion: fairlead.dev/v1alpha1\nkind: FairleadConfiguration\nflags:\n";
const file = (...flags: readonly string[]): string => head + flags.map((flag) => `  ${flag}\n`).join("");
const figures = {
  ...{ cpuSeconds: () => 1.5, residentBytes: () => 1000, heapBytes: () => 500, startedAtSeconds: 1 },
  ...{ objects: () => [], snapshot: () => "{}" },
};

const start = async (...flags: readonly string[]) => {
  const world = new ServiceWorld({ nodes: 0 });
  const disk = new MemoryFiles({ [path]: file(...flags) });
  const lines: string[] = [];
  let port: ListenOptions | undefined;
  const listen: Listen = async (options) => {
    port = options;
    return { port: 1, renew: () => undefined, close: async () => undefined };
  };
  const streams = {
    out: () => undefined,
    err: (text: string) => void lines.push(text),
    serving: { listen, figures },
  };
  const stop = new AbortController();
  const platform = {
    ...{ clock: world.clock, random: seededRandom(3), files: disk.files },
    ...{ transport: asTransport(world.server), cloudTransport: cloudTransport(world.cloud) },
    environment: { FAKE_ENDPOINT: "https://cloud.example" },
  };
  const args = [
    "--master=https://test-api-server:6443",
    "--configure-cloud-routes=false",
    `--config=${path}`,
  ];
  let code: number | undefined;
  const ended = runProgram(fake as unknown as AnyProvider, args, streams, platform, stop.signal).then(
    (exitCode) => {
      code = exitCode;
    },
  );
  const linesWith = (word: string): readonly string[] => lines.filter((line) => line.includes(word));
  await world.until(() => linesWith("Acquired leadership").length === 1, "it to lead");
  const page = async (target: string): Promise<string> => {
    const asked = port?.handle({
      ...{ method: "GET", target, peer: undefined, body: async () => "" },
      headers: [],
    });
    await world.pass(2);
    return (await asked)?.body ?? "";
  };
  return {
    ...{ world, linesWith, page },
    write: async (...next: readonly string[]) => {
      disk.put(path, file(...next));
      await world.pass(30);
    },
    end: async () => {
      stop.abort(new Error("asked to stop"));
      await world.until(() => code !== undefined, "it to end");
      await ended;
      return code;
    },
  };
};

test("metrics of the process and its port continue with the next manager", async () => {
  const { page, write, linesWith, end } = await start("concurrent-service-syncs: 8");
  expect(await page("/metrics")).toMatch(/fairlead_serving_certificate_end_seconds\{port="secure"\} \d+/);
  await write("concurrent-service-syncs: 9");
  expect(linesWith("--concurrent-service-syncs: 8 -> 9")).toHaveLength(1);
  const metrics = await page("/metrics");
  expect(metrics).toMatch(/fairlead_serving_certificate_end_seconds\{port="secure"\} \d+/);
  expect(metrics).toMatch(/apiserver_delegated_authz_request_total\{code="201"\} [1-9]/);
  const lag = async (): Promise<number> =>
    Number(/fairlead_event_loop_lag_seconds_count (\d+)/.exec(await page("/metrics"))?.[1]);
  const before = await lag();
  expect(before).toBeGreaterThan(20);
  await page("/version");
  expect(await lag()).toBeGreaterThan(before);
  expect(await end()).toBe(0);
});

test("a reload adds the health checks of controllers that now run and removes those of others", async () => {
  const { page, write, end } = await start("controllers: [service]");
  expect(await page("/livez?verbose")).toContain("[+]service ok");
  await write("controllers: [cloud-node]");
  const checks = await page("/livez?verbose");
  expect(checks).toContain("[+]cloud-node ok");
  expect(checks).not.toContain("]service ");
  expect(checks).toContain("[+]leaderElection ok");
  await end();
});

test("the shutdown uses the drain timeout of the current configuration", async () => {
  const { write, linesWith, end } = await start("drain-timeout: 10s");
  await write("drain-timeout: 25s");
  expect(await end()).toBe(0);
  expect(linesWith("draining in-flight work")).toEqual([expect.stringContaining("withinSeconds=25")]);
});

test("a reload reports settings that take effect only after a restart", async () => {
  const { page, write, linesWith, end } = await start("profiling: true");
  await write("profiling: false", "logging-format: json");
  expect(linesWith("take effect after a restart")).toEqual([
    expect.stringContaining("--profiling, --logging-format take effect after a restart"),
  ]);
  expect(await page("/flagz")).toContain("\nprofiling=true\n");
  await end();
});

test("a reload refuses every configuration that the executable refuses at its start", async () => {
  const { write, linesWith, end } = await start("cloud-provider: fake");
  await write("cloud-provider: other");
  expect(linesWith("--cloud-provider is")).toEqual([
    expect.stringContaining("run other-cloud-controller-manager"),
  ]);
  expect(linesWith("keeping the previous one")).toHaveLength(1);
  await end();
});
