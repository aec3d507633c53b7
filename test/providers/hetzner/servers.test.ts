// Cloud servers and dedicated servers as instances: ids, addresses, zones, labels.

import { expect, test } from "bun:test";
import { asTransport, collect, failureOf, type Harness, Lab } from "#ccm/testing";
import { harness, token } from "../../../providers/hetzner/simulator/harness.ts";
import { HetznerCloud as Cloud, type HetznerCloud } from "../../../providers/hetzner/simulator/index.ts";
import { messageOf } from "../../../src/core/error-message.ts";

function labWith(
  config: Readonly<Record<string, string>>,
  setUp: (cloud: HetznerCloud) => void,
): { readonly lab: Lab; readonly cloud: HetznerCloud } {
  let cloud: HetznerCloud | undefined;
  const own: Harness = {
    ...harness,
    config: { token, ...config },
    simulate: (clock) => {
      cloud = new Cloud({ clock });
      setUp(cloud);
      return { ...harness.simulate(clock), transport: asTransport(cloud) };
    },
  };
  const lab = new Lab(own);
  if (cloud === undefined) throw new Error("Expected a cloud.");
  return { lab, cloud };
}

async function instancesOf(lab: Lab, index = 0) {
  const source = lab.cloud.instances?.sources[index];
  if (source === undefined) throw new Error("Expected a source.");
  return (await lab.run((call) => collect(source.list(call)))).flat();
}

test("describes a Hetzner server as the Go manager does", async () => {
  const { lab, cloud } = labWith({ network: "cluster" }, ({ project: { networks, servers } }) => {
    const other = networks.add("other", {});
    const { id } = networks.add("cluster", {});
    servers.add("web-1", {
      networks: [{ network: other.id }, { network: id, ip: "10.0.0.7" }],
      type: "cpx11",
      location: "nbg1",
    });
  });
  const [server] = cloud.project.servers.list();
  expect(await instancesOf(lab)).toEqual([
    {
      key: String(server?.id),
      id: `hcloud://${server?.id}` as never,
      names: ["web-1"],
      title: "web-1",
      state: "running",
      handles: { "private-ip": "10.0.0.7", "public-ip": server?.ipv4 ?? "" },
      addresses: [
        { kind: "Hostname", value: "web-1" },
        { kind: "ExternalIP", value: server?.ipv4 ?? "" },
        { kind: "InternalIP", value: "10.0.0.7" },
      ],
      type: "cpx11",
      region: "nbg1",
      zone: "nbg1-dc3",
      labels: { "instance.hetzner.cloud/provided-by": "cloud" },
      cloudLabels: {},
    },
  ]);
});

test("returns the labels of a server [F107]", async () => {
  const labels = { team: "web", "example.com/rack": "r1" };
  const { lab } = labWith({}, ({ project }) => project.servers.add("web-1", { labels }));
  expect((await instancesOf(lab))[0]?.cloudLabels).toEqual(labels);
});

test.each([
  ["ipv4", ["198.18.0.1"]],
  ["ipv6", ["2001:db8:0:1::1"]],
  ["dualstack", ["198.18.0.1", "2001:db8:0:1::1"]],
] as const)("publishes the external addresses of family %s [F7]", async (family, addresses) => {
  const { lab } = labWith({ "instances-address-family": family }, ({ project }) =>
    project.servers.add("web-1"),
  );
  const [instance] = await instancesOf(lab);
  const external = instance?.addresses.flatMap(({ kind, value }) => (kind === "ExternalIP" ? value : []));
  expect(external).toEqual([...addresses]);
});

test("describes a server without public addresses and network", async () => {
  const { lab } = labWith({ "instances-address-family": "dualstack" }, ({ project }) =>
    project.servers.add("web-1", { ipv4: false, ipv6: false }),
  );
  const [instance] = await instancesOf(lab);
  expect(instance?.addresses).toEqual([{ kind: "Hostname", value: "web-1" }]);
});

test("keeps the zones of labeled Nodes, and reports no zones if zones are disabled", async () => {
  const places = [...["nbg1", "hel1", "fsn1", "ash", "hil", "sin"]] as const;
  const setUp = ({ project }: HetznerCloud) => {
    for (const location of places) project.servers.add(location, { location });
  };
  const { lab } = labWith({}, setUp);
  expect((await instancesOf(lab)).map(({ zone }) => zone)).toEqual([
    "nbg1-dc3",
    "hel1-dc2",
    "fsn1-dc14",
    "ash-dc1",
    "hil-dc1",
    "sin-dc1",
  ]);
  const { lab: without } = labWith({ "instances-zone-label-enabled": "false" }, setUp);
  expect((await instancesOf(without)).map(({ zone }) => zone)).toEqual(places.map(() => undefined));
});

test("recognizes every form of provider ids that any version has written", () => {
  const { lab } = labWith(
    { "robot-enabled": "true", "robot-user": "robot", "robot-password": "robot" },
    () => {},
  );
  const ids = [
    "hcloud://42",
    "hrobot://321",
    "hcloud://bm-321",
    "hcloud://",
    "hcloud://x",
    "aws:///a/i-1",
    "hrobot://x",
  ];
  const known = lab.cloud.instances?.sources.map((source) => ids.map((id) => source.keyOf(id)));
  expect(known).toEqual([
    ["42", undefined, undefined, undefined, undefined, undefined, undefined],
    [undefined, "321", "321", undefined, undefined, undefined, undefined],
  ]);
});

test("reports a network that does not exist", async () => {
  const { lab } = labWith({ network: "missing" }, ({ project }) => project.servers.add("web-1"));
  const failure = await instancesOf(lab).catch((error: unknown) => String(error));
  expect(failure).toContain(
    'The network "missing" does not exist in this project. Its networks: none. Correct HCLOUD_NETWORK',
  );
});

const robot = {
  "robot-enabled": "true",
  "robot-user": "robot",
  "robot-password": "robot",
  "instances-address-family": "dualstack",
};

test("describes a dedicated server as the Go manager does [F73]", async () => {
  const { lab } = labWith(robot, ({ project }) =>
    project.robot.add("metal-1", { product: "AX41 NVMe (SSD)", dc: "HEL1-DC2" }),
  );
  expect(await instancesOf(lab, 1)).toEqual([
    {
      key: "321",
      id: "hrobot://321" as never,
      names: ["metal-1"],
      title: "metal-1",
      handles: { ip: "192.0.2.65" },
      addresses: [
        { kind: "Hostname", value: "metal-1" },
        { kind: "ExternalIP", value: "2001:db8:2:141::1" },
        { kind: "ExternalIP", value: "192.0.2.65" },
      ],
      keepsInternalIPs: ["IPv4", "IPv6"],
      type: "AX41-NVMe-SSD",
      region: "hel1",
      zone: "hel1-dc2",
      labels: { "instance.hetzner.cloud/provided-by": "robot" },
    },
  ]);
});

test("looks up whether a dedicated server is switched off", async () => {
  const { lab, cloud } = labWith(robot, ({ project }) => project.robot.add("metal-1"));
  const find = (key: string) =>
    lab.run(async (call) => lab.cloud.instances?.sources[1]?.lookups?.id?.find([key], call));
  expect((await find("321"))?.get("321")?.[0]?.state).toBe("running");
  cloud.project.robot.change(321, { isOff: true });
  expect((await find("321"))?.get("321")?.[0]?.state).toBe("stopped");
  expect(await find("999")).toEqual(new Map([["999", []]]));
});

test("treats only SERVER_NOT_FOUND as the absence of a dedicated server", async () => {
  const { lab, cloud } = labWith(robot, ({ project }) => project.robot.add("metal-1"));
  const find = () =>
    lab.run(async (call) => lab.cloud.instances?.sources[1]?.lookups?.id?.find(["321"], call));
  const operation = "robot GET /server/{id}";
  cloud.faults.add({ kind: "status", status: 404, code: "NOT_FOUND", operation });
  expect(messageOf(await failureOf(find()))).toContain("[NOT_FOUND]");
  cloud.faults.add({ kind: "status", status: 404, code: "SERVER_NOT_FOUND", operation });
  expect(await find()).toEqual(new Map([["321", []]]));
});
