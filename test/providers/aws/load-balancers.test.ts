// AWS load balancers with a whole manager: what it creates, changes and deletes, and what it never touches.

import { describe, expect, test } from "bun:test";
import { prefix } from "../../../providers/aws/load-balancers/annotations.ts";
import { BalancerWorld, draft, network, owned, served, tcpPort } from "./balancer-world.ts";

const certificate = "arn:aws:acm:us-west-2:123456789012:certificate/1234";

describe("a classic load balancer", () => {
  test("gives a classic load balancer the Go manager's names, tags and rules [F30 F46]", async () => {
    const h = await served({}, { spec: { loadBalancerSourceRanges: ["192.0.2.0/24"] } });
    const [balancer, ...others] = h.cloud.account.classic.all();
    expect(others).toEqual([]);
    const name = h.nameOf();
    const own = h.groupNamed(`k8s-elb-${name}`);
    expect(balancer?.name).toBe(name);
    expect(Object.fromEntries(balancer?.tags ?? [])).toEqual({
      ...owned,
      "kubernetes.io/service-name": "default/web",
    });
    expect(own).toMatchObject({
      description: `Security group for Kubernetes ELB ${name} (default/web)`,
      tags: owned,
    });
    expect(h.rules(own?.id as string)).toEqual(["icmp 3 4 192.0.2.0/24", "tcp 80 80 192.0.2.0/24"]);
    expect(h.rules()).toEqual([`-1 ${own?.id}`]);
    expect(balancer?.check).toMatchObject({ Target: "TCP:30080", Interval: "10", UnhealthyThreshold: "6" });
    expect(h.hostname()).toBe(`${name}-1.us-west-2.elb.amazonaws.com`);
  });

  test("makes a classic load balancer check the health check node port with externalTrafficPolicy: Local [F32]", async () => {
    const spec = { externalTrafficPolicy: "Local", healthCheckNodePort: 31_000 };
    const h = await served({}, { spec });
    expect(h.cloud.account.classic.all()[0]?.check["Target"]).toBe("HTTP:31000/healthz");
  });

  test("terminates TLS on the named ports of a classic load balancer with the policy [F37]", async () => {
    const annotations = {
      "ssl-cert": certificate,
      "ssl-ports": "443",
      "ssl-negotiation-policy": "ELBSecurityPolicy-TLS-1-2",
    };
    const h = await served(
      { ...annotations, "backend-protocol": "http" },
      { ports: [tcpPort(80), tcpPort(443)] },
    );
    const listeners = h.cloud.account.classic
      .all()[0]
      ?.listeners.map(({ view, policies }) => [view["Protocol"], view["InstanceProtocol"], policies]);
    expect(listeners).toEqual([
      ["HTTP", "HTTP", []],
      ["HTTPS", "HTTP", ["k8s-SSLNegotiationPolicy-ELBSecurityPolicy-TLS-1-2"]],
    ]);
  });

  test("adds and removes the PROXY protocol on the backends of a classic load balancer [F33]", async () => {
    const h = await served({ "proxy-protocol": "*" });
    const backends = () => [...(h.cloud.account.classic.all()[0]?.backends ?? [])];
    expect(backends()).toEqual([["30080", ["k8s-proxyprotocol-enabled"]]]);
    h.world.edit("web", ({ metadata, ...rest }) => ({ ...rest, metadata: { ...metadata, annotations: {} } }));
    await h.settle();
    expect(backends()).toEqual([["30080", []]]);
  });

  test("adds a port to a classic load balancer before it removes a port, and replaces a changed port", async () => {
    const h = await served({}, { ports: [tcpPort(80), tcpPort(81)] });
    const ports = [tcpPort(80, 30_180), tcpPort(82)];
    h.world.edit("web", (one) => ({ ...one, spec: { ...one.spec, ports: ports as never } }));
    await h.settle();
    const listeners = h.changes.filter((name) => name.includes("Listener"));
    expect(listeners).toEqual([
      "CreateLoadBalancerListeners",
      "DeleteLoadBalancerListeners",
      "CreateLoadBalancerListeners",
      "DeleteLoadBalancerListeners",
    ]);
    expect(
      h.cloud.account.classic
        .all()[0]
        ?.listeners.map(({ port }) => port)
        .toSorted(),
    ).toEqual(["80", "82"]);
  });

  test("keeps the policies that a user has added to backends", async () => {
    const h = await served({ "proxy-protocol": "*" });
    const backends = () => h.cloud.account.classic.all()[0]?.backends ?? new Map();
    for (const one of h.cloud.account.classic.all()) one.policies = [...one.policies, "by-hand"];
    backends().set("30080", ["by-hand", "k8s-proxyprotocol-enabled"]);
    await h.settle(3600);
    h.world.edit("web", ({ metadata, ...rest }) => ({ ...rest, metadata: { ...metadata, annotations: {} } }));
    await h.settle(3600);
    expect(backends().get("30080")).toEqual(["by-hand"]);
    h.world.annotate("web", { [`${prefix}proxy-protocol`]: "*" });
    await h.settle();
    expect(backends().get("30080")).toEqual(["by-hand", "k8s-proxyprotocol-enabled"]);
  });

  test("keeps the security group that was created for a classic load balancer and that a user has given to another load balancer", async () => {
    const h = await served();
    const own = h.groupNamed(`k8s-elb-${h.nameOf()}`);
    const listeners = { LoadBalancerPort: "80", InstancePort: "80", Protocol: "tcp" };
    h.cloud.account.classic.answer("CreateLoadBalancer", {
      LoadBalancerName: "by-hand",
      Listeners: [listeners],
      Subnets: ["subnet-00000000000000001"],
      SecurityGroups: [String(own?.id)],
    });
    const given = h.addGroup("given");
    await h.settle(3600);
    h.world.annotate("web", { [`${prefix}security-groups`]: given });
    await h.settle(600);
    const [mine] = h.cloud.account.classic.all().filter(({ name }) => name === h.nameOf());
    expect([mine?.groups, h.groupNamed(own?.name ?? "")?.id]).toEqual([[given], own?.id]);
    expect(h.changes).not.toContain("DeleteSecurityGroup");
  });

  test("keeps a rule for the Nodes while another load balancer uses the given security group", async () => {
    const h = new BalancerWorld();
    const given = h.addGroup("given");
    await h.start();
    for (const [index, name] of ["web", "shop"].entries())
      h.world.create(name, draft({ "security-groups": given }, [tcpPort(80, 30_100 + index)]));
    await h.settle();
    const rule = `-1 ${given} kubernetes.io/rule/elb`;
    expect(h.rules()).toEqual([rule]);
    h.world.delete("shop");
    await h.settle();
    expect(h.rules()).toEqual([rule]);
    h.world.delete("web");
    await h.settle();
    expect([h.rules(), h.groupNamed("given")?.id]).toEqual([[], given]);
  });

  test("keeps the rules between Nodes when a load balancer was given their security group", async () => {
    const h = new BalancerWorld();
    h.cloud.account.groups.change(h.group, { rules: [{ ipProtocol: "-1", peer: h.group }] });
    await h.start();
    h.world.create("web", draft({ "security-groups": h.group }));
    await h.settle();
    h.world.delete("web");
    await h.settle();
    expect([h.cloud.account.classic.all(), h.rules()]).toEqual([[], [`-1 ${h.group}`]]);
  });

  test("deletes the security group that was created for a load balancer after the Service names another group", async () => {
    const h = await served();
    const own = `k8s-elb-${h.nameOf()}`;
    const given = h.addGroup("given");
    h.world.annotate("web", { [`${prefix}security-groups`]: given });
    await h.settle();
    expect(h.cloud.account.classic.all()[0]?.groups).toEqual([given]);
    expect([h.groupNamed(own), h.rules()]).toEqual([undefined, [`-1 ${given} kubernetes.io/rule/elb`]]);
  });

  test("restores the security group of the load balancer, and closes Nodes to the given group, when the annotation is removed", async () => {
    const h = await served();
    const before = h.rules();
    const given = h.addGroup("given");
    h.world.annotate("web", { [`${prefix}security-groups`]: given });
    await h.settle();
    h.world.annotate("web", { [`${prefix}security-groups`]: undefined });
    await h.settle();
    const own = h.groupNamed(`k8s-elb-${h.nameOf()}`);
    expect([h.cloud.account.classic.all()[0]?.groups, h.rules()]).toEqual([
      [String(own?.id)],
      [`-1 ${own?.id}`],
    ]);
    expect(before).toHaveLength(1);
  });

  test("leaves no security group behind when the creation of a classic load balancer never succeeds", async () => {
    const h = new BalancerWorld();
    h.cloud.account.classic.unknownCertificates.add(certificate);
    await h.start();
    h.world.create("web", draft({ "ssl-cert": certificate }));
    await h.settle();
    expect(h.groupNamed(`k8s-elb-${h.nameOf()}`)).toBeDefined();
    expect(h.said()).toContain("Server Certificate not found");
    const name = h.nameOf();
    h.world.delete("web");
    await h.settle(300);
    expect(h.groupNamed(`k8s-elb-${name}`)).toBeUndefined();
  });

  test("waits for the deletion of a security group without holding a worker", async () => {
    const h = await served();
    const { account } = h.cloud;
    const own = h.groupNamed(`k8s-elb-${h.nameOf()}`);
    const user = h.addGroup("user");
    const rule = { ipProtocol: "tcp", fromPort: "80", toPort: "80", peer: String(own?.id) };
    account.groups.change(user, { rules: [rule] });
    h.world.delete("web");
    await h.settle();
    expect([account.classic.all(), h.groupNamed(own?.name ?? "")?.id]).toEqual([[], own?.id]);
    account.groups.change(user, { rules: [] });
    await h.settle(300);
    expect(h.groupNamed(own?.name ?? "")).toBeUndefined();
  });
});

describe("a network load balancer", () => {
  test("gives a network load balancer the Go manager's names, tags and rules, without a rule for health checks that the rules of clients cover [F46]", async () => {
    const h = await served(network);
    const { network: cloud } = h.cloud.account;
    const [balancer] = cloud.all();
    const [group] = cloud.targetGroups();
    expect(balancer?.name).toBe(h.nameOf());
    expect(group?.name).toMatch(/^k8s-default-web-[0-9a-f]{10}$/);
    expect(Object.fromEntries(group?.tags ?? [])).toEqual({
      ...owned,
      "kubernetes.io/service-name": "default/web",
    });
    expect(group?.check).toMatchObject({
      HealthCheckProtocol: "TCP",
      HealthCheckIntervalSeconds: "30",
      HealthyThresholdCount: "3",
    });
    expect(group?.targets).toHaveLength(2);
    expect(h.rules()).toEqual([
      "icmp 3 4 0.0.0.0/0 kubernetes.io/rule/nlb/mtu",
      `tcp 30080 30080 0.0.0.0/0 kubernetes.io/rule/nlb/client=${h.nameOf()}`,
    ]);
  });

  test("forwards TCP and UDP of one port through one listener [F35]", async () => {
    const h = await served(network, { ports: [tcpPort(53, 30_053), tcpPort(53, 30_053, "UDP")] });
    const { network: cloud } = h.cloud.account;
    expect(cloud.listeners().map(({ port, protocol }) => [port, protocol])).toEqual([["53", "TCP_UDP"]]);
    expect(cloud.targetGroups().map(({ protocol }) => protocol)).toEqual(["TCP_UDP"]);
    expect(
      h
        .rules()
        .filter((rule) => rule.includes("client="))
        .map((rule) => rule.split(" ")[0]),
    ).toEqual(["tcp", "udp"]);
  });

  test("reports TCP and UDP of one port with two node ports, and creates no load balancer", async () => {
    const h = await served(network, { ports: [tcpPort(53, 30_053), tcpPort(53, 30_054, "UDP")] });
    expect(h.cloud.account.network.all()).toEqual([]);
    expect(h.said()).toContain("Port 53 has TCP and UDP with different node ports");
  });

  test("creates a new target group before it deletes the old group when the health check interval changes", async () => {
    const h = await served(network);
    const [before] = h.cloud.account.network.targetGroups();
    h.world.annotate("web", { [`${prefix}healthcheck-interval`]: "10" });
    await h.settle();
    const [after, ...others] = h.cloud.account.network.targetGroups();
    expect(others).toEqual([]);
    expect([after?.name === before?.name, after?.check["HealthCheckIntervalSeconds"]]).toEqual([false, "10"]);
    expect(h.changes).toEqual([
      "CreateTargetGroup",
      "RegisterTargets",
      "ModifyListener",
      "DeleteTargetGroup",
    ]);
  });

  test("changes a TCP listener to TLS in place [F37]", async () => {
    const h = await served(network);
    h.world.annotate("web", { [`${prefix}ssl-cert`]: certificate });
    await h.settle();
    expect(
      h.cloud.account.network.listeners().map(({ protocol, certificate: own }) => [protocol, own]),
    ).toEqual([["TLS", certificate]]);
    expect(h.changes).toEqual(["ModifyListener"]);
  });

  test("registers new targets before it deregisters former targets", async () => {
    const h = await served(network);
    h.addNode("node-2");
    await h.settle(600);
    h.forget();
    h.addNode("node-3");
    h.world.removeNode("node-0");
    await h.settle(600);
    expect(h.changes).toEqual(["RegisterTargets", "DeregisterTargets"]);
  });

  test("opens its own security group for TLS with the protocol tcp if the operator requests a group", async () => {
    const settings = { "nlb-security-group-mode": "Managed" };
    const h = await served({ ...network, "ssl-cert": certificate }, { settings });
    const [group] = h.cloud.account.network.all()[0]?.groups ?? [];
    expect(h.rules(group)).toEqual(["icmp 3 4 0.0.0.0/0", "tcp 80 80 0.0.0.0/0"]);
    h.world.delete("web");
    await h.settle();
    expect(h.cloud.account.groups.get(group ?? "")).toBeUndefined();
  });

  test("keeps a target group that a user has attached to a listener", async () => {
    const h = await served(network);
    const { network: cloud } = h.cloud.account;
    const created = cloud.answer("CreateTargetGroup", { Name: "by-hand", Protocol: "TCP", Port: "30080" });
    expect(created).toBeDefined();
    const [listener] = cloud.listeners();
    const byHand = cloud.targetGroups().find(({ name }) => name === "by-hand");
    if (listener !== undefined) listener.group = byHand?.arn ?? "";
    await h.settle(3600);
    expect(cloud.targetGroups().map(({ name }) => name)).toContain("by-hand");
    expect(cloud.targetGroups().find(({ arn }) => arn === listener?.group)?.name).toMatch(
      /^k8s-default-web-/,
    );
  });

  test("uses the existing target groups for a load balancer that was recreated manually under its name", async () => {
    const h = await served(network);
    const { network: cloud } = h.cloud.account;
    const [before] = cloud.targetGroups();
    cloud.answer("DeleteLoadBalancer", { LoadBalancerArn: cloud.all()[0]?.arn ?? "" });
    cloud.answer("CreateLoadBalancer", {
      Name: h.nameOf(),
      Type: "network",
      SubnetMappings: [{ SubnetId: "subnet-00000000000000001" }],
    });
    await h.settle(3600);
    const [group, ...others] = cloud.targetGroups();
    expect([group?.name, others]).toEqual([before?.name, []] as never);
    expect(cloud.listeners().map(({ port, group: arn }) => [port, arn])).toEqual([
      ["80", group?.arn],
    ] as never);
    expect(group?.targets).toHaveLength(2);
    expect(h.said()).not.toContain("DuplicateTargetGroupName");
    h.forget();
    await h.settle(7200);
    expect(h.changes).toEqual([]);
    h.addNode("node-2");
    await h.settle(3600);
    expect([...new Set(h.changes)]).toEqual(["RegisterTargets"]);
  });

  test("reports a conflicting target group without tags, and the remedy", async () => {
    const h = await served(network);
    const { network: cloud } = h.cloud.account;
    const [group] = cloud.targetGroups();
    const [name, tags] = [group?.name, [...(group?.tags ?? [])]];
    h.world.delete("web");
    await h.settle(300);
    cloud.answer("CreateTargetGroup", { Name: name ?? "", Protocol: "TCP", Port: "1" });
    h.world.create("web", draft(network));
    await h.settle(300);
    const given = tags.map(([key, value]) => `${key}=${value}`).join(", ");
    expect(h.said()).toContain(
      `The target group ${name} exists already, and another load balancer has it, or it lacks tags of the Service. It is not changed, and its port is not served. Delete it, or detach it and give it the tags ${given}.`,
    );
    expect(cloud.targetGroups().map(({ port }) => port)).toEqual(["1"]);
    const [found] = cloud.targetGroups();
    for (const [key, value] of tags) found?.tags.set(key, value);
    await h.settle(7200);
    expect(cloud.targetGroups().map(({ port }) => port)).toEqual(["30080"]);
  });

  test("keeps the target group of a removed port that a user has attached to another load balancer", async () => {
    const h = await served(network, { ports: [tcpPort(80), tcpPort(81)] });
    const { network: cloud } = h.cloud.account;
    cloud.answer("CreateLoadBalancer", {
      Name: "by-hand",
      Type: "network",
      SubnetMappings: [{ SubnetId: "subnet-00000000000000001" }],
    });
    const group = cloud.targetGroups().find(({ port }) => port === "30081");
    cloud.answer("CreateListener", {
      LoadBalancerArn: cloud.all().find(({ name }) => name === "by-hand")?.arn ?? "",
      Port: "81",
      Protocol: "TCP",
      DefaultActions: [{ Type: "forward", TargetGroupArn: group?.arn ?? "" }],
    });
    await h.settle(3600);
    h.world.edit("web", (one) => ({ ...one, spec: { ...one.spec, ports: [tcpPort(80)] as never } }));
    await h.settle(600);
    expect(h.changes.filter((name) => name.startsWith("Delete"))).toEqual(["DeleteListener"]);
    expect(cloud.targetGroups().map(({ name }) => name)).toContain(group?.name as string);
  });

  test("creates no security group when the Service names one", async () => {
    const h = await served(network, { settings: { "nlb-security-group-mode": "Managed" } });
    const [id = ""] = h.cloud.account.network.all()[0]?.groups ?? [];
    h.cloud.account.groups.change(id, { tags: { "kubernetes.io/cluster/prod": "shared" } });
    await h.settle(3600);
    expect(h.said()).toContain("but not as owned");
    const given = h.addGroup("given");
    h.world.annotate("web", { [`${prefix}security-groups`]: given });
    await h.settle(3600);
    expect(h.cloud.account.network.all()[0]?.groups).toEqual([given]);
    expect(h.cloud.account.groups.get(id)).toBeDefined();
  });

  test("restores the security group of the load balancer when the annotation with a given group is removed", async () => {
    const h = await served(network, { settings: { "nlb-security-group-mode": "Managed" } });
    const groups = () => h.cloud.account.network.all()[0]?.groups.map((id) => h.cloud.account.groups.get(id));
    const [before] = groups() ?? [];
    const given = h.addGroup("given");
    h.world.annotate("web", { [`${prefix}security-groups`]: given });
    await h.settle();
    expect(h.groupNamed(before?.name ?? "")).toBeUndefined();
    h.world.annotate("web", { [`${prefix}security-groups`]: undefined });
    await h.settle();
    expect(groups()).toEqual([{ ...before, id: expect.any(String) }] as never);
    h.forget();
    await h.settle(3600);
    expect(h.changes).toEqual([]);
  });

  test("creates a dual-stack load balancer only if the source ranges can be enforced [F45]", async () => {
    const spec = { ipFamilies: ["IPv4", "IPv6"], ipFamilyPolicy: "PreferDualStack" };
    const types: (string | undefined)[] = [];
    for (const more of [{}, { loadBalancerSourceRanges: ["192.0.2.0/24"] }]) {
      const h = new BalancerWorld();
      for (const { id } of h.cloud.account.subnets.list())
        h.cloud.account.subnets.change(id, { ipv6: "2001:db8::/64" });
      await h.start();
      h.world.create("web", draft(network, [tcpPort(80)], { ...spec, ...more }));
      await h.settle();
      types.push(h.cloud.account.network.all()[0]?.ipType);
    }
    expect(types).toEqual(["dualstack", "ipv4"]);
  });
});

describe("any load balancer", () => {
  test("waits while the account's quota is reached, reports this, and creates the load balancer when the quota allows", async () => {
    const h = new BalancerWorld();
    h.cloud.account.classic.limit = 0;
    await h.start();
    h.world.create("web", draft());
    await h.settle(60);
    expect(h.said()).toContain("The quota of load balancers has been reached");
    expect(h.hostname()).toBeUndefined();
    h.cloud.account.classic.limit = 1;
    await h.settle(900);
    expect([h.cloud.account.classic.all().length, h.hostname()]).toEqual([1, expect.any(String)]);
    expect(h.changes.filter((one) => one === "CreateSecurityGroup")).toHaveLength(1);
  });

  test.each([
    ["classic", {}],
    ["network", network],
  ])(
    "takes over a %s load balancer without a change, and opens and closes only its own rules",
    async (_, annotations) => {
      const h = await served(annotations);
      const foreign = {
        ipProtocol: "tcp",
        fromPort: "22",
        toPort: "22",
        peer: "198.51.100.0/24",
        description: "by hand",
      };
      const { groups } = h.cloud.account;
      groups.change(h.group, { rules: [...groups.existing(h.group).rules, foreign] });
      await h.world.stop();
      h.forget();
      await h.start();
      await h.settle(600);
      expect(h.changes).toEqual([]);
      h.world.delete("web");
      await h.settle();
      expect(h.rules()).toEqual(["tcp 22 22 198.51.100.0/24 by hand"]);
      expect([
        ...h.cloud.account.classic.all(),
        ...h.cloud.account.network.all(),
        ...h.cloud.account.network.targetGroups(),
      ]).toEqual([]);
    },
  );

  test("keeps the type of a load balancer when the annotation changes, and reports the ineffective change [N11]", async () => {
    const h = await served();
    h.world.annotate("web", { [`${prefix}type`]: "nlb" });
    await h.settle();
    expect([h.cloud.account.classic.all().length, h.cloud.account.network.all().length]).toEqual([1, 0]);
    expect(h.said()).toContain(`${prefix}type cannot be changed after the load balancer is created`);
  });

  test("never changes a load balancer with the expected name and the tags of another cluster", async () => {
    const h = new BalancerWorld();
    await h.start();
    h.world.create("web", draft(network));
    await h.settle();
    const [balancer] = h.cloud.account.network.all();
    balancer?.tags.delete("kubernetes.io/cluster/prod");
    balancer?.tags.set("kubernetes.io/cluster/other", "owned");
    await h.settle(3600);
    h.forget();
    h.world.annotate("web", { [`${prefix}cross-zone-load-balancing-enabled`]: "true" });
    await h.settle(1200);
    expect(h.changes).toEqual([]);
    h.world.delete("web");
    await h.settle(300);
    expect(h.cloud.account.network.all()).toHaveLength(1);
  });

  test("restores the tags of a security group, unless they name another cluster", async () => {
    const h = await served();
    const { groups } = h.cloud.account;
    const own = h.groupNamed(`k8s-elb-${h.nameOf()}`);
    groups.change(own?.id ?? "", { tags: {} });
    await h.settle(3600);
    expect(groups.existing(own?.id ?? "").tags).toEqual(owned);
    groups.change(own?.id ?? "", { tags: { "kubernetes.io/cluster/other": "owned" } });
    h.forget();
    await h.settle(3600);
    expect(h.changes).toEqual([]);
    expect(h.said()).toContain("has tags of the cluster other");
  });

  test("leaves the rules of the Nodes unchanged if the operator requests unchanged rules", async () => {
    const h = await served(network, { settings: { "disable-security-group-ingress": "true" } });
    expect([h.rules(), h.cloud.account.network.all().length]).toEqual([[], 1]);
  });

  test("warns before the rules of a security group exceed EC2's usual quota", async () => {
    const ranges = Array.from({ length: 28 }, (_, index) => `192.0.2.${index}/32`);
    const h = await served(network, { spec: { loadBalancerSourceRanges: ranges } });
    expect(h.rules()).toHaveLength(59);
    h.world.edit("web", (service) => ({
      ...service,
      spec: { ...service.spec, loadBalancerSourceRanges: [...ranges, "198.51.100.0/24"] },
    }));
    await h.settle();
    expect(h.said()).toContain("gets 61 rules, and EC2 allows 60");
  });

  test("opens one of two tagged security groups of a Node, and reports a Node that has two untagged security groups", async () => {
    const h = new BalancerWorld({ nodes: 0 });
    const second = h.addGroup("second", owned);
    const [first, other] = [h.addGroup("first"), h.addGroup("other")];
    h.addNode("tagged", [h.group, second]);
    h.addNode("untagged", [first, other]);
    await h.start();
    h.world.create("web", draft(network));
    await h.settle(300);
    expect([h.rules(h.group).length, h.rules(second), h.rules(first), h.rules(other)]).toEqual([
      2,
      [],
      [],
      [],
    ]);
    expect(h.said()).toContain("Nodes have several security groups");
    expect(h.cloud.account.network.targetGroups()[0]?.targets).toHaveLength(2);
  });
});
