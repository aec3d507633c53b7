import { expect, test } from "bun:test";
import { seconds } from "../../../src/core/brand.ts";
import { scriptedWorld } from "../../support/scripted-world.ts";
import { ServiceWorld } from "../../support/service-world.ts";

// An edit between the controller's read of a Service and its own write must not be mistaken for that write.

const portsOf = (w: ServiceWorld) => JSON.stringify(w.cloud.balancers.list());

test.each(["finalizer", "status"])(
  "an edit of ports just before the controller's write of the %s reaches the load balancer",
  async (what) => {
    const w = new ServiceWorld();
    await w.start();
    let writes = 0;
    w.onCrossing = (request, when) => {
      if (when !== "before" || !request.includes("/services/web")) return;
      writes += 1;
      if (writes === (what === "finalizer" ? 1 : 2))
        w.editSpec("web", { ports: [{ port: 8080, protocol: "TCP" }] });
    };
    w.create("web");
    await w.pass(120);
    expect(writes).toBeGreaterThan(1);
    expect(portsOf(w)).toContain("8080");
  },
);

/** The finalizer is removed, which the controller repairs, and the Service is edited at the same time. */
const strippedAndEdited = async (edit: Parameters<ServiceWorld["editSpec"]>[1]): Promise<ServiceWorld> => {
  const w = new ServiceWorld();
  await w.start();
  w.create("web");
  await w.pass(30);
  w.edit("web", ({ metadata, ...rest }) => ({ ...rest, metadata: { ...metadata, finalizers: [] } }));
  w.editSpec("web", edit);
  await w.pass(120);
  return w;
};

test("a Service retyped just after its finalizer was removed loses its load balancer", async () => {
  const w = await strippedAndEdited({ type: "ClusterIP" });
  expect([w.owners(), w.get("web").metadata.finalizers ?? []]).toEqual([[], []]);
});

test("ports changed just after the finalizer was removed reach the load balancer", async () => {
  const w = await strippedAndEdited({ ports: [{ port: 8080, protocol: "TCP" }] });
  expect(portsOf(w)).toContain("8080");
});

test.each([1, 2])(
  "a load balancer that a user needs again during lookup %d is not deleted",
  async (lookup) => {
    let lookups = Number.POSITIVE_INFINITY;
    const { w, script } = scriptedWorld(undefined, (balancers) => {
      const all = async () => (await Array.fromAsync(balancers.list({} as never))).flat();
      return {
        list: async function* () {
          yield (await all()).map((one) => ({ ...one, shallow: true as const }));
        },
        observe: async () => {
          lookups -= 1;
          if (lookups === 0) {
            w.editSpec("web", { type: "LoadBalancer" });
            await new Promise<void>((resolve) => w.clock.after(seconds(1), resolve));
          }
          return (await all())[0];
        },
      };
    });
    await w.start();
    w.create("web");
    await w.pass(60);
    lookups = lookup;
    w.editSpec("web", { type: "ClusterIP" });
    await w.pass(120);
    expect(lookups).toBeLessThanOrEqual(0);
    expect(script.applied.map((step) => step.split(" ")[0])).toEqual(["make"]);
    expect(w.get("web").metadata.finalizers ?? []).toHaveLength(1);
    await w.stop();
  },
);
