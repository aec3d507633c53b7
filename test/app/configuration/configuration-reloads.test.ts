import { expect, test } from "bun:test";
import { minutes } from "../../../src/core/brand.ts";
import { runsAllTests } from "../../../src/testing/breadth.ts";
import { configPath, flagsFile, ReloadingProcess } from "../../support/reloading-process.ts";
import { ServiceWorld } from "../../support/service-world.ts";

// When a configuration is read again, which parts apply, and what the log reports.

const own = "/etc/cloud.conf";
const body = (syncs: string, ...more: readonly string[]) =>
  flagsFile(`concurrent-service-syncs: ${syncs}`, ...more);

const startIn = (world: ServiceWorld, contents: Readonly<Record<string, string>>, ...args: string[]) =>
  new ReloadingProcess({ world, contents, args: ["--controllers=service", ...args] });

const startWithFile = (world: ServiceWorld) =>
  startIn(world, { [configPath]: body("8") }, `--config=${configPath}`);

test.if(runsAllTests)(
  "breaking and repairing the configuration ten times affects no Service and leaks no resources [F69 N17]",
  async () => {
    const world = new ServiceWorld({ actionTime: 300 });
    const process = startWithFile(world);
    const names: string[] = [];
    for (let reload = 0; reload < 10; reload += 1) {
      for (let each = 0; each < 20; each += 1) {
        const name = `web-${reload}-${each}`;
        world.create(name);
        names.push(name);
      }
      // The file changes while those Services are being reconciled.
      await world.pass(1);
      process.disk.put(configPath, body("8", "no-such-flag: 1"));
      await world.pass(6);
      for (const name of names.splice(0, 7)) world.delete(name);
      process.disk.put(configPath, body(String(9 + reload)));
      await world.pass(6);
    }
    const settled = () =>
      world.owners().join() === world.wanted().join() &&
      world.services().every(({ metadata }) => world.addressesOf(metadata.name).length > 0);
    await world.until(settled, "one balancer for each Service and no other", 600);
    expect(world.services()).toHaveLength(130);
    expect(process.linesWith("unknown flag no-such-flag")).toHaveLength(10);
    expect(process.linesWith("keeping the previous one")).toHaveLength(10);
    expect(process.linesWith("Applied the changed configuration: --concurrent-service-syncs")).toHaveLength(
      10,
    );
    expect(process.linesWith("Started fake-cloud-controller-manager")).toHaveLength(1);
    // Another reload changes nothing, because everything has converged.
    await world.pass(60);
    process.forget();
    process.disk.put(configPath, body("30"));
    await world.pass(60);
    expect(
      process.linesWith("Applied the changed configuration: --concurrent-service-syncs: 18 -> 30"),
    ).toHaveLength(1);
    expect(world.changes).toEqual([]);
    expect(await process.end()).toBe(0);
  },
);

test("keeps the old configuration for an invalid file, and reports the file and line once, and once per requested reload [F69]", async () => {
  const world = new ServiceWorld();
  const process = startWithFile(world);
  await world.pass(10);
  process.disk.put(configPath, body("many"));
  await world.pass(60);
  const reported = () => process.linesWith(`${configPath}:4:29: concurrent-service-syncs must be a number`);
  expect(reported()).toHaveLength(1);
  expect(await process.metric("fairlead_configuration_invalid")).toBe(1);
  // The process detects the same error again, without SIGHUP.
  process.disk.put(configPath, body("many"));
  await world.pass(60);
  expect(reported()).toHaveLength(1);
  for (const times of [2, 3]) {
    process.hangUp();
    await world.pass(1);
    expect(reported()).toHaveLength(times);
    expect(process.linesWith("keeping the previous one")).toHaveLength(times);
  }
  world.create("web");
  await world.until(() => world.addressesOf("web").length === 1, "an address");
  process.disk.put(configPath, body("8"));
  await world.pass(10);
  expect(process.linesWith("valid again, without changes")).toHaveLength(1);
  expect(await process.metric("fairlead_configuration_invalid")).toBe(0);
  await process.end();
});

test("uses a new credential in the cloud's file without a restart, and never shows it [F70]", async () => {
  const world = new ServiceWorld();
  const args = [`--cloud-config=${own}`, "--node-status-update-frequency=10s"];
  const process = startIn(world, { [own]: "token = first-secret" }, ...args);
  await world.pass(30);
  expect([...process.tokens]).toEqual(["Bearer first-secret"]);
  process.disk.put(own, "token = second-secret");
  await world.until(
    () => process.linesWith("Applied the changed configuration: token: changed").length === 1,
    "the reload",
  );
  await world.pass(0.01);
  process.tokens.clear();
  await world.pass(60);
  expect([...process.tokens]).toEqual(["Bearer second-secret"]);
  expect(process.linesWith("Applied the changed configuration: token: changed")).toHaveLength(1);
  expect(process.lines.join("\n")).not.toContain("-secret");
  await process.end();
});

test("applies a changed log verbosity, and reports that a changed port needs a restart", async () => {
  const world = new ServiceWorld();
  const process = startWithFile(world);
  await world.pass(10);
  expect(process.linesWith("API server: ")).toEqual([]);
  process.disk.put(configPath, body("8", "v: 4", "secure-port: 0"));
  await world.pass(10);
  expect(process.linesWith("API server: ").length).toBeGreaterThan(0);
  expect(process.linesWith("Changes to --secure-port take effect after a restart")).toHaveLength(1);
  await process.end();
});

test("without configuration files, watches nothing and ignores a requested reload", async () => {
  const world = new ServiceWorld();
  const process = startIn(world, {});
  await world.clock.advance(minutes(10));
  process.hangUp();
  await world.pass(1);
  expect(process.linesWith("Reloaded the configuration, without changes")).toHaveLength(1);
  await process.end();
});

test("keeps the previous value of a setting that needs a restart, and logs and shows the change once [F69]", async () => {
  const world = new ServiceWorld();
  const process = startWithFile(world);
  world.create("web");
  await world.until(() => world.addressesOf("web").length === 1, "an address");
  const before = world.cloud.balancers.list();
  process.forget();
  await process.write("concurrent-service-syncs: 8", "cluster-name: prd");
  for (let time = 0; time < 3; time += 1) {
    process.hangUp();
    await world.pass(30);
  }
  expect(process.linesWith('--cluster-name: "kubernetes" -> "prd" (needs a restart)')).toHaveLength(1);
  expect(process.linesWith("Changes to --cluster-name take effect after a restart")).toHaveLength(1);
  expect(
    process.linesWith("without changes; changes to --cluster-name take effect after a restart"),
  ).toHaveLength(3);
  expect(JSON.parse(await process.page("/debug/state")).pendingRestart).toEqual([
    '--cluster-name: "kubernetes" -> "prd"',
  ]);
  expect(await process.metric("fairlead_configuration_restart_pending")).toBe(1);
  expect(await process.page("/flagz")).toContain("\ncluster-name=kubernetes\n");
  expect(process.cloud).toEqual([]);
  expect(world.cloud.balancers.list()).toEqual(before);
  // New objects are marked with the name with which the process started.
  world.create("shop");
  await world.until(() => world.addressesOf("shop").length === 1, "an address");
  expect(new Set(world.cloud.balancers.list().map(({ labels }) => labels["cluster"])).size).toBe(1);
  await process.write("concurrent-service-syncs: 8");
  expect(process.linesWith("The configuration no longer has changes that wait for a restart")).toHaveLength(
    1,
  );
  expect(await process.metric("fairlead_configuration_restart_pending")).toBe(0);
  await process.end();
});

test("requires a restart for settings that may determine object ownership, and applies live settings", async () => {
  const world = new ServiceWorld();
  const cloud = (...settings: readonly string[]) =>
    `${flagsFile("v: 0")}cloud:\n${settings.map((setting) => `  ${setting}\n`).join("")}`;
  const first = cloud("endpoint: http://cloud.example", "page-size: 50", "token: one");
  const process = startIn(world, { [configPath]: first }, `--config=${configPath}`);
  world.create("web");
  await world.until(() => world.addressesOf("web").length === 1, "an address");
  process.hangUp(configPath, cloud("endpoint: http://other.example", "page-size: 20", "token: two"));
  await world.pass(5);
  const changes = process.linesWith("onfiguration: ").map((line) => line.split("onfiguration: ")[1]);
  expect(changes).toEqual([
    'endpoint: "http://cloud.example" -> "http://other.example" (needs a restart)\n',
    "token: changed\n",
    "page-size: 50 -> 20\n",
  ]);
  process.forget();
  process.tokens.clear();
  world.create("shop");
  await world.until(() => world.addressesOf("shop").length === 1, "an address");
  expect([...process.tokens]).toEqual(["Bearer two"]);
  expect(JSON.parse(await process.page("/debug/state")).accounts[0].endpoints).toEqual([
    expect.objectContaining({ endpoint: "http://cloud.example" }),
  ]);
  await process.end();
});
