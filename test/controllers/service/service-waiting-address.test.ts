import { expect, test } from "bun:test";
import { scriptedWorld } from "../../support/scripted-world.ts";

// A load balancer that gets its address later: the Service gets it soon afterwards, from a listing that all waiting Services
// share.

function worldWithLateAddress(availableAt: () => number) {
  const requests = { listings: 0 };
  const { w, script } = scriptedWorld(undefined, (balancers) => ({
    list: async function* (call) {
      requests.listings += 1;
      const isAvailable = w.clock.monotonic() >= availableAt();
      for await (const page of balancers.list(call)) {
        yield page.map((one) => ({
          ...one,
          state: isAvailable ? ("ready" as const) : ("changing" as const),
        }));
      }
    },
    publish: (desired, observed) =>
      observed?.state === "ready"
        ? balancers.publish(desired, observed)
        : { kind: "wait", waitingFor: "the address" },
  }));
  return { w, script, requests };
}

const hasAddress = (w: ReturnType<typeof worldWithLateAddress>["w"], name: string): boolean =>
  (w.get(name).status.loadBalancer?.ingress ?? []).length > 0;

test("publishes an address that appears after 10 s within the poll interval", async () => {
  let availableAt = Number.POSITIVE_INFINITY;
  const { w, script } = worldWithLateAddress(() => availableAt);
  await w.start();
  w.create("web");
  await w.until(() => script.things.size > 0, "a load balancer");
  availableAt = w.clock.monotonic() + 10_000;
  await w.pass(10);
  expect(hasAddress(w, "web")).toBe(false);
  await w.until(() => hasAddress(w, "web"), "the address", 5);
  expect(w.events("web").filter((text) => text.includes("WaitingForCloud"))).toHaveLength(1);
});

test("20 Services that wait for their addresses share the listings", async () => {
  const { w, requests } = worldWithLateAddress(() => Number.POSITIVE_INFINITY);
  await w.start();
  for (let index = 0; index < 20; index += 1) {
    w.create(`web-${index}`);
    await w.pass(0.2);
  }
  await w.pass(30);
  requests.listings = 0;
  await w.pass(60);
  expect(requests.listings).toBeGreaterThan(2);
  expect(requests.listings).toBeLessThan(40);
});
