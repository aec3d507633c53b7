// Several Services on one load balancer: with a whole manager, and with the steps of two workers in a chosen order. Tags are read and
// written as a whole, and Octavia has no precondition for that.

import { describe, expect, test } from "bun:test";
import {
  CloudError,
  type DesiredLoadBalancer,
  type Facts,
  type Fields,
  type Plan,
  type Step,
  seconds,
} from "#ccm";
import { makeDesired } from "#ccm/testing";
import { markOf } from "../../../providers/openstack/names.ts";
import { harness } from "../../../providers/openstack/simulator/harness.ts";
import { addExternalNetwork, ensureSubnet } from "../../../providers/openstack/simulator/index.ts";
import { quick } from "../../../providers/openstack/simulator/openstack-cloud.ts";
import { labWith } from "./openstack-lab.ts";
import { draft, OpenStackWorld, putBalancer, served, tcpPort } from "./openstack-world.ts";

type Desired = DesiredLoadBalancer<Fields>;

const lbaas = "/load-balancer/v2.0/lbaas";
const lookup = `GET ${lbaas}/loadbalancers/{id}`;
const internal = "service.beta.kubernetes.io/openstack-internal-load-balancer";
const tagOf = (name: string) => markOf("conformance", { namespace: "default", name });
const ending = (desired: Desired): Desired => ({ ...desired, ending: "delete" });

type ServicePlan = Plan<Step>;

/** The Service `web` with a load balancer, which other Services may name by its id. */
class SharedBalancer {
  readonly #parts = labWith({ settings: { "max-shared-lb": "3" }, times: quick }, ({ project }) => {
    addExternalNetwork(project);
  });
  readonly cloud = this.#parts.cloud;
  readonly #lab = this.#parts.lab;
  readonly #subnet = ensureSubnet(this.cloud.project, "nodes", "10.1.0.0/16").id;
  readonly web = makeDesired(harness, { name: "web", annotations: { "subnet-id": this.#subnet } });

  static async create(): Promise<SharedBalancer> {
    const shared = new SharedBalancer();
    await shared.finish(shared.web);
    return shared;
  }

  sharer(name: string, port: number): Desired {
    const id = this.cloud.balancing.balancers.list()[0]?.id ?? "";
    return makeDesired(harness, { name, ports: [port], annotations: { "load-balancer-id": id } });
  }

  /** Observes and plans for one Service, as a worker does. */
  async plan(desired: Desired): Promise<ServicePlan> {
    const { loadBalancers, savedFacts } = this.#lab;
    const member = { ...desired, facts: savedFacts.get(desired.owner.uid) ?? {} };
    const listed = await this.#lab.list((call) => loadBalancers.list(call));
    const own = listed.find(({ keys = [] }) => keys.includes(tagOf(desired.owner.name)));
    const observed = await this.#lab.run(async (call) => loadBalancers.observe?.(member, own, call));
    const prefetched = await this.#lab.run(async (call) => loadBalancers.prefetch?.("", call));
    return loadBalancers.plan(member, observed, prefetched);
  }

  /** Plans, and applies until this step is next. */
  async planUntil(desired: Desired, title: string): Promise<ServicePlan> {
    const plan = await this.plan(desired);
    if (plan.steps[0]?.do === title) return plan;
    await this.apply(desired, plan);
    return this.planUntil(desired, title);
  }

  /** Applies steps until one takes the cloud a while, and waits for that. Returns whether the load balancer was not busy. */
  async apply({ owner: { uid } }: Desired, { steps }: ServicePlan): Promise<boolean> {
    for (const step of steps) {
      const outcome = await this.#lab
        .run((call) => this.#lab.loadBalancers.apply(step, call))
        .catch((error: unknown) => {
          if (CloudError.is(error) && error.kind === "busy") return undefined;
          throw error;
        });
      if (outcome === undefined) return false;
      const facts = { ...this.#lab.savedFacts.get(uid), ...outcome.remember };
      this.#lab.savedFacts.set(uid, facts as Facts);
      if (outcome.done) continue;
      await this.#lab.clock.advance(quick.balancer);
      return true;
    }
    return true;
  }

  /** Applies the only step of each plan at the same time, while the first read of the load balancer is answered late. */
  async applyTogether(plans: readonly ServicePlan[]): Promise<readonly boolean[]> {
    const isAnsweredLate = { kind: "slow", operation: lookup, milliseconds: 4 * quick.balancer } as const;
    this.cloud.faults.add(isAnsweredLate);
    const { loadBalancers } = this.#lab;
    const applied = await this.#lab.run((call) =>
      Promise.allSettled(plans.map(async ({ steps: [step] }) => step && loadBalancers.apply(step, call))),
    );
    await this.#lab.clock.advance(quick.balancer);
    return applied.map(({ status }) => status === "fulfilled");
  }

  /** Plans and applies until there is nothing to do. */
  async finish(desired: Desired): Promise<void> {
    const plan = await this.plan(desired);
    expect(plan.problems ?? []).toEqual([]);
    if (plan.steps.length === 0 && plan.wait === undefined) return;
    await this.apply(desired, plan);
    await this.#lab.clock.advance(seconds(1));
    await this.finish(desired);
  }

  /** The load balancers with their Services, ports, and whether they have a floating IP. */
  get state() {
    const { balancers, listeners } = this.cloud.balancing;
    this.cloud.settle();
    return balancers.list().map(({ id, tags, vip_port_id: vip }) => ({
      tags: tags.toSorted(),
      ports: listeners.list().flatMap((one) => (one.balancer === id ? one.protocol_port : [])),
      isReachable: this.cloud.project.floatingIPs.list().some(({ port_id }) => port_id === vip),
    }));
  }
}

const tags = (...names: readonly string[]) => names.map(tagOf);

test("a load balancer keeps the tags of two Services that join it at the same time [F38]", async () => {
  const shared = await SharedBalancer.create();
  const [blog, shop] = [shared.sharer("blog", 8080), shared.sharer("shop", 8081)];
  const plans = [await shared.plan(blog), await shared.plan(shop)] as const;
  await shared.apply(blog, plans[0]);
  await shared.apply(shop, plans[1]);
  await shared.finish(shop);
  expect(shared.state).toMatchObject([{ tags: tags("blog", "shop", "web"), ports: [80, 8081] }]);
  await shared.finish(blog);
  expect(shared.state).toMatchObject([{ tags: tags("blog", "shop", "web"), ports: [80, 8081, 8080] }]);
});

test("a load balancer that a Service joins while the last Service leaves stays, with its floating IP [F38]", async () => {
  const shared = await SharedBalancer.create();
  const blog = shared.sharer("blog", 8080);
  const leave = await shared.plan(ending(shared.web));
  await shared.finish(blog);
  await shared.apply(shared.web, leave);
  expect(shared.state).toEqual([{ tags: tags("blog", "web"), ports: [80, 8080], isReachable: true }]);
  await shared.finish(ending(shared.web));
  expect(shared.state).toEqual([{ tags: tags("blog"), ports: [8080], isReachable: true }]);
});

test("a load balancer that its two Services leave at the same time is deleted [F38]", async () => {
  const shared = await SharedBalancer.create();
  const blog = shared.sharer("blog", 8080);
  await shared.finish(blog);
  const leaving = [ending(shared.web), ending(blog)];
  const plans = [
    await shared.planUntil(ending(shared.web), "remove tag"),
    await shared.planUntil(ending(blog), "remove tag"),
  ];
  // A Service whose last step is applied is gone, and plans no more.
  for (const [index, plan] of plans.entries()) {
    const one = leaving[index] as Desired;
    if (!(await shared.apply(one, plan))) await shared.finish(one);
  }
  expect(shared.state).toEqual([]);
  expect(shared.cloud.project.floatingIPs.list()).toEqual([]);
});

test("a load balancer keeps the tags of two Services that join it while reads are slow [F38]", async () => {
  const shared = await SharedBalancer.create();
  const [blog, shop] = [shared.sharer("blog", 8080), shared.sharer("shop", 8081)];
  const isApplied = await shared.applyTogether([await shared.plan(blog), await shared.plan(shop)]);
  expect(isApplied).toEqual([true, false]);
  expect(shared.state).toMatchObject([{ tags: tags("blog", "web") }]);
  await shared.finish(shop);
  expect(shared.state).toMatchObject([{ tags: tags("blog", "shop", "web") }]);
});

const portsOf = (h: OpenStackWorld) =>
  h.cloud.balancing.listeners.list().map(({ protocol_port }) => protocol_port);

describe("a shared load balancer", () => {
  const share = async (options: ConstructorParameters<typeof OpenStackWorld>[0] = {}, port = 8080) => {
    const h = await served({}, options);
    const id = h.balancers()[0]?.id ?? "";
    h.world.create("blog", draft({ "load-balancer-id": id }, [tcpPort(port, 30_500)]));
    await h.settle();
    return h;
  };

  test("serves a second Service, whose status has the same address [F47]", async () => {
    const h = await share();
    expect(h.balancers().map(({ tags }) => tags)).toEqual([
      ["kube_service_prod_default_web", "kube_service_prod_default_blog"],
    ]);
    expect(h.cloud.balancing.listeners.list().map(({ protocol_port }) => protocol_port)).toEqual([80, 8080]);
    expect(h.world.addressesOf("blog")).toEqual(h.world.addressesOf("web") as string[]);
    expect(h.immutable).toBe(0);
    h.forget();
    await h.settle(1200);
    expect(h.changes).toEqual([]);
  });

  test("is joined by two Services at the same time, and each tag is written once [F38]", async () => {
    const h = await served({}, { settings: { "max-shared-lb": "3" } });
    const id = h.balancers()[0]?.id ?? "";
    // Longer than the change of the other Service takes.
    h.cloud.faults.add({ kind: "slow", operation: lookup, milliseconds: 10_000 });
    for (const [name, port] of [["blog", 81] as const, ["shop", 82] as const])
      h.world.create(name, draft({ "load-balancer-id": id }, [tcpPort(port)]));
    await h.settle();
    const written = h.cloud.seen.flatMap(({ operation, body }) =>
      operation === `PUT ${lbaas}/loadbalancers/{id}`
        ? [(body as { readonly loadbalancer: { readonly tags: readonly string[] } }).loadbalancer.tags.length]
        : [],
    );
    expect(written).toEqual([2, 3]);
    const ports = h.cloud.balancing.listeners.list().map(({ protocol_port }) => protocol_port);
    expect(ports.toSorted()).toEqual([80, 81, 82]);
    const [web, blog, shop] = ["web", "blog", "shop"].map((name) => `kube_service_prod_default_${name}`);
    // The lookup of blog was answered late.
    expect(h.events("blog")).toContain(
      `has the tags ${web}, ${shop}, and had ${web} when the step was planned: a Service has joined or left it, or a user has changed them. "join load balancer" is not applied. Fairlead plans again with these tags.`,
    );
    expect(h.balancers().map(({ tags }) => tags)).toEqual([[web, shop, blog]] as string[][]);
    for (const name of ["blog", "shop"])
      expect(h.world.addressesOf(name)).toEqual(h.world.addressesOf("web") as string[]);
  });

  test("survives the Service that created it, and is deleted with the last Service", async () => {
    const h = await share();
    h.world.delete("web");
    await h.settle();
    expect(h.world.find("web")).toBeUndefined();
    expect(h.balancers().map(({ tags }) => tags)).toEqual([["kube_service_prod_default_blog"]]);
    expect(h.cloud.balancing.listeners.list().map(({ protocol_port }) => protocol_port)).toEqual([8080]);
    expect(h.events("web")).toContain("DeletedLoadBalancer Left load balancer kube_service_prod_default_web");
    h.world.delete("blog");
    await h.settle();
    expect([h.balancers(), h.floatingIPs()]).toEqual([[], []]);
  });

  test("is not changed for a Service with another Service's port", async () => {
    const h = await share({}, 80);
    expect(h.events("blog")).toContain("has foreign listeners on port 80");
    expect(h.cloud.balancing.listeners.list()).toHaveLength(1);
  });

  test("is changed for the other ports of a Service, and for its Nodes, while one port is taken [F38 F42]", async () => {
    const h = await share();
    h.world.editSpec("blog", { ports: [tcpPort(80, 30_777), tcpPort(8443, 30_501)] as never });
    h.addNode("more");
    await h.settle();
    expect(portsOf(h).toSorted()).toEqual([80, 8443]);
    expect(h.events("blog")).toContain(
      "on port 80 (kube_service_prod_default_web). These ports are not served",
    );
    const pools = h.cloud.balancing.pools.list();
    expect(pools.map(({ members }) => members.length)).toEqual([3, 3]);
    expect(h.world.addressesOf("blog")).toEqual(h.world.addressesOf("web") as string[]);
  });

  test("lets two Services exchange their ports [F38]", async () => {
    const h = await share();
    h.world.editSpec("web", { ports: [tcpPort(8080, 30_080)] as never });
    h.world.editSpec("blog", { ports: [tcpPort(80, 30_500)] as never });
    await h.settle(600);
    const owners = h.cloud.balancing.listeners.list().map((one) => [one.protocol_port, one.tags[0]]);
    expect(owners.toSorted()).toEqual([
      [80, "kube_service_prod_default_blog"],
      [8080, "kube_service_prod_default_web"],
    ]);
  });

  test("accepts no more Services than max-shared-lb", async () => {
    const h = await share({ settings: { "max-shared-lb": "1" } });
    expect(h.balancers().map(({ tags }) => tags)).toEqual([["kube_service_prod_default_web"]]);
    expect(h.events("blog")).toContain("is shared by 1 Services, and max-shared-lb is 1");
  });

  test("of a user stays when the Service is deleted", async () => {
    const h = new OpenStackWorld();
    const { id } = putBalancer(h, "by-hand", ["mine"]);
    await h.start();
    h.world.create("web", draft({ "load-balancer-id": id, [internal]: "true" }));
    await h.settle();
    expect(h.world.addressesOf("web")).toEqual(["10.1.0.200"]);
    h.world.delete("web");
    await h.settle();
    expect(h.world.find("web")).toBeUndefined();
    expect(h.balancers().map(({ name, tags }) => [name, tags])).toEqual([["by-hand", ["mine"]]]);
    expect(h.cloud.balancing.listeners.list()).toEqual([]);
    expect(h.events("web")).toContain("ReleasedLoadBalancer Released load balancer by-hand");
  });

  test("of a user serves two Services that name it at the same time [F38]", async () => {
    const h = new OpenStackWorld();
    const { id } = putBalancer(h, "by-hand", []);
    await h.start();
    h.world.create("web", draft({ "load-balancer-id": id }, [tcpPort(80)]));
    h.world.create("blog", draft({ "load-balancer-id": id }, [tcpPort(81)]));
    await h.settle(600);
    expect(portsOf(h).toSorted()).toEqual([80, 81]);
    expect(h.world.addressesOf("blog")).toEqual(h.world.addressesOf("web") as string[]);
    expect(h.world.addressesOf("web")).toHaveLength(1);
  });

  /** Adds a listener without Kubernetes tags, as Terraform does. */
  const addListener = (h: OpenStackWorld, name: string, port: number) => {
    const { balancing, project } = h.cloud;
    const [first] = balancing.listeners.list();
    if (first === undefined) throw new Error("Expected a listener.");
    const id = project.ids.uuid();
    balancing.listeners.put({
      ...first,
      id,
      name,
      protocol_port: port,
      tags: ["team-a"],
      default_pool_id: null,
    });
  };
  test("keeps a listener that no mark covers, and therefore stays when the Service is deleted [F108]", async () => {
    const h = await served();
    addListener(h, "api", 6443);
    h.world.editSpec("web", draft({}, [tcpPort(81)]).spec);
    await h.settle();
    expect(portsOf(h).toSorted()).toEqual([6443, 81]);
    h.world.delete("web");
    await h.settle();
    expect(h.world.find("web")).toBeUndefined();
    expect(h.balancers().map(({ name, tags }) => [name, tags])).toEqual([
      ["former_kube_service_prod_default_web", []],
    ]);
    expect(portsOf(h)).toEqual([6443]);
    h.world.create("web", draft());
    await h.settle();
    expect(h.balancers()).toHaveLength(2);
    expect(h.world.addressesOf("web")).toHaveLength(1);
  });

  test("is not changed for a port that a listener without a mark has, and reports the conflict [F108]", async () => {
    const h = await served();
    addListener(h, "api", 6443);
    h.world.editSpec("web", draft({}, [tcpPort(80), tcpPort(6443, 30_643)]).spec);
    await h.settle();
    expect(h.events("web")).toContain("has foreign listeners on port 6443 (team-a)");
    expect(portsOf(h)).toEqual([80, 6443]);
  });

  test("removes an owner's listener that was created before there were tags", async () => {
    const h = await served();
    addListener(h, "listener_1_kube_service_prod_default_web", 8080);
    h.world.delete("web");
    await h.settle();
    expect([h.balancers(), portsOf(h)]).toEqual([[], []]);
  });

  test("is not deleted for the last Service if a user adds a listener just before [F108]", async () => {
    const h = await served();
    // Between the two steps of the plan that deletes the load balancer.
    h.world.onCrossing = (what, when) => {
      if (when !== "after" || !/^DELETE .*\/floatingips\//.test(what)) return;
      h.world.onCrossing = undefined;
      addListener(h, "api", 6443);
    };
    h.world.delete("web");
    await h.settle(180);
    expect(h.world.find("web")).toBeUndefined();
    expect([h.balancers().length, portsOf(h)]).toEqual([1, [6443]]);
  });

  test("is not deleted with the listener of a Service whose tag a user has removed [F38]", async () => {
    const h = await share();
    const [balancer] = h.balancers();
    const tags = (balancer?.tags ?? []).filter((tag) => !tag.endsWith("blog"));
    h.cloud.balancing.balancers.change(balancer?.id ?? "", { tags });
    // It does not restore its tag.
    h.world.annotate("blog", { "fairlead.dev/paused": "true" });
    h.world.delete("web");
    await h.settle(600);
    expect(h.world.find("web")).toBeUndefined();
    expect(h.balancers().map((one) => [one.id, one.tags])).toEqual([
      [balancer?.id ?? "", ["kube_service_prod_default_blog"]],
    ]);
    expect(portsOf(h)).toEqual([8080]);
    h.world.annotate("blog", { "fairlead.dev/paused": undefined });
    h.world.delete("blog");
    await h.settle(180);
    expect([h.world.find("blog"), h.balancers(), portsOf(h)]).toEqual([undefined, [], []]);
  });

  test("belongs to the Service that was recreated under its name, while another Service shares it [F38]", async () => {
    const h = await share();
    const { uid } = h.world.get("blog").metadata;
    h.world.delete("blog");
    await h.settle();
    const id = h.balancers()[0]?.id ?? "";
    h.world.create("blog", draft({ "load-balancer-id": id }, [tcpPort(8080, 30_777)]));
    await h.settle();
    expect(h.world.get("blog").metadata.uid).not.toBe(uid);
    expect(h.balancers().map(({ tags }) => tags)).toEqual([
      ["kube_service_prod_default_web", "kube_service_prod_default_blog"],
    ]);
    expect(portsOf(h)).toEqual([80, 8080]);
  });

  const places = [1, 2, 3, 4, 5, 6, 7].flatMap((count) =>
    (["before", "after"] as const).map((when) => [when, count] as const),
  );

  test.each(places)(
    "is completed by the next manager when a manager dies %s change %p of two joins [F38]",
    async (when, count) => {
      const h = await served({}, { settings: { "max-shared-lb": "3" } });
      const id = h.balancers()[0]?.id ?? "";
      let seen = 0;
      h.world.onCrossing = (what, now) => {
        if (now !== when || what.startsWith("GET ") || !what.includes("/lbaas/")) return;
        seen += 1;
        if (seen === count) h.world.crash();
      };
      for (const [name, port] of [["blog", 81] as const, ["shop", 82] as const])
        h.world.create(name, draft({ "load-balancer-id": id }, [tcpPort(port)]));
      await h.settle();
      h.world.onCrossing = undefined;
      expect(h.world.isRunning).toBe(false);
      await h.start();
      await h.settle(180);
      expect(portsOf(h).toSorted()).toEqual([80, 81, 82]);
      expect(h.balancers().map(({ tags }) => tags.toSorted())).toEqual([
        ["blog", "shop", "web"].map((name) => `kube_service_prod_default_${name}`),
      ]);
      for (const name of ["blog", "shop"])
        expect(h.world.addressesOf(name)).toEqual(h.world.addressesOf("web") as string[]);
      expect(h.cloud.balancing.pools.list()).toHaveLength(3);
    },
  );

  test.each([1, 2, 3, 4, 5])(
    "has no part and no tag of a Service that left while the manager died after request %p [F38]",
    async (after) => {
      const h = await share();
      h.forget();
      h.world.delete("web");
      await h.world.until(() => h.changes.length >= after || h.world.find("web") === undefined, "requests");
      await h.world.stop();
      await h.start();
      await h.settle(180);
      expect(h.world.find("web")).toBeUndefined();
      expect(h.balancers().map(({ tags }) => tags)).toEqual([["kube_service_prod_default_blog"]]);
      expect(portsOf(h)).toEqual([8080]);
    },
  );
});
