// Load balancers in ERROR: one that Fairlead created and that never served is created again. Every
// other load balancer stays, and so does everything that another Service uses.

import { describe, expect, test } from "bun:test";
import { draft, OpenStackWorld, prefix, served, tcpPort } from "./openstack-world.ts";

const internal = { "service.beta.kubernetes.io/openstack-internal-load-balancer": "true" };
const creating = "fairlead.dev/fact-creating";
const webTag = "kube_service_prod_default_web";

/** Restarts the manager with the load balancer in ERROR, and with these annotations on the Service. */
async function restartInError(
  h: OpenStackWorld,
  annotations: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  await h.world.stop();
  for (const { name } of h.balancers())
    h.cloud.balancing.balancers.change(name, { provisioning_status: "ERROR" });
  h.world.annotate("web", annotations);
  h.forget();
  await h.start();
  await h.settle(600);
}

describe("a load balancer in ERROR", () => {
  test.each([
    ["without a floating IP", internal],
    ["with a floating IP", {}],
  ])(
    "keeps a load balancer in ERROR that serves %s although no annotation has its address",
    async (_, annotations) => {
      const h = await served(annotations);
      const before = [h.balancers().map(({ id }) => id), h.world.addressesOf("web")] as const;
      await restartInError(h, { [`${prefix}load-balancer-address`]: undefined });
      expect(h.changes).toEqual([]);
      expect([h.balancers().map(({ id }) => id), h.world.addressesOf("web")]).toEqual([...before]);
      expect(h.events()).toContain("It is not changed, and may still forward.");
    },
  );

  test("keeps a load balancer in ERROR that is still being created if it has a floating IP", async () => {
    const h = await served();
    const [balancer] = h.balancers();
    await restartInError(h, {
      [`${prefix}load-balancer-address`]: undefined,
      [creating]: balancer?.id ?? "",
    });
    expect(h.changes).toEqual([]);
    expect(h.floatingIPs().map(({ port_id }) => port_id)).toEqual([balancer?.vip_port_id ?? ""]);
  });

  test("keeps a user's load balancer in ERROR, even if an annotation states that Fairlead is creating it", async () => {
    const h = await served(internal);
    const [balancer] = h.balancers();
    h.cloud.balancing.balancers.change(webTag, { name: "made-by-hand" });
    await restartInError(h, {
      [`${prefix}load-balancer-address`]: undefined,
      [creating]: balancer?.id ?? "",
    });
    expect(h.changes).toEqual([]);
    expect(h.balancers().map(({ id }) => id)).toEqual([balancer?.id ?? ""]);
  });

  test("keeps a load balancer in ERROR that is still being created if another Service shares it", async () => {
    const h = await served(internal);
    const [balancer] = h.balancers();
    h.cloud.balancing.balancers.change(webTag, { tags: [webTag, "kube_service_stage_default_web-2"] });
    await restartInError(h, {
      [`${prefix}load-balancer-address`]: undefined,
      [creating]: balancer?.id ?? "",
    });
    expect(h.changes).toEqual([]);
    expect(h.balancers().map(({ id }) => id)).toEqual([balancer?.id ?? ""]);
  });

  test("keeps a load balancer in ERROR when one of the Services that share it is deleted", async () => {
    const h = await served(internal);
    const [balancer] = h.balancers();
    h.cloud.balancing.balancers.change(webTag, { tags: [webTag, "kube_service_prod_default_shop"] });
    await restartInError(h, {});
    h.world.delete("web");
    await h.settle(600);
    expect([h.changes, h.balancers().map(({ id }) => id)]).toEqual([[], [String(balancer?.id)]]);
  });

  test("recreates a load balancer in ERROR from an unfinished creation of another leader", async () => {
    const h = new OpenStackWorld();
    h.cloud.balancing.failures = 1;
    await h.start();
    h.world.create("web", draft(internal, [tcpPort(80)]));
    const isBegun = () => h.world.get("web").metadata.annotations?.[creating] !== undefined;
    await h.world.until(isBegun, "the creation");
    const id = h.balancers()[0]?.id;
    await h.world.stop();
    await h.start();
    await h.settle(600);
    expect(h.balancers().map(({ provisioning_status: status }) => status)).toEqual(["ACTIVE"]);
    expect(h.balancers()[0]?.id).not.toBe(id as string);
    expect(h.world.get("web").metadata.annotations).not.toHaveProperty(creating);
  });
});

describe("objects that other clients use", () => {
  test("keeps a shared load balancer when the Service that created it is deleted", async () => {
    const h = await served(internal);
    const [balancer] = h.balancers();
    h.cloud.balancing.balancers.change(webTag, { tags: [webTag, "kube_service_stage_default_shop"] });
    await h.settle(3600);
    h.world.delete("web");
    await h.settle(600);
    expect(h.balancers().map(({ id, tags }) => [id, tags])).toEqual([
      [String(balancer?.id), ["kube_service_stage_default_shop"]],
    ]);
  });

  test("keeps a floating IP of spec.loadBalancerIP that another port uses", async () => {
    const h = new OpenStackWorld();
    const { project } = h.cloud;
    const taken = {
      name: "taken",
      floating_ip_address: "198.18.9.9",
      description: "by hand",
      status: "ACTIVE",
      port_id: "another-port",
      fixed_ip_address: "10.1.0.9",
    };
    const floating_network_id = project.networks.existing("public").id;
    project.floatingIPs.put({ id: project.ids.uuid(), floating_network_id, ...taken });
    await h.start();
    h.world.create("web", { spec: { ports: [tcpPort(80)], loadBalancerIP: "198.18.9.9" } });
    await h.settle(600);
    expect(h.floatingIPs().map(({ port_id }) => port_id)).toEqual(["another-port"]);
    expect(h.events()).toContain("is in use by the port another-port");
  });
});
