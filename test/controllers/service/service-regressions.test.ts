import { expect, test } from "bun:test";
import { fake } from "../../../providers/fake/index.ts";
import { ServiceWorld } from "../../support/service-world.ts";

// Regressions that once deleted a working load balancer, left one behind, or stopped the manager, such as
// exceptions in provider code.

const prefix = "balancer.fake.example/";
const lbFields = fake.annotations?.fields ?? {};

// biome-ignore lint/suspicious/noExplicitAny: a test bends a provider to any shape.
type Bent = any;

const bend = (change: (balancers: Bent) => Bent, fields: Bent = lbFields): unknown => ({
  ...fake,
  annotations: { prefix, fields },
  connect: (config: Bent, context: Bent) => {
    const cloud = (fake as Bent).connect(config, context);
    return { ...cloud, loadBalancers: change(cloud.loadBalancers) };
  },
});

const other = "least-connections";

/** Plans that throw for the Service with this name, while `isBad` returns true. */
const throwing = (isBad: () => boolean, name: string) =>
  bend((all) => ({
    ...all,
    plan: (desired: Bent, ...given: Bent[]) => {
      if (isBad() && desired?.owner.name === name) throw new TypeError("boom");
      return all.plan(desired, ...given);
    },
  }));

test("a Service for which the provider throws gets an event and a retry, and other Services continue", async () => {
  let isBad = true;
  const w = new ServiceWorld({ provider: throwing(() => isBad, "bad") });
  w.create("bad");
  await w.start();
  w.create("web");
  await w.pass(30);
  w.editSpec("bad", { ports: [{ port: 81, protocol: "TCP" }] });
  await w.pass(5);
  expect(w.unexpectedErrors).toEqual([]);
  expect(w.addressesOf("web")).toHaveLength(1);
  expect(w.events("bad").join()).toContain("boom");
  isBad = false;
  await w.pass(600);
  expect(w.addressesOf("bad")).toHaveLength(1);
});

test("a leftover load balancer for which the provider throws does not stop the listings", async () => {
  let isBad = false;
  const w = new ServiceWorld({ provider: throwing(() => isBad, "web") });
  await w.start();
  w.create("web");
  await w.pass(30);
  await w.stop();
  w.edit("web", ({ metadata, spec, ...rest }) => ({
    ...rest,
    metadata: { ...metadata, finalizers: [] },
    spec: { ...spec, type: "ClusterIP" },
  }));
  isBad = true;
  await w.start();
  await w.pass(60);
  isBad = false;
  await w.pass(7200);
  expect(w.unexpectedErrors).toEqual([]);
  expect(w.owners()).toEqual([]);
});

test("an invalid annotation that cannot be read from the cloud does not stop target updates", async () => {
  const w = new ServiceWorld({ provider: bend(({ settingsOf: _, ...all }) => all) });
  await w.start();
  w.create("web", { annotations: { [`${prefix}algorithm`]: other } });
  await w.pass(30);
  w.annotate("web", { [`${prefix}algorithm`]: "rund" });
  await w.pass(5);
  w.addNode("late");
  await w.pass(30);
  const [balancer] = w.cloud.balancers.list();
  expect(balancer).toMatchObject({ algorithm: other });
  expect(balancer?.targets).toHaveLength(4);
  expect(w.server.store.list("events", "default").filter(({ reason }: Bent) => !reason)).toEqual([]);
  // A process that never saw the valid value changes nothing, but publishes the status and allows the deletion.
  w.crash();
  await w.start();
  w.addNode("later");
  w.edit("web", (service) => ({ ...service, status: { loadBalancer: {} } }), "status");
  await w.pass(60);
  expect(w.cloud.balancers.list()).toEqual(balancer === undefined ? [] : [balancer]);
  expect(w.addressesOf("web")).toHaveLength(1);
  w.delete("web");
  await w.pass(60);
  expect(w.owners()).toEqual([]);
  expect(w.find("web")).toBeUndefined();
});

test("a listing that takes longer than its maximum age still answers the requests that waited for it", async () => {
  const slow = bend((all) => ({
    ...all,
    list: async function* (call: Bent) {
      await new Promise<void>((resolve) => void w.clock.after(360_000 as never, resolve));
      yield* all.list(call);
    },
  }));
  const w: ServiceWorld = new ServiceWorld({ provider: slow });
  await w.start();
  w.create("web");
  await w.pass(4 * 3600);
  expect(w.owners()).toEqual(w.wanted());
  expect(w.addressesOf("web")).toHaveLength(1);
});
