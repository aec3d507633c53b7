// openstacksdk and the openstack command read the load balancers that a manager has created in a simulated project. Runs as
// `npm run test:clients -- openstack/python`.

import { expect, test } from "bun:test";
import { serveCloud } from "#ccm/testing";
import { openstack } from "../../../../../providers/openstack/index.ts";
import {
  addExternalNetwork,
  addRouter,
  addServer,
  OpenStackCloud,
} from "../../../../../providers/openstack/simulator/index.ts";
import { milliseconds } from "../../../../../src/core/brand.ts";
import { systemClock } from "../../../../../src/platform/clock.ts";
import type { AnyProvider } from "../../../../../src/provider/provider.ts";
import { Cluster } from "../../../../clients/rig/cluster.ts";
import { readWithSDK } from "../rig/sdk.ts";

test("openstacksdk and the openstack command read the load balancers of a manager", async () => {
  const cloud = new OpenStackCloud({ clock: systemClock, times: { balancer: milliseconds(50) } });
  const secret = "s".repeat(32);
  cloud.keystone.applicationCredentials.set("fairlead", secret);
  addExternalNetwork(cloud.project);
  addRouter(cloud.project, "router-1");
  const nodes = ["node-0", "node-1"];
  for (const name of nodes) addServer(cloud.project, name);
  await using served = serveCloud(cloud, 0);
  const cluster = new Cluster({
    provider: openstack as unknown as AnyProvider,
    prefix: "loadbalancer.openstack.org/",
    pathOf: ({ pathname }) => pathname,
    flags: ["--cluster-name=prod", "--controllers=cloud-node,service"],
  });
  for (const [index, name] of nodes.entries()) cluster.joinNode(name, `10.244.${index}.0/24`);
  cluster.create("web", {}, [{ port: 80, nodePort: 30_080 }]);
  const ports = [
    { port: 443, nodePort: 30_443 },
    { port: 53, nodePort: 30_053, protocol: "UDP" },
  ];
  cluster.create("dns", { "enable-health-monitor": "true" }, ports);
  const settings = {
    "auth-url": `${served.url}/identity/v3`,
    region: "RegionOne",
    "application-credential-id": "fairlead",
    "application-credential-secret": secret,
  };
  await cluster.start(settings);
  const addressOf = (name: string) => cluster.addressesOf(name)[0] ?? "";
  const hasMembers = () =>
    cloud.balancing.pools.list().every(({ members }) => members.length === nodes.length);
  await cluster.until(
    "the addresses",
    () => addressOf("web") !== "" && addressOf("dns") !== "" && hasMembers(),
  );
  const expected = {
    kube_service_prod_default_web: { address: addressOf("web"), listeners: [["TCP", 80]], members: nodes },
    kube_service_prod_default_dns: {
      address: addressOf("dns"),
      members: nodes,
      listeners: [
        ["TCP", 443],
        ["UDP", 53],
      ],
    },
  } as const;
  const { isRead, output } = await readWithSDK(settings, expected);
  await cluster.stop();
  expect(output).toContain("(pass)");
  expect([isRead, isRead ? "" : output]).toEqual([true, ""]);
});
