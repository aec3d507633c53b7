import { expect, test } from "bun:test";
import { configPath, flagsFile, ReloadingProcess } from "../../support/reloading-process.ts";
import { ServiceWorld } from "../../support/service-world.ts";

// A whole process with its port while its configuration file changes: its parts continue.

const start = async (...flags: readonly string[]) => {
  const process = new ReloadingProcess({
    world: new ServiceWorld({ nodes: 0 }),
    contents: { [configPath]: flagsFile(...flags) },
    args: ["--configure-cloud-routes=false", `--config=${configPath}`],
    environment: { FAKE_ENDPOINT: "https://cloud.example" },
  });
  await process.untilLeading();
  return process;
};

test("the metrics of the process and of its secure port continue after a reload", async () => {
  const process = await start("concurrent-service-syncs: 8");
  expect(await process.page("/metrics")).toMatch(
    /fairlead_serving_certificate_expiration_timestamp_seconds\{port="secure"\} \d+/,
  );
  await process.write("concurrent-service-syncs: 9");
  const changes = process.linesWith("--concurrent-service-syncs: 8 -> 9");
  expect(changes).toEqual([expect.stringContaining("Applied the changed configuration: --concurrent")]);
  const metrics = await process.page("/metrics");
  expect(metrics).toMatch(/fairlead_serving_certificate_expiration_timestamp_seconds\{port="secure"\} \d+/);
  expect(metrics).toMatch(/apiserver_delegated_authz_request_total\{code="201"\} [1-9]/);
  const lag = async (): Promise<number> =>
    Number(/fairlead_event_loop_lag_seconds_count (\d+)/.exec(await process.page("/metrics"))?.[1]);
  const before = await lag();
  expect(before).toBeGreaterThan(20);
  await process.page("/version");
  expect(await lag()).toBeGreaterThan(before);
  expect(await process.end()).toBe(0);
});

test("the shutdown uses the drain timeout of the current configuration", async () => {
  const process = await start("drain-timeout: 10s");
  await process.write("drain-timeout: 25s");
  expect(await process.end()).toBe(0);
  expect(process.linesWith("SIGTERM; draining in-flight work")).toEqual([
    expect.stringContaining("withinSeconds=25"),
  ]);
});

test("a reload reports settings that take effect only after a restart", async () => {
  const process = await start("profiling: true");
  await process.write("profiling: false", "logging-format: json");
  expect(process.linesWith("take effect after a restart")).toEqual([
    expect.stringContaining("--logging-format, --profiling take effect after a restart"),
  ]);
  expect(await process.page("/flagz")).toContain("\nprofiling=true\n");
  await process.end();
});

test("a reload rejects every configuration that the executable rejects at startup", async () => {
  const process = await start("cloud-provider: fake");
  await process.write("cloud-provider: other");
  expect(process.linesWith("--cloud-provider is")).toEqual([
    expect.stringContaining("run other-cloud-controller-manager"),
  ]);
  expect(process.linesWith("keeping the previous one")).toHaveLength(1);
  await process.end();
});
