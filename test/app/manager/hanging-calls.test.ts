import { expect, test } from "bun:test";
import { HangingProvider } from "../../support/hanging-provider.ts";
import { configPath, flagsFile, ReloadingProcess } from "../../support/reloading-process.ts";
import { ServiceWorld } from "../../support/service-world.ts";

// Provider calls that ignore their cancellation and never settle delay the end of leadership, a reload and a shutdown by two
// seconds, and a late result changes nothing.

const settings = (targets: string): string => flagsFile(`load-balancer-targets: ${targets}`);

const start = async (...args: readonly string[]) => {
  const world = new ServiceWorld();
  const provider = new HangingProvider();
  const process = new ReloadingProcess({
    world,
    provider: provider.definition,
    contents: { [configPath]: settings("all") },
    args: ["--cluster-cidr=10.244.0.0/16", `--config=${configPath}`, ...args],
  });
  await process.untilLeading();
  await world.pass(10);
  process.forget();
  return { world, provider, process };
};

const creations = ({ cloud }: ReloadingProcess): number =>
  cloud.filter((what) => what === "POST /v1/balancers").length;

/** The process is creating a load balancer, and the call hangs. */
const startCreating = async () => {
  const started = await start("--controllers=service");
  const { world, provider, process } = started;
  provider.hangNext.add("apply");
  world.create("shop");
  await world.until(() => provider.hanging.length === 1, "the call");
  const [call] = provider.hanging;
  if (call === undefined) throw new Error("No call hangs.");
  /** Continues the call, and returns the subsequent writes to the cloud and to the API server. */
  const continueLate = async () => {
    process.forget();
    const result = await Promise.all([call.proceed(), world.pass(120)]);
    const writes = [...process.cloud, ...process.kube].filter(
      (what) => !what.startsWith("GET ") && !what.includes("/leases"),
    );
    return { result: String(result[0]), writes };
  };
  return { ...started, call, continueLate };
};

const abandoned = (process: ReloadingProcess) => process.linesWith("ignores the cancellation");

test("a stop ends the process and releases the Lease although a call never settles", async () => {
  const { world, process, continueLate } = await startCreating();
  process.terminate();
  await world.until(() => process.code !== undefined, "the end", 14);
  expect([process.code, process.lease()["holderIdentity"]]).toEqual([0, ""]);
  const [line = "", ...others] = abandoned(process);
  expect(others).toEqual([]);
  expect(line).toContain("loadBalancers.apply");
  expect(line).toContain("default/shop");
  expect((await continueLate()).writes).toEqual([]);
  expect(world.owners()).toEqual([]);
});

test("a replica that lost its Lease can lead again although a call never settled, and ignores the call's late result", async () => {
  const { world, process, continueLate } = await startCreating();
  world.holdLease("other");
  await world.until(() => process.linesWith("Lost leadership").length === 1, "the loss", 10);
  await world.pass(3);
  expect(abandoned(process)).toHaveLength(1);
  world.holdLease("");
  await world.until(() => process.linesWith("Acquired leadership").length === 2, "the next session", 60);
  await world.until(() => world.addressesOf("shop").length === 1, "the address", 400);
  expect([creations(process), world.owners()]).toEqual([1, world.wanted()]);
  await world.pass(60);
  const { result, writes } = await continueLate();
  expect(result).toContain("was not sent");
  expect([writes, world.owners()]).toEqual([[], world.wanted()]);
  await process.end();
});

test("the late result of a call from an earlier session is not written to the API server", async () => {
  const { world, process, call } = await startCreating();
  world.holdLease("other");
  await world.pass(10);
  world.holdLease("");
  await world.until(() => world.addressesOf("shop").length === 1, "the address", 400);
  await world.pass(60);
  process.forget();
  const before = world.get("shop");
  call.answer({
    done: true,
    remember: { id: "late" },
    refused: [{ node: "node-0", text: "late" }],
  });
  await world.pass(120);
  expect(world.get("shop")).toEqual(before);
  expect(process.cloud.filter((what) => !what.startsWith("GET "))).toEqual([]);
  await process.end();
});

test.each([
  ["a setting of the cloud", `${settings("all")}cloud:\n  token: other\n`],
  ["a flag", settings("local-endpoints")],
])(
  "a reload of %s abandons a call that never settles, and restarts its work on a new connection",
  async (_setting, changed) => {
    const { world, process, provider, continueLate } = await startCreating();
    process.hangUp(configPath, changed);
    // The key is not processed again while the call may still be running.
    await world.pass(11);
    expect([creations(process), provider.connections]).toEqual([0, 2]);
    await world.until(() => world.addressesOf("shop").length === 1, "the address", 60);
    expect(abandoned(process)).toHaveLength(1);
    expect(process.linesWith("Reload drain timed out after 10s")).toHaveLength(1);
    expect([creations(process), world.owners()]).toEqual([1, world.wanted()]);
    await world.pass(60);
    const { result, writes } = await continueLate();
    expect(result).toContain("was not sent");
    expect([writes, world.owners()]).toEqual([[], world.wanted()]);
    await process.end();
  },
);

test("abandons a call that never settles after a quarter of an hour, and continues its work", async () => {
  const { world, process, call } = await startCreating();
  await world.pass(15 * 60 + 3);
  expect(process.linesWith("has not ended loadBalancers.apply")).toHaveLength(1);
  await world.until(() => world.addressesOf("shop").length === 1, "the address", 400);
  expect([creations(process), world.owners()]).toEqual([1, world.wanted()]);
  process.forget();
  const [result] = await Promise.all([call.resume(), world.pass(60)]);
  expect(String(result)).toContain("did not end within 15m");
  expect([creations(process), world.owners()]).toEqual([0, world.wanted()]);
  await process.end();
});

test("each cloud session opens its own change stream, and no stream counts as a hanging call", async () => {
  const { world, process, provider } = await startCreating();
  process.hangUp(configPath, settings("endpoints"));
  await world.until(() => world.addressesOf("shop").length === 1, "the address", 75);
  await world.pass(120);
  expect(provider.connections).toBeGreaterThan(1);
  expect([provider.streams[0], provider.streams.at(-1)]).toEqual([1, provider.connections]);
  expect(process.linesWith("changes.follow")).toEqual([]);
  await process.end();
});

test("a reload abandons a route listing that never ends, and the next sync lists the routes again", async () => {
  const { world, process, provider } = await start("--controllers=node-route");
  provider.hangNext.add("routes");
  const ranges = { podCIDR: "10.244.1.0/24", podCIDRs: ["10.244.1.0/24"] };
  world.changeNode("node-0", (node) => ({ ...node, spec: { ...node.spec, ...ranges } }));
  await world.until(() => provider.hanging.length === 1, "the listing", 3600);
  process.forget();
  process.hangUp(configPath, `${settings("all")}cloud:\n  token: other\n`);
  await world.until(() => process.cloud.some((what) => what.startsWith("GET /v1/routes")), "a listing", 30);
  await process.end();
});

test("a reload abandons an instance listing that never ends, and lists instances on the new connection", async () => {
  const { world, process, provider } = await start("--controllers=cloud-node");
  provider.hangNext.add("instances");
  await world.until(() => provider.hanging.length === 1, "the listing", 3600);
  process.forget();
  process.hangUp(configPath, `${settings("all")}cloud:\n  token: other\n`);
  await world.until(() => process.cloud.some((what) => what.startsWith("GET /v1/machines")), "a listing", 75);
  await world.pass(3);
  expect(abandoned(process)).toEqual([expect.stringContaining("instances.list")]);
  await process.end();
});
