// Services of the AWS Load Balancer Controller: Fairlead leaves them alone, as with a load balancer
// class, and reports who serves them.

import { describe, expect, test } from "bun:test";
import { asTransport } from "#ccm/testing";
import { aws } from "../../../providers/aws/index.ts";
import { prefix } from "../../../providers/aws/load-balancers/annotations.ts";
import { config } from "../../../providers/aws/simulator/harness.ts";
import { annotationsOf } from "../../../src/app/configuration/cloud-settings.ts";
import { admitService } from "../../../src/controllers/service/admit.ts";
import { finalizer, servesWithoutClass } from "../../../src/controllers/service/served-classes.ts";
import { describeEverything, describeObject } from "../../../src/inspect/explain/describe-object.ts";
import type { AnyProvider } from "../../../src/provider/provider.ts";
import { runCommandIn } from "../../support/command-world.ts";
import { BalancerWorld, draft, network, tcpPort } from "./balancer-world.ts";

const provider = aws as unknown as AnyProvider;
const explained = ({ world }: BalancerWorld, name = "web") =>
  describeObject(world.manager, "Service", `default/${name}`);
const serves = (type: string) =>
  `${prefix}type is ${JSON.stringify(type)}, so the AWS Load Balancer Controller serves it`;
/** According to the documentation of that controller. */
const external = { type: "external", "nlb-target-type": "ip", scheme: "internet-facing" };
const address = { loadBalancer: { ingress: [{ hostname: "theirs.example.com" }] } };

function publish({ world }: BalancerWorld): void {
  world.edit("web", (service) => ({ ...service, status: address }), "status");
}

describe("a Service that the AWS Load Balancer Controller serves", () => {
  test.each(["external", "nlb-ip"])(
    "leaves a Service of type %s alone: no event, condition, finalizer or change of the cloud, and its address stays [F28]",
    async (type) => {
      const h = new BalancerWorld();
      await h.start();
      h.world.create("web", draft({ ...external, type }));
      await h.settle();
      publish(h);
      await h.settle(3600);
      const { metadata, status } = h.world.get("web");
      expect([h.world.events("web"), h.changes, metadata.finalizers ?? []]).toEqual([[], [], []]);
      expect(status as object).toEqual(address);
      h.world.delete("web");
      await h.settle();
      expect([h.world.find("web"), h.changes]).toEqual([undefined, []]);
    },
  );

  test("reports no event for such a Service while load balancers cannot be listed", async () => {
    const h = new BalancerWorld();
    h.cloud.faults.add({
      kind: "status",
      status: 403,
      operation: "elbv2:DescribeLoadBalancers",
      calls: 1000,
    });
    await h.start();
    h.world.create("web", draft(external));
    h.world.create("own", draft({}, [tcpPort(81)]));
    await h.settle(600);
    expect(h.world.events("web")).toEqual([]);
    expect(h.world.events("own").join()).toContain("SyncLoadBalancerFailed");
  });

  test("shows such a Service as unmanaged and not waiting in explain and on the status page", async () => {
    const h = new BalancerWorld();
    await h.start();
    h.world.create("web", draft(external));
    await h.settle();
    expect(explained(h)).toMatchObject({
      state: "unmanaged",
      summary: `${serves("external")}: it has no address yet, so check that this controller is installed and runs. Fairlead does nothing for it. For a load balancer of Fairlead, create the Service again without the annotation.`,
      notes: [],
    });
    expect(explained(h)).not.toHaveProperty("nextAttemptInSeconds");
    publish(h);
    await h.settle();
    expect(explained(h)).toMatchObject({
      state: "unmanaged",
      summary: expect.stringContaining(`${serves("external")}: its address comes from there.`),
    });
    expect(describeEverything(h.world.manager)).toEqual([]);
  });

  test("removes the Go manager's finalizer from such a Service when it is deleted, and keeps its address", async () => {
    const h = new BalancerWorld();
    h.world.create("web", { ...draft(external), finalizers: [finalizer, "service.k8s.aws/resources"] });
    publish(h);
    await h.start();
    await h.settle();
    expect([h.world.events("web"), h.changes]).toEqual([[], []]);
    h.world.delete("web");
    await h.settle(300);
    const { metadata, status } = h.world.get("web");
    expect(metadata.finalizers).toEqual(["service.k8s.aws/resources"]);
    expect([status.loadBalancer, h.changes]).toEqual([address.loadBalancer, []] as never);
  });

  test("removes the conditions that it wrote before the Service had the annotation", async () => {
    const h = new BalancerWorld();
    await h.start();
    h.world.create("web", draft({}, [tcpPort(53, 30_053, "UDP")]));
    await h.settle();
    expect(h.world.conditionsOf("web")).not.toEqual([]);
    h.world.annotate("web", { [`${prefix}type`]: "external" });
    await h.settle(300);
    expect(h.world.conditionsOf("web")).toEqual([]);
    expect([explained(h), h.changes]).toMatchObject([{ state: "unmanaged" }, []]);
  });

  test("keeps the load balancer of such a Service with its targets, even after a restart", async () => {
    const h = new BalancerWorld();
    await h.start();
    h.world.create("web", draft(network));
    await h.settle();
    h.world.annotate("web", { [`${prefix}type`]: "external" });
    await h.settle();
    h.world.crash();
    await h.start();
    await h.settle();
    h.forget();
    const id = h.addNode("node-new");
    await h.settle(600);
    const [group] = h.cloud.account.network.targetGroups();
    expect(group?.targets.map((target) => target.id)).toContain(id);
    expect(h.said()).toContain(`${prefix}type cannot be changed after the load balancer is created`);
    expect(explained(h)).not.toMatchObject({ state: "unmanaged" });
  });

  test("keeps the load balancer when one write hands over the Service and removes the finalizer", async () => {
    const h = new BalancerWorld();
    await h.start();
    h.world.create("web", draft(network));
    await h.settle();
    h.forget();
    h.world.edit("web", ({ metadata: { finalizers: _, ...metadata }, ...rest }) => {
      const annotations = { ...metadata.annotations, [`${prefix}type`]: "external" };
      return { ...rest, metadata: { ...metadata, annotations } };
    });
    await h.settle(900);
    expect(h.changes.filter((change) => change.startsWith("elbv2:Delete"))).toEqual([]);
    expect(h.cloud.account.network.all()).toHaveLength(1);
  });

  test.each([
    ["no type", undefined],
    ["the type external", "external"],
  ])("keeps a load balancer that has lost the name of its Service with %s", async (_, type) => {
    const h = new BalancerWorld();
    await h.start();
    h.world.create("web", draft(network));
    await h.settle();
    const [balancer] = h.cloud.account.network.all();
    balancer?.tags.delete("kubernetes.io/service-name");
    // A listing has shown the load balancer without the tag.
    await h.settle(3600);
    h.forget();
    h.world.annotate("web", { [`${prefix}type`]: type });
    await h.settle(900);
    expect(h.changes.filter((change) => /Create|Delete/.test(change))).toEqual([]);
    expect([h.cloud.account.network.all().length, h.cloud.account.classic.all().length]).toEqual([1, 0]);
  });

  test("the webhook accepts such a Service without a warning", () => {
    const { annotations, spec } = draft(external);
    const object = { metadata: { name: "web", annotations }, spec: { type: "LoadBalancer", ...spec } };
    const write = { operation: "CREATE", object, oldObject: null };
    expect(admitService(write, annotationsOf(provider), servesWithoutClass)).toEqual({});
  });

  test("plan, and explain without the cloud settings, name such a Service and do nothing for it", async () => {
    const h = new BalancerWorld({ nodes: 0 });
    h.world.create("web", draft(external));
    const master = "--master=http://test-api-server";
    const set = Object.entries(config).map(([name, value]) => `--config-set=${name}=${value}`);
    const planned = await runCommandIn(h.world, ["plan", master, "--configure-cloud-routes=false", ...set], {
      provider,
      cloud: asTransport(h.cloud),
    });
    expect([planned.code, planned.out]).toEqual([
      0,
      "Plan: 0 Nodes and 1 Service of type LoadBalancer (1 left alone; explain says who serves it): no changes would be made.\n",
    ]);
    const { out } = await runCommandIn(h.world, ["explain", master, "service", "web"], { provider });
    expect(out).toStartWith(`Service default/web: unmanaged\n  ${prefix}type is "external", so the AWS`);
  });

  test("lint gives a hint for such a Service, and checks none of its annotations", async () => {
    const text = `apiVersion: v1
kind: Service
metadata:
  name: web
  annotations:
    ${prefix}type: external
    ${prefix}nlb-target-type: ip
spec: { type: LoadBalancer, ports: [{ port: 80 }] }
`;
    const { code, out } = await runCommandIn(new BalancerWorld().world, ["lint", "a.yaml"], {
      files: { "a.yaml": text },
      provider,
    });
    const hint = `a.yaml:6:5: hint: Service default/web: ${serves("external")}. Fairlead does nothing for it, and its annotations are not checked [ServedElsewhere]`;
    expect([code, out.split("\n")[0]]).toEqual([0, hint]);
  });
});
