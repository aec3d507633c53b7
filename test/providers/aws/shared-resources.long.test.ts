// Resources that AWS load balancers share: security groups, their rules, and subnets. None of these is removed while another load
// balancer needs it.

import { describe, expect, test } from "bun:test";
import { prefix } from "../../../providers/aws/load-balancers/annotations.ts";
import { networkGroupChanges } from "../../../providers/aws/load-balancers/node-rules.ts";
import { BalancerWorld, draft, network, owned, served, tcpPort } from "./balancer-world.ts";

/** A world with the Services `web` and `shop`, and their load balancers. */
async function bothServed(
  annotations: Readonly<Record<string, string>>,
  { settings = {}, spec = {} }: { settings?: Readonly<Record<string, string>>; spec?: object } = {},
): Promise<BalancerWorld> {
  const h = new BalancerWorld({ settings });
  await h.start();
  // The Services are created one after the other, so that the first one opens what both need.
  for (const [index, name] of ["web", "shop"].entries()) {
    h.world.create(name, draft(annotations, [tcpPort(80, 30_100 + index)], spec));
    await h.settle();
  }
  h.forget();
  return h;
}

/** Everything that requests have removed from security groups. */
const revoked = (h: BalancerWorld): string =>
  JSON.stringify(h.cloud.seen.flatMap(({ operation, body }) => (operation.includes("Revoke") ? [body] : [])));

describe("rules of the Nodes' security group", () => {
  const clients = { loadBalancerSourceRanges: ["192.0.2.0/24"] };

  test("keeps the rule for path MTU discovery while another network load balancer has the same clients", async () => {
    const h = await bothServed(network, { spec: clients });
    h.world.delete("web");
    await h.settle(3600);
    expect(revoked(h)).not.toContain("/nlb/mtu");
    expect(h.changes).not.toContain("AuthorizeSecurityGroupIngress");
    h.world.delete("shop");
    await h.settle(300);
    expect(h.rules()).toEqual([]);
  });

  test("keeps a rule that names a given security group while another classic load balancer uses the group", async () => {
    const h = new BalancerWorld();
    const given = h.addGroup("given");
    await h.start();
    for (const [index, name] of ["web", "shop"].entries())
      h.world.create(name, draft({ "security-groups": given }, [tcpPort(80, 30_100 + index)]));
    await h.settle();
    h.world.delete("shop");
    await h.settle(3600);
    expect(h.changes).not.toContain("RevokeSecurityGroupIngress");
  });

  test("keeps the health check rule of a load balancer that checks the same port only since the last listing", async () => {
    const h = new BalancerWorld();
    await h.start();
    h.world.create("web", draft({ ...network, "healthcheck-port": "8080" }, [tcpPort(80, 30_100)]));
    h.world.create("shop", draft(network, [tcpPort(80, 30_101)]));
    await h.settle(600);
    const checked = () => h.rules().filter((rule) => rule.startsWith("tcp 8080"));
    const before = checked();
    expect(before).not.toEqual([]);
    h.world.annotate("shop", { [`${prefix}healthcheck-port`]: "8080" });
    await h.settle(20);
    h.forget();
    h.world.delete("web");
    await h.settle(3600);
    expect(checked()).toEqual(before);
    expect(revoked(h)).not.toContain("8080");
  });

  test("keeps the health check rule of another manager's load balancer that checks the port since the last listing [F105]", async () => {
    const h = await bothServed({ ...network, "healthcheck-port": "8080" });
    const checked = () => h.rules().filter((rule) => rule.startsWith("tcp 8080"));
    const before = checked();
    h.world.annotate("shop", { [`${prefix}healthcheck-port`]: "traffic-port" });
    await h.settle(60);
    // The creation of this load balancer needs a listing.
    h.world.create("blog", draft({}, [tcpPort(80, 30_102)]));
    await h.settle(60);
    const { network: balancers } = h.cloud.account;
    const group = balancers.targetGroups().find(({ name }) => name.startsWith("k8s-default-shop"));
    balancers.answer("ModifyTargetGroup", { TargetGroupArn: String(group?.arn), HealthCheckPort: "8080" });
    h.forget();
    h.world.annotate("web", { [`${prefix}healthcheck-port`]: "traffic-port" });
    await h.settle(5);
    expect(h.changes).toContain("ModifyTargetGroup");
    expect([checked(), revoked(h)]).toEqual([before, expect.not.stringContaining("8080")]);
  });

  test("are compared with current health checks although the listing shows no check of their port [F105]", () => {
    const description = "kubernetes.io/rule/nlb/health=web";
    const rule = {
      ipProtocol: "tcp",
      fromPort: 8080,
      toPort: 8080,
      ipRanges: [{ cidrIp: "10.0.0.0/24", description }],
    };
    const observed = {
      groups: [{ groupId: "sg-1", ipPermissions: [rule] }],
      lb: "web",
      network: undefined,
      checkers: new Map(),
      foreign: new Set(),
    };
    const [change] = networkGroupChanges(observed as never, ["sg-1"], []);
    expect(change?.removed.map(({ from }) => from)).toEqual([8080]);
    expect(change?.checked?.ports).toEqual([8080]);
  });

  describe("in Shared mode", () => {
    const settings = { "cluster-service-load-balancer-health-probe-mode": "Shared" };
    const shared = (h: BalancerWorld) => h.rules().filter((rule) => rule.startsWith("tcp 10256"));

    test.each(["web", "shop"])(
      "keeps the health check rule of the other load balancer when %s is deleted, until the last load balancer is deleted",
      async (first) => {
        const h = await bothServed(network, { settings });
        const before = shared(h);
        expect(before).not.toEqual([]);
        h.world.delete(first);
        await h.settle(3600);
        expect(shared(h)).toEqual(before);
        expect(revoked(h)).not.toContain("10256");
        expect(h.changes).not.toContain("AuthorizeSecurityGroupIngress");
        const other = first === "web" ? "shop" : "web";
        expect(h.said(other)).not.toContain("outside Fairlead");
        h.world.delete(other);
        await h.settle(300);
        expect(h.rules()).toEqual([]);
      },
    );

    test("keeps the health check rule of the other load balancer when one Service gets externalTrafficPolicy: Local", async () => {
      const h = await bothServed(network, { settings });
      const before = shared(h);
      const local = { externalTrafficPolicy: "Local", healthCheckNodePort: 31_000 } as const;
      h.world.edit("web", (one) => ({ ...one, spec: { ...one.spec, ...local } }));
      await h.settle(3600);
      expect(shared(h)).toEqual(before);
      expect(revoked(h)).not.toContain("10256");
      expect(h.said("shop")).not.toContain("outside Fairlead");
      h.world.delete("shop");
      await h.settle(3600);
      expect([shared(h), h.said("web")]).toEqual([[], expect.not.stringContaining("outside Fairlead")]);
      h.world.delete("web");
      await h.settle(300);
      expect(h.rules()).toEqual([]);
    });

    test("removes the health check rule when all Services are deleted together", async () => {
      const h = await bothServed(network, { settings, spec: clients });
      const others = { loadBalancerSourceRanges: ["198.51.100.0/24"] };
      h.world.edit("shop", (one) => ({ ...one, spec: { ...one.spec, ...others } }));
      await h.settle(600);
      for (const name of ["web", "shop"]) h.world.delete(name);
      await h.settle(600);
      expect(h.rules()).toEqual([]);
    });

    test("keeps another cluster's health check rule when this cluster's last load balancer is deleted", async () => {
      const h = new BalancerWorld({ settings });
      await h.start();
      h.world.create("web", draft(network, [tcpPort(80, 30_100)]));
      await h.settle();
      const { account } = h.cloud;
      const other = "a0123456789abcdef0123456789abcde";
      const Tags = [{ Key: "kubernetes.io/cluster/other", Value: "owned" }];
      const SubnetMappings = [{ SubnetId: "subnet-00000000000000001" }];
      account.network.answer("CreateLoadBalancer", { Name: other, Type: "network", SubnetMappings, Tags });
      // This load balancer has opened the port that both check, and a port for its clients.
      const { rules } = account.groups.existing(h.group);
      const own = `nlb/health=${h.nameOf()}`;
      const checks = rules.map((rule) => ({
        ...rule,
        description: rule.description?.replace(own, `nlb/health=${other}`),
      }));
      const clients = rules
        .filter(({ fromPort }) => String(fromPort) === "30100")
        .map((rule) => ({
          ...rule,
          fromPort: 30_200,
          toPort: 30_200,
          description: `kubernetes.io/rule/nlb/client=${other}`,
        }));
      account.groups.change(h.group, { rules: [...checks, ...(clients as never)] });
      await h.settle(3600);
      const before = shared(h);
      expect(before.join()).toContain(other);
      h.world.delete("web");
      await h.settle(600);
      expect(h.world.find("web")).toBeUndefined();
      expect(shared(h)).toEqual(before);
    });

    test("removes the health check rule when Shared mode ends", async () => {
      const h = await bothServed(network, { settings });
      await h.world.stop();
      await h.start("--config-set=cluster-service-load-balancer-health-probe-mode=ServiceNodePort");
      await h.settle(3600);
      expect(shared(h)).toEqual([]);
      expect(h.said()).not.toContain("outside Fairlead");
    });
  });
});

describe("a security group that Fairlead created", () => {
  const ownGroup = (h: BalancerWorld) => String(h.groupNamed(`k8s-elb-${h.nameOf()}`)?.id);

  test("keeps its security group after the Service is deleted while another load balancer uses the group", async () => {
    const h = await served();
    const id = ownGroup(h);
    const listeners = { LoadBalancerPort: "80", InstancePort: "80", Protocol: "tcp" };
    h.cloud.account.classic.answer("CreateLoadBalancer", {
      LoadBalancerName: "by-hand",
      Listeners: [listeners],
      Subnets: ["subnet-00000000000000001"],
      SecurityGroups: [id],
    });
    await h.settle(3600);
    h.world.delete("web");
    await h.settle(3600);
    expect(h.world.find("web")).toBeUndefined();
    expect(h.cloud.account.groups.get(id)).toBeDefined();
    expect(h.changes).not.toContain("DeleteSecurityGroup");
  });

  test.each([
    ["its tag says shared", { "kubernetes.io/cluster/prod": "shared" }],
    ["its tag is that of another cluster", { "kubernetes.io/cluster/other": "owned" }],
  ])("keeps its security group after the Service is deleted and %s", async (_, tags) => {
    const h = await served();
    const id = ownGroup(h);
    h.cloud.account.groups.change(id, { tags });
    await h.settle(3600);
    h.world.delete("web");
    await h.settle(3600);
    expect(h.cloud.account.groups.get(id)).toBeDefined();
  });

  test("keeps its security group after a Service that names the group is deleted", async () => {
    const h = await served();
    const id = ownGroup(h);
    h.world.annotate("web", { [`${prefix}security-groups`]: id });
    await h.settle(600);
    h.world.delete("web");
    await h.settle(600);
    expect(h.cloud.account.groups.get(id)).toBeDefined();
  });
});

describe("subnets", () => {
  test.each([
    ["classic", {}],
    ["network", network],
  ])("creates no %s load balancer in subnets of other clusters", async (_, annotations) => {
    const h = new BalancerWorld();
    const { subnets, classic, network: networks } = h.cloud.account;
    const [first, second, ...rest] = subnets.list();
    subnets.change(String(first?.id), { tags: { "kubernetes.io/cluster/other": "shared" } });
    subnets.change(String(second?.id), { tags: owned });
    for (const { id } of rest) subnets.change(id, { tags: { "kubernetes.io/cluster/other": "owned" } });
    await h.start();
    h.world.create("web", draft(annotations));
    await h.settle();
    const used = [
      ...classic.all().flatMap((one) => one.subnets),
      ...networks.all().flatMap(({ mappings }) => mappings.map(({ subnet }) => subnet)),
    ];
    expect(used).toEqual([String(second?.id)]);
  });
});
