// Servers as instances: ids, addresses in the Go manager's order, zones, and requests.

import { describe, expect, test } from "bun:test";
import { addressesOf, type Networking } from "../../../providers/openstack/addresses.ts";
import type { ApiPort } from "../../../providers/openstack/resources.ts";
import { addServer, type OpenStackCloud } from "../../../providers/openstack/simulator/index.ts";
import { cidr } from "../../../src/core/cidr.ts";
import { instancesOf, labWith } from "./openstack-lab.ts";

const port = (status: string, ...addresses: readonly string[]): ApiPort => ({
  id: "p",
  device_id: "s",
  network_id: "n",
  status,
  fixed_ips: addresses.map((ip_address) => ({ subnet_id: "sub", ip_address })),
});
const fixed = (addr: string) => ({ addr, "OS-EXT-IPS:type": "fixed" });
const floating = (addr: string) => ({ addr, "OS-EXT-IPS:type": "floating" });

/** The server in the Go manager's test of addresses. */
const server = {
  id: "s",
  name: "node-1",
  status: "ACTIVE",
  accessIPv4: "50.56.176.99",
  accessIPv6: "2001:4800:790e:510:be76:4eff:fe04:82a8",
  metadata: { hostname: "a1-yinvcez57-0-bvynoyawrhcg-kube-minion-fg5i4jwcc2yy" },
  addresses: {
    private: [
      ...[fixed("10.0.0.32"), floating("50.56.176.36")],
      ...["10.0.0.31", "10.0.0.33", "10.0.0.34", "10.0.0.35"].map((addr) => ({ addr })),
    ],
    public: ["50.56.176.35", "2001:4800:780e:510:be76:4eff:fe04:84a8"].map((addr) => ({ addr })),
  },
};
const ports = [port("ACTIVE", "10.0.0.32"), port("ACTIVE", "10.0.0.31"), port("DOWN", "10.0.0.99")];
const networking: Networking = {
  "ipv6-support-disabled": false,
  "public-network-name": ["public"],
  "internal-network-name": undefined,
  "address-sort-order": undefined,
};
const hostname = "a1-yinvcez57-0-bvynoyawrhcg-kube-minion-fg5i4jwcc2yy";
const texts = (changes: Partial<Networking>, subports: Parameters<typeof addressesOf>[1]["subports"] = []) =>
  addressesOf(server, { ports, subports }, { ...networking, ...changes }).map(
    ({ kind, value }) => `${kind} ${value}`,
  );

describe("addresses", () => {
  const rest = ["InternalIP 10.0.0.33", "InternalIP 10.0.0.34", "InternalIP 10.0.0.35"];
  const v6 = "ExternalIP 2001:4800:790e:510:be76:4eff:fe04:82a8";
  const publicV6 = "ExternalIP 2001:4800:780e:510:be76:4eff:fe04:84a8";

  test("addresses of servers are in the Go manager's order [F7]", () => {
    expect(texts({})).toEqual([
      ...[
        "InternalIP 10.0.0.32",
        "InternalIP 10.0.0.31",
        "ExternalIP 50.56.176.99",
        v6,
        `Hostname ${hostname}`,
      ],
      ...["ExternalIP 50.56.176.36", ...rest, "ExternalIP 50.56.176.35", publicV6],
    ]);
  });

  test("addresses of servers exclude IPv6 if requested", () => {
    expect(texts({ "ipv6-support-disabled": true }).filter((text) => text.includes(":"))).toEqual([]);
  });

  test("addresses of servers exclude networks other than the internal one", () => {
    expect(texts({ "internal-network-name": ["other"] })).toEqual([
      ...["ExternalIP 50.56.176.99", v6, `Hostname ${hostname}`, "ExternalIP 50.56.176.36"],
      ...["ExternalIP 50.56.176.35", publicV6],
    ]);
  });

  test("addresses of servers in a public network are not internal", () => {
    expect(
      texts({ "public-network-name": ["private"] }).filter((text) => text.startsWith("InternalIP")),
    ).toEqual(["InternalIP 50.56.176.35", "InternalIP 2001:4800:780e:510:be76:4eff:fe04:84a8"]);
  });

  test("addresses of servers are sorted by the configured ranges, and within each range", () => {
    expect(
      texts({ "address-sort-order": [cidr("50.56.176.0/24"), cidr("10.0.0.31/32")] }).slice(0, 5),
    ).toEqual([
      ...["ExternalIP 50.56.176.35", "ExternalIP 50.56.176.36", "ExternalIP 50.56.176.99"],
      ...["InternalIP 10.0.0.31", "InternalIP 10.0.0.32"],
    ]);
  });

  test("addresses of subports belong to the network of the subports", () => {
    expect(
      texts({}, [{ network: "a-vlan", port: port("ACTIVE", "192.0.2.7") }]).indexOf("InternalIP 192.0.2.7"),
    ).toBe(5);
  });
});

const addTo = ({ project }: OpenStackCloud) =>
  addServer(project, "node-1", { "OS-EXT-AZ:availability_zone": "az 1/x." });

test("describes an OpenStack server as the Go manager does [F3]", async () => {
  const { lab, cloud } = labWith({}, (one) => void addTo(one));
  const id = cloud.project.servers.existing("node-1").id;
  const [found] = cloud.project.ports.list();
  const address = found?.fixed_ips[0];
  expect(await instancesOf(lab)).toEqual([
    {
      key: id,
      id: `openstack:///${id}` as never,
      names: ["node-1"],
      title: "node-1",
      state: "running",
      handles: {
        [address?.ip_address ?? ""]: `${found?.id} ${address?.subnet_id} ${found?.network_id} true`,
      },
      addresses: [{ kind: "InternalIP", value: address?.ip_address ?? "" }],
      type: "m1.small",
      region: "RegionOne",
      zone: "az-1-x",
      cloudLabels: {},
    },
  ]);
});

test("returns the metadata of a server without another request [F107]", async () => {
  const metadata = { team: "web", "example.com/rack": "r1" };
  const { lab, cloud } = labWith({}, ({ project }) => void addServer(project, "node-1", { metadata }));
  expect((await instancesOf(lab))[0]?.cloudLabels).toEqual(metadata);
  expect(Object.keys(cloud.counts()).some((operation) => operation.includes("metadata"))).toBe(false);
});

test("writes the region into provider ids if the setting requires it", async () => {
  const { lab } = labWith({ settings: { "regional-provider-ids": "true" } }, (one) => void addTo(one));
  const [instance] = await instancesOf(lab);
  expect(instance?.id).toStartWith("openstack://RegionOne/");
});

test.each([
  ["openstack:///11", "11"],
  ["openstack://RegionOne/11", "11"],
  ["openstack://RegionTwo/11", undefined],
  ["/11", "11"],
  ["11", undefined],
  ["openstack://11", undefined],
])("reads the provider id %p as %p", (id, key) => {
  const { lab } = labWith({});
  expect(lab.cloud.instances?.sources[0].keyOf(id)).toBe(key as string);
});

test("uses the id of a flavor whose name is not a valid label", async () => {
  const flavor = { original_name: "m1 small", vcpus: 1, ram: 1 };
  const { lab } = labWith({}, ({ project }) => void addServer(project, "node-1", { flavor }));
  expect((await instancesOf(lab)).map(({ type }) => type)).toEqual(["flavor-1"]);
});

test("lists 200 servers with two pages of servers and of ports [F9]", async () => {
  const { lab, cloud } = labWith({ pageSize: 100 }, ({ project }) => {
    for (let index = 0; index < 200; index += 1) addServer(project, `node-${index}`);
  });
  expect(await instancesOf(lab)).toHaveLength(200);
  expect(cloud.counts()).toEqual({
    "POST /identity/v3/auth/tokens": 2,
    "GET /network/v2.0/ports": 2,
    "GET /compute/v2.1/servers/detail": 2,
  });
});

test("reports the addresses of a trunk's subports by their network", async () => {
  const { lab } = labWith({}, ({ project }) => {
    const { id } = addServer(project, "node-1");
    const { ports: all, networks, ids } = project;
    const vlan = networks.put({ id: ids.uuid(), name: "vlan", "router:external": false, subnets: [] });
    const [own] = all.list();
    if (own === undefined) throw new Error("Expected a port.");
    const sub = { ...own, id: ids.uuid(), device_id: "trunk", network_id: vlan.id };
    all.put({ ...sub, fixed_ips: [{ subnet_id: "s", ip_address: "192.0.2.9" }] });
    all.change(own.id, {
      device_id: id,
      trunk_details: { trunk_id: "trunk", sub_ports: [{ port_id: sub.id }] },
    });
  });
  const [instance] = await instancesOf(lab);
  expect(instance?.addresses.map(({ value }) => value)).toContain("192.0.2.9");
});
