import { expect, test } from "bun:test";
import { fake } from "../../../providers/fake/index.ts";
import { trueView } from "../../../providers/fake/simulator/view.ts";
import { ServiceWorld } from "../../support/service-world.ts";

// A load balancer that failed in the cloud cannot be repaired, so it is recreated.

test("recreates a load balancer that failed in the cloud with the same address [F53]", async () => {
  const world = new ServiceWorld();
  await world.start();
  world.create("web");
  await world.until(() => world.addressesOf("web").length > 0, "the address", 30);
  const [address] = world.addressesOf("web");
  const [before] = world.cloud.balancers.list();
  world.cloud.balancers.fail(before?.id ?? "");
  world.asked.length = 0;
  const isRepaired = () => world.cloud.balancers.list().every(({ status }) => status === "active");
  await world.until(
    () => world.cloud.balancers.list().length === 1 && isRepaired(),
    "another balancer",
    3600,
  );
  await world.pass(60);
  const [after] = world.cloud.balancers.list();
  expect(after?.id).not.toBe(before?.id as string);
  expect([after?.ip, world.addressesOf("web")]).toEqual([before?.ip as string, [address as string]]);
  expect(world.asked.filter((order) => !order.startsWith("GET"))).toEqual([
    `DELETE /balancers/${before?.id}`,
    "POST /balancers",
  ]);
});

test("a failed load balancer of a deleted Service is deleted without a replacement [F53]", async () => {
  const world = new ServiceWorld();
  await world.start();
  world.create("web");
  await world.until(() => world.addressesOf("web").length > 0, "the address", 30);
  for (const { id } of world.cloud.balancers.list()) world.cloud.balancers.fail(id);
  world.delete("web");
  await world.until(() => world.services().length === 0, "the Service to be gone", 60);
  expect(world.cloud.balancers.list()).toEqual([]);
});

// biome-ignore lint/suspicious/noExplicitAny: a test bends a provider to any shape.
type Bent = any;

/** As in clouds where a load balancer is gone long after its deletion: the next plan creates another one. */
const replacingInTwoPlans = {
  ...fake,
  connect: (config: Bent, context: Bent) => {
    const cloud = (fake as Bent).connect(config, context);
    const { loadBalancers: all } = cloud;
    const plan = (desired: Bent, observed: Bent, prefetched: Bent) => {
      const planned = all.plan(desired, observed, prefetched);
      if (observed?.state !== "failed" || desired?.ending !== undefined) return planned;
      return { ...planned, steps: [{ ...planned.steps[0], removes: true }] };
    };
    return { ...cloud, loadBalancers: { ...all, plan } };
  },
};

test("keeps a failed load balancer while other load balancers are held, because no replacement could be created", async () => {
  const world = new ServiceWorld({ provider: replacingInTwoPlans });
  world.cloud.balancers.hasUniqueNames = false;
  await world.start();
  const names = Array.from({ length: 10 }, (_, index) => `s${index}`);
  for (const name of names) world.create(name);
  await world.until(() => names.every((name) => world.addressesOf(name).length > 0), "the addresses", 60);
  const relist = async () => {
    world.manager.balancers?.request(Number.POSITIVE_INFINITY, "refresh");
    await world.pass(150);
  };
  world.cloud.view = { ...trueView, balancers: (existing) => existing.slice(3) };
  await relist();
  world.forget();
  const failed = world.cloud.balancers.list().find(({ ip }) => ip === world.addressesOf("s9")[0]);
  world.cloud.balancers.fail(failed?.id ?? "");
  await relist();
  expect(world.changes).toEqual([]);
  expect(world.events("s9").join()).toContain("cannot be repaired, and the cloud lacks too many others");
  world.cloud.view = trueView;
  await relist();
  expect([world.changes.length, world.cloud.balancers.list().length]).toEqual([2, 10]);
});
