import { expect, test } from "bun:test";
import { fake } from "../../../providers/fake/index.ts";
import { configPath, flagsFile, ReloadingProcess } from "../../support/reloading-process.ts";
import { ServiceWorld } from "../../support/service-world.ts";

// A reload during pending work: the old and the new work never overlap, and nothing is lost whatever happens in the meantime.

const settings = (targets: string, ...more: readonly string[]): string =>
  flagsFile(`load-balancer-targets: ${targets}`, ...more);

/** A process that manages one settled Service. */
const start = async (more: Partial<ConstructorParameters<typeof ReloadingProcess>[0]> = {}) => {
  const world = new ServiceWorld();
  const process = new ReloadingProcess({
    world,
    contents: { [configPath]: settings("all") },
    args: ["--controllers=service", `--config=${configPath}`],
    ...more,
  });
  await process.untilLeading();
  world.create("web");
  await world.until(() => world.addressesOf("web").length === 1, "an address");
  await world.pass(10);
  process.forget();
  return { world, process };
};

const slow = (seconds: number) =>
  ({ kind: "slow", operation: "POST /balancers", milliseconds: seconds * 1000 }) as const;

const creations = ({ cloud }: ReloadingProcess): number =>
  cloud.filter((what) => what === "POST /v1/balancers").length;

const untilAddressed = (world: ServiceWorld, within?: number): Promise<void> =>
  world.until(
    () => ["shop", "blog"].every((name) => world.addressesOf(name).length === 1),
    "the addresses",
    within,
  );

const reloadWhileCreating = async (takes: number) => {
  const { world, process } = await start();
  world.cloud.faults.add(slow(takes));
  world.create("shop");
  await world.until(() => creations(process) === 1, "the first request");
  process.hangUp(configPath, settings("local-endpoints"));
  await world.pass(1);
  world.create("blog");
  return { world, process };
};

test("the next work starts only after the work from before the reload has ended", async () => {
  const { world, process } = await reloadWhileCreating(8);
  await world.pass(6);
  // The first request is still in progress, and no other request has been sent.
  expect(creations(process)).toBe(1);
  await world.until(() => world.owners().length === 3, "both load balancers", 20);
  expect(process.linesWith("Reload drain timed out")).toEqual([]);
  await untilAddressed(world);
  expect(world.owners()).toEqual(world.wanted());
  await process.end();
});

test("work that outlives the drain timeout is cancelled and restarted, and creates nothing twice", async () => {
  const { world, process } = await reloadWhileCreating(25);
  await world.pass(8);
  expect(creations(process)).toBe(1);
  await world.until(() => creations(process) === 2, "the next work", 3);
  expect(process.linesWith("Reload drain timed out after 10s; cancelled in-flight work")).toHaveLength(1);
  await untilAddressed(world, 400);
  expect(world.owners()).toEqual(world.wanted());
  await process.end();
});

test("a stop during the drain of a reload finishes the work, and then releases the Lease", async () => {
  const { world, process } = await reloadWhileCreating(8);
  process.terminate();
  await world.pass(5);
  expect([process.code, process.lease()["holderIdentity"]]).not.toContain("");
  await world.until(() => process.code !== undefined, "the end", 10);
  expect([process.code, process.lease()["holderIdentity"]]).toEqual([0, ""]);
  expect(world.owners()).toHaveLength(2);
  expect(creations(process)).toBe(1);
});

test("a stop during the drain of a reload cancels the work after the drain timeout", async () => {
  const { world, process } = await reloadWhileCreating(60);
  process.terminate();
  await world.until(() => process.code !== undefined, "the end", 12);
  expect(process.code).toBe(0);
  expect(creations(process)).toBe(1);
  expect(world.clock.pending).toBeLessThan(5);
});

test("a Lease that is lost during the drain of a reload cancels the work, and the next session uses the new settings", async () => {
  const { world, process } = await reloadWhileCreating(60);
  world.holdLease("other");
  await world.until(() => process.linesWith("Lost leadership").length === 1, "the loss", 10);
  await world.pass(1);
  expect(process.linesWith("Reload drain timed out")).toEqual([]);
  expect(await process.page("/flagz")).toContain("\nload-balancer-targets=local-endpoints\n");
  expect(creations(process)).toBe(1);
  world.holdLease("");
  await world.until(() => process.linesWith("Acquired leadership").length === 2, "the next session", 60);
  await untilAddressed(world, 400);
  expect(world.owners()).toEqual(world.wanted());
  await process.end();
});

test("a second change during the drain applies after the first", async () => {
  const { world, process } = await reloadWhileCreating(8);
  process.hangUp(configPath, settings("endpoints"));
  await world.pass(30);
  const changes = process
    .linesWith("Applied the changed configuration: ")
    .map((line) => line.split("targets: ")[1]);
  expect(changes).toEqual(['"all" -> "local-endpoints"\n', '"local-endpoints" -> "endpoints"\n']);
  expect(await process.page("/flagz")).toContain("\nload-balancer-targets=endpoints\n");
  await process.end();
});

test("rejects an invalid file during the drain, and applies the first change", async () => {
  const { world, process } = await reloadWhileCreating(8);
  process.hangUp(configPath, settings("everything"));
  await world.pass(30);
  expect(process.linesWith("keeping the previous one")).toHaveLength(1);
  expect(await process.page("/flagz")).toContain("\nload-balancer-targets=local-endpoints\n");
  await process.end();
});

test("rejects settings with which the provider cannot connect, and does not drain running work", async () => {
  const provider = {
    ...fake,
    connect: (...[values, context]: Parameters<typeof fake.connect>) => {
      if (values["page-size"] === 13) throw new Error("page-size 13 brings bad luck");
      return fake.connect(values, context);
    },
  };
  const { world, process } = await start({ provider });
  world.cloud.faults.add(slow(8));
  world.create("shop");
  await world.until(() => creations(process) === 1, "the first request");
  process.hangUp(configPath, `${settings("local-endpoints")}cloud:\n  page-size: 13\n`);
  world.create("blog");
  await world.until(() => creations(process) === 2, "a request for the other Service", 3);
  expect(process.linesWith("page-size 13 brings bad luck")).toHaveLength(1);
  expect(process.linesWith("keeping the previous one")).toHaveLength(1);
  expect(await process.page("/flagz")).toContain("\nload-balancer-targets=all\n");
  await process.end();
});

test.each([
  ["a setting of the cloud", `${settings("all")}cloud:\n  token: other\n`],
  ["a flag", settings("local-endpoints")],
])(
  "work that ignores its cancellation changes nothing in the cloud after a reload of %s",
  async (_, changed) => {
    const held = Promise.withResolvers<void>();
    let isHeld = false;
    const provider = {
      ...fake,
      connect: (...[values, context]: Parameters<typeof fake.connect>) => {
        const { loadBalancers, ...cloud } = fake.connect(values, context);
        if (loadBalancers === undefined) return cloud;
        const apply: typeof loadBalancers.apply = (step, call) => {
          if (!isHeld) return loadBalancers.apply(step, call);
          isHeld = false;
          const own = { ...call, signal: new AbortController().signal };
          void held.promise.then(() => loadBalancers.apply(step, own)).catch(() => undefined);
          return new Promise((_, reject) =>
            call.signal.addEventListener("abort", () => reject(call.signal.reason), { once: true }),
          );
        };
        return { ...cloud, loadBalancers: { ...loadBalancers, apply } };
      },
    };
    const { world, process } = await start({ provider });
    isHeld = true;
    world.create("shop");
    await world.until(() => !isHeld, "the first step");
    process.hangUp(configPath, changed);
    await world.until(() => world.addressesOf("shop").length === 1, "an address", 400);
    expect([creations(process), world.owners().length]).toEqual([1, 2]);
    held.resolve();
    await world.pass(60);
    expect([creations(process), world.owners().length]).toEqual([1, 2]);
    expect(await process.page("/metrics")).toMatch(/operation="POST \/balancers",result="fenced"\} 1/);
    await process.end();
  },
);
