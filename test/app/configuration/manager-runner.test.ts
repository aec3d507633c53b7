import { expect, test } from "bun:test";
import { fake } from "../../../providers/fake/index.ts";
import { asTransport as cloudTransport } from "../../../providers/fake/simulator/transport.ts";
import { readConfiguration } from "../../../src/app/configuration/configuration.ts";
import { ManagerRunner, type ReloadResult } from "../../../src/app/configuration/manager-runner.ts";
import { ReloadRequests } from "../../../src/app/configuration/reload-requests.ts";
import type { AnyProvider } from "../../../src/app/connect-cloud.ts";
import { createManager, type Manager } from "../../../src/app/manager/manager.ts";
import { minutes, seconds } from "../../../src/core/brand.ts";
import { seededRandom } from "../../../src/platform/random.ts";
import type { Transport } from "../../../src/platform/transport.ts";
import { createLog } from "../../../src/telemetry/log.ts";
import { asTransport } from "../../../src/testing/apiserver/as-transport.ts";
import { MemoryFiles } from "../../../src/testing/virtual-time/memory-files.ts";
import { ServiceWorld } from "../../support/service-world.ts";

// A process whose configuration changes: whole managers over a test API server and a cloud, in virtual time.

const provider = fake as unknown as AnyProvider;
const config = "/etc/fairlead.yaml";
const own = "/etc/cloud.conf";
const head = "apiVersion: fairlead.dev/v1alpha1\nkind: FairleadConfiguration\n";
const body = (name: string, more = "") => `${head}flags:\n  concurrent-service-syncs: ${name}\n${more}`;

const startIn = async (
  world: ServiceWorld,
  contents: Readonly<Record<string, string>>,
  ...more: string[]
) => {
  const { clock } = world;
  const disk = new MemoryFiles(contents);
  const lines: string[] = [];
  const results: ReloadResult[] = [];
  const tokens = new Set<string>();
  const managers: Manager[] = [];
  const reloads = new ReloadRequests();
  const levels: number[] = [];
  const stop = new AbortController();
  const toCloud: Transport = (request, signal) => {
    tokens.add(new Headers(request.headers).get("authorization") ?? "");
    world.asked.push(`${request.method} ${new URL(request.url).pathname}`);
    return cloudTransport(world.cloud)(request, signal);
  };
  const platform = {
    clock,
    random: seededRandom(7),
    files: disk.files,
    transport: asTransport(world.server),
    cloudTransport: toCloud,
    environment: { HOSTNAME: "replica" },
  };
  const log = createLog({ format: "text", verbosity: 0, clock, write: (line) => lines.push(line) });
  const args = ["--master=http://test-api-server", "--controllers=service", ...more];
  const read = () =>
    readConfiguration({ provider, args, environment: platform.environment, files: disk.files });
  const runner = new ManagerRunner({
    first: await read(),
    readConfiguration: read,
    createManager: async ({ settings }, signal) => {
      const manager = await createManager(
        { provider, settings, platform, log, identity: "replica_1" },
        signal,
      );
      managers.push(manager);
      return manager;
    },
    ...{ provider, environment: platform.environment, files: disk.files, clock, log, reloads },
    onVerbosity: (level) => levels.push(level),
    onReload: (result) => results.push(result),
    signal: stop.signal,
  });
  const done = runner.run();
  const end = async () => {
    stop.abort(new Error("the test is over"));
    await clock.advance(seconds(15));
    await done;
  };
  const linesWith = (word: string) => lines.filter((line) => line.includes(word));
  return { disk, lines, linesWith, results, tokens, managers, reloads, levels, end };
};

test("ten broken and repaired configurations affect no Service and leave nothing behind [F69 N17]", async () => {
  const world = new ServiceWorld({ actionTime: 300 });
  const process = await startIn(world, { [config]: body("8") }, `--config=${config}`);
  const names: string[] = [];
  for (let reload = 0; reload < 10; reload += 1) {
    for (let each = 0; each < 20; each += 1) {
      const name = `web-${reload}-${each}`;
      world.create(name);
      names.push(name);
    }
    // While those Services are being reconciled.
    await world.pass(1);
    process.disk.put(config, body("8", "  no-such-flag: 1\n"));
    await world.pass(6);
    for (const name of names.splice(0, 7)) world.delete(name);
    process.disk.put(config, body(String(9 + reload)));
    await world.pass(6);
  }
  const settled = () =>
    world.owners().join() === world.wanted().join() &&
    world.services().every(({ metadata }) => world.addressesOf(metadata.name).length > 0);
  await world.until(settled, "one balancer for each Service and no other", 600);
  expect(world.services()).toHaveLength(130);
  expect(process.results).toEqual(Array.from({ length: 10 }, () => ["refused", "applied"] as const).flat());
  expect(process.managers).toHaveLength(11);
  expect(process.linesWith("unknown flag no-such-flag")).toHaveLength(10);
  expect(process.linesWith("Configuration: --concurrent-service-syncs")).toHaveLength(10);
  expect(process.linesWith("ended badly")).toEqual([]);
  // The next manager changes nothing, because everything has converged.
  world.forget();
  process.disk.put(config, body("30"));
  await world.pass(60);
  expect(process.managers).toHaveLength(12);
  expect(world.changes).toEqual([]);
  await process.end();
}, 30_000);

test("an invalid file keeps the old configuration and is reported once, and again on each requested reload, with file and line [F69]", async () => {
  const world = new ServiceWorld();
  const process = await startIn(world, { [config]: body("8") }, `--config=${config}`);
  await world.pass(10);
  process.disk.put(config, body("many"));
  await world.pass(60);
  const reported = () => process.linesWith(`${config}:4:29: concurrent-service-syncs must be a number`);
  expect(reported()).toHaveLength(1);
  // The process detects the same error again, without SIGHUP.
  process.disk.put(config, body("many"));
  await world.pass(60);
  expect(process.results).toEqual(["refused", "refused"]);
  expect(reported()).toHaveLength(1);
  for (const times of [2, 3]) {
    process.reloads.request();
    await world.pass(1);
    expect(process.results.at(-1)).toBe("refused");
    expect(reported()).toHaveLength(times);
    expect(process.linesWith("keeping the previous one")).toHaveLength(times);
  }
  expect(process.managers).toHaveLength(1);
  world.create("web");
  await world.until(() => world.addressesOf("web").length === 1, "an address");
  process.disk.put(config, body("8"));
  await world.pass(10);
  expect(process.results.at(-1)).toBe("unchanged");
  expect(process.linesWith("valid again")).toHaveLength(1);
  await process.end();
});

test("a new credential in the cloud's file is used without a restart and never shown [F70]", async () => {
  const world = new ServiceWorld();
  const args = [`--cloud-config=${own}`, "--node-status-update-frequency=10s"];
  const process = await startIn(world, { [own]: "token = first-secret" }, ...args);
  await world.pass(30);
  expect([...process.tokens]).toEqual(["Bearer first-secret"]);
  process.disk.put(own, "token = second-secret");
  await world.pass(30);
  process.tokens.clear();
  await world.pass(60);
  expect([...process.tokens]).toEqual(["Bearer second-secret"]);
  expect(process.linesWith("Configuration: token: changed")).toHaveLength(1);
  expect(process.lines.join("\n")).not.toContain("-secret");
  await process.end();
});

test("a changed log verbosity needs no new manager, and a changed port is reported to need a restart", async () => {
  const world = new ServiceWorld();
  const process = await startIn(world, { [config]: body("8") }, `--config=${config}`);
  await world.pass(10);
  process.disk.put(config, body("8", "  v: 4\n  secure-port: 0\n"));
  await world.pass(10);
  expect(process.results).toEqual(["applied"]);
  expect(process.levels).toEqual([4]);
  expect(process.managers).toHaveLength(1);
  expect(process.linesWith("Changes to --secure-port take effect after a restart")).toHaveLength(1);
  await process.end();
});

test("a manager that replaces another takes the Lease again under the same identity", async () => {
  const world = new ServiceWorld();
  const process = await startIn(world, { [config]: body("8") }, `--config=${config}`);
  const holder = () =>
    world.server.store.get("leases", "kube-system", "cloud-controller-manager")?.spec?.["holderIdentity"];
  await world.until(() => holder() === "replica_1", "the Lease");
  process.disk.put(config, body("9"));
  process.reloads.request();
  await world.until(() => process.results.length === 1, "the reload");
  await world.until(() => holder() === "replica_1", "the Lease once more", 10);
  world.create("web");
  await world.until(() => world.addressesOf("web").length === 1, "an address", 30);
  await process.end();
});

test("without any file, the process watches nothing and a requested reload changes nothing", async () => {
  const world = new ServiceWorld();
  const process = await startIn(world, {});
  await world.clock.advance(minutes(10));
  process.reloads.request();
  await world.pass(1);
  expect(process.results).toEqual(["unchanged"]);
  expect(process.linesWith("Reloaded the configuration, without changes")).toHaveLength(1);
  expect(process.managers).toHaveLength(1);
  await process.end();
});
