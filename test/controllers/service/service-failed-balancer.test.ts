import { expect, test } from "bun:test";
import { ServiceWorld } from "../../support/service-world.ts";

// A load balancer that failed in the cloud cannot be repaired, so it is recreated.

test("a load balancer that failed in the cloud is recreated with the same address [F53]", async () => {
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
