import { expect, test } from "bun:test";
import { problemsOf } from "../../support/service-problems.ts";
import { ServiceWorld } from "../../support/service-world.ts";

// A pause is visible on the Service: when it begins, while the Service is deleted, and when its value is unknown.

const paused = "fairlead.dev/paused";

async function worldWithService(): Promise<ServiceWorld> {
  const w = new ServiceWorld();
  await w.start();
  w.create("web");
  await w.pass(30);
  w.forget();
  return w;
}

const eventsWith = (w: ServiceWorld, reason: string) =>
  w.events("web").filter((event) => event.split(" ")[1] === reason);

test("a paused Service reports the pause once, and again when it is paused a second time", async () => {
  const w = await worldWithService();
  const count = () =>
    w.server.store
      .list("events", "default")
      .filter(({ reason }) => reason === "Paused")
      .reduce((sum, { count }) => sum + Number(count), 0);
  w.annotate("web", { [paused]: "true" });
  await w.pass(3600);
  expect(eventsWith(w, "Paused")).toEqual([
    "Normal Paused Paused by fairlead.dev/paused: neither the Service nor its load balancer is changed. Remove the annotation to continue.",
  ]);
  expect(count()).toBe(1);
  w.annotate("web", { [paused]: undefined });
  await w.pass(30);
  w.annotate("web", { [paused]: "true" });
  await w.pass(30);
  expect(count()).toBe(2);
  expect(w.written).toEqual([]);
});

test("a paused Service that is deleted reports that its finalizer stays, and how to continue", async () => {
  const w = await worldWithService();
  w.annotate("web", { [paused]: "true" });
  w.delete("web");
  await w.pass(600);
  expect([...w.changes, ...w.written]).toEqual([]);
  expect(eventsWith(w, "DeletionPaused")).toEqual([
    "Warning DeletionPaused default/web is being deleted, but fairlead.dev/paused pauses it: its load balancer and its finalizer stay. To continue: `kubectl -n default annotate service web fairlead.dev/paused-`",
  ]);
  expect(problemsOf(w.manager, "default/web").join()).toContain("DeletionPaused");
  w.annotate("web", { [paused]: undefined });
  await w.pass(60);
  expect([w.find("web"), w.cloud.balancers.list()]).toEqual([undefined, []]);
});

test.each(["", "yes"])(
  "a Service with fairlead.dev/paused %j pauses, and reports the value",
  async (value) => {
    const w = await worldWithService();
    w.annotate("web", { [paused]: value, "balancer.fake.example/algorithm": "least-connections" });
    await w.pass(600);
    expect([...w.changes, ...w.written]).toEqual([]);
    expect(eventsWith(w, "InvalidAnnotation").join()).toContain(
      `fairlead.dev/paused must be "true" or "false", got ${JSON.stringify(value)}.`,
    );
    w.annotate("web", { [paused]: "false" });
    await w.pass(60);
    expect(w.cloud.balancers.list()).toMatchObject([{ algorithm: "least-connections" }]);
  },
);
