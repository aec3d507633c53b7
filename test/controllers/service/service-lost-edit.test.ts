import { expect, test } from "bun:test";
import { ServiceWorld } from "../../support/service-world.ts";

// An edit that reaches the API server after we read a Service and before our own write to it: it must not be taken for an
// echo of that write.

const portsOf = (w: ServiceWorld) => JSON.stringify(w.cloud.balancers.list());

test.each(["finalizer", "status"])(
  "an edit of ports just before our write of the %s reaches the balancer",
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

/** Its finalizer is stripped, which we put right, and in the same instant it is edited. */
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

test("a Service that is retyped just after its finalizer was stripped loses its balancer at once", async () => {
  const w = await strippedAndEdited({ type: "ClusterIP" });
  expect([w.owners(), w.get("web").metadata.finalizers ?? []]).toEqual([[], []]);
});

test("ports that are changed just after the finalizer was stripped reach the balancer at once", async () => {
  const w = await strippedAndEdited({ ports: [{ port: 8080, protocol: "TCP" }] });
  expect(portsOf(w)).toContain("8080");
});
