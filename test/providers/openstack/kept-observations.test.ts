// Changes by users that a kept observation or a listing of minutes ago does not show.

import { describe, expect, test } from "bun:test";
import { addPort, ensureSubnet } from "../../../providers/openstack/simulator/index.ts";
import { draft, type OpenStackWorld, served, tcpPort } from "./openstack-world.ts";

const internal = "service.beta.kubernetes.io/openstack-internal-load-balancer";

/** Moves the floating IP of the load balancer to another port, as a user does. */
function moveFloatingIP(h: OpenStackWorld): string {
  const { project } = h.cloud;
  const port = addPort(project, ensureSubnet(project, "nodes", "10.1.0.0/16"), { device_owner: "compute" });
  project.floatingIPs.change(h.floatingIPs()[0]?.id ?? "", { port_id: port.id });
  return port.id;
}

/** A second Service causes a listing, after which the first is at rest. */
async function listedAgain(h: OpenStackWorld): Promise<void> {
  h.world.create("other", draft({ [internal]: "true" }, [tcpPort(81)]));
  await h.settle(20);
}

describe("a floating IP that a user moved to another port after the last listing", () => {
  test.each([0, 10, 60, 120, 240])("stays when the Service is deleted %d s later", async (seconds) => {
    const h = await served();
    await listedAgain(h);
    const port = moveFloatingIP(h);
    await h.settle(seconds);
    h.world.delete("web");
    await h.settle(600);
    expect(h.balancers().map(({ name }) => name)).toEqual(["kube_service_prod_default_other"]);
    expect(h.floatingIPs().map(({ port_id }) => port_id)).toEqual([port]);
  });

  test.each([0, 10, 60, 240])("stays when the Service becomes internal %d s later", async (seconds) => {
    const h = await served();
    await listedAgain(h);
    const port = moveFloatingIP(h);
    await h.settle(seconds);
    h.world.annotate("web", { [internal]: "true" });
    await h.settle(600);
    expect(h.floatingIPs().map(({ port_id }) => port_id)).toEqual([port]);
  });
});

describe("an edit of the Service after a user removed something", () => {
  const removals: readonly (readonly [string, (h: OpenStackWorld) => void])[] = [
    ["floating IP", (h) => h.cloud.project.floatingIPs.remove(h.floatingIPs()[0]?.id ?? "")],
    ["listener", (h) => h.cloud.balancing.listeners.remove(h.cloud.balancing.listeners.list()[0]?.id ?? "")],
    ["pool", (h) => h.cloud.balancing.removePool(h.cloud.balancing.pools.list()[0]?.id ?? "")],
    [
      "health monitor",
      (h) => h.cloud.balancing.monitors.remove(h.cloud.balancing.monitors.list()[0]?.id ?? ""),
    ],
  ];
  const count = ({ cloud: { balancing, project } }: OpenStackWorld) =>
    [balancing.listeners, balancing.pools, balancing.monitors, project.floatingIPs].map(
      (all) => all.list().length,
    );

  test.each(removals)("restores the %s within minutes", async (_, remove) => {
    const h = await served({ "enable-health-monitor": "true" });
    await listedAgain(h);
    const before = count(h);
    remove(h);
    expect(count(h)).not.toEqual(before);
    await h.settle(60);
    h.world.annotate("web", draft({ "keep-floatingip": "true" }).annotations);
    await h.settle(240);
    expect(count(h)).toEqual(before);
  });
});

test("no second floating IP is requested if a user adds one while the members change", async () => {
  const h = await served();
  const { pools } = h.cloud.balancing;
  const [floating] = h.floatingIPs();
  h.cloud.project.floatingIPs.remove(floating?.id ?? "");
  pools.change(pools.list()[0]?.id ?? "", { members: [] });
  h.world.create("other", draft({ [internal]: "true" }, [tcpPort(81)]));
  await h.world.until(() => (pools.list()[0]?.members.length ?? 0) > 0, "the members");
  if (floating === undefined) throw new Error("Expected a floating IP.");
  h.cloud.project.floatingIPs.put({ ...floating, description: "by hand" });
  await h.settle(600);
  expect(h.floatingIPs().map(({ description }) => description)).toEqual(["by hand"]);
  expect(h.changes.filter((one) => one.includes("floatingips"))).toEqual([]);
});

test.each([0, 10, 100, 240])(
  "a load balancer keeps its floating IP for a listener that was added %d s before the deletion of the Service",
  async (seconds) => {
    const h = await served();
    await listedAgain(h);
    const { listeners } = h.cloud.balancing;
    const [own] = listeners.list();
    if (own === undefined) throw new Error("Expected a listener.");
    const id = h.cloud.project.ids.uuid();
    listeners.put({
      ...own,
      id,
      name: "by hand",
      tags: [],
      protocol_port: 9000,
      default_pool_id: null,
    } as never);
    await h.settle(seconds);
    h.world.delete("web");
    await h.settle(600);
    expect(h.floatingIPs()).toHaveLength(1);
    expect(listeners.list().map(({ name }) => name)).toContain("by hand");
  },
);
