// Nodes of a whole manager on the real services of OpenStack, in real time: two projects of which one fails, a cell of Nova
// that is down, and 200 servers. Runs as `npm run test:clients -- openstack/servers`, and among the nightly tests.

import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openstack } from "../../../../providers/openstack/index.ts";
import { systemClock } from "../../../../src/platform/clock.ts";
import type { AnyProvider } from "../../../../src/provider/provider.ts";
import { Cluster } from "../../../clients/rig/cluster.ts";
import { until as untilItHolds } from "../../../cluster/rig/until.ts";
import { ApiClient } from "./rig/api.ts";
import { addServer, credentialsOf, type RealCloud, serversOf, startCloud, untilActive } from "./rig/cloud.ts";
import { urlOf } from "./rig/configuration.ts";
import { names } from "./rig/seed.ts";

let cloud: RealCloud;
let cluster: Cluster;
const folder = mkdtempSync(join(tmpdir(), "fairlead-openstack-"));

function openCluster(): Cluster {
  return new Cluster({
    provider: openstack as unknown as AnyProvider,
    prefix: "loadbalancer.openstack.org/",
    pathOf: ({ pathname, searchParams }) => {
      const path = pathname.replace(/^\/v\d[\d.]*/, "").replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "{id}");
      const [part] = ["marker", "name", "device_id"].filter((key) => searchParams.has(key));
      return part === undefined ? path : `${path}?${part}`;
    },
    flags: [
      "--cluster-name=prod",
      "--controllers=cloud-node,cloud-node-lifecycle",
      "--cloud-call-timeout=10m",
    ],
  });
}

function until<T>(what: string, probe: Parameters<typeof untilItHolds<T>>[1]): Promise<T> {
  const explain = () => [...cluster.refusals.slice(-5), ...cluster.logged.slice(-10)].join("\n");
  // The limit only ends a test that would never end: the services share the processors with other work.
  return untilItHolds(what, probe, { seconds: 1500, everyMs: 1000, explain });
}

const idOf = (node: string) => cluster.node(node)?.spec.providerID;
const initialized = (...nodes: readonly string[]) =>
  until(`the provider id of ${nodes.join(", ")}`, () =>
    nodes.every((name) => idOf(name) !== undefined && (cluster.node(name)?.spec.taints ?? []).length === 0),
  );

async function deleteServer(name: string): Promise<void> {
  type Server = { readonly id: string; readonly name: string };
  const all = await cloud.admin.list<Server>("nova", "/servers?all_tenants=true");
  const id = all.find((server) => server.name === name)?.id;
  await cloud.admin.send("nova", "DELETE", `/servers/${id}`);
}

beforeAll(async () => {
  cloud = await startCloud();
});
afterEach(() => cluster.stop());
afterAll(() => rmSync(folder, { recursive: true }));

/** Another project with a network and a user, and an entry for it in clouds.yaml, in another region. */
async function addProject(name: string) {
  const { admin } = cloud;
  const domain_id = "default";
  const { id } = await admin.create("keystone", "/projects", "project", { name, domain_id });
  const owner = await admin.create("keystone", "/users", "user", { name, domain_id, password: name });
  const roles = await admin.list<{ id: string; name: string }>("keystone", "/roles");
  const role = roles.find((one) => one.name === "member")?.id;
  await admin.send("keystone", "PUT", `/projects/${id}/users/${owner.id}/roles/${role}`);
  const user = await ApiClient.logIn(name, name);
  const network = await user.create("neutron", "/networks", "network", { name: names.nodes });
  const subnet = { network_id: network.id, cidr: "10.2.0.0/24", ip_version: 4, enable_dhcp: false };
  await user.create("neutron", "/subnets", "subnet", subnet);
  return { id, user };
}

/** Adds the same services under another region, as in the catalog of two regions. */
async function addRegion(region: string): Promise<void> {
  const { admin } = cloud;
  await admin.create("keystone", "/regions", "region", { id: region });
  const services = await admin.list<{ id: string; type: string }>("keystone", "/services");
  const urls = { compute: `${urlOf("nova")}/v2.1`, network: urlOf("neutron") };
  for (const [type, url] of Object.entries(urls)) {
    const service_id = services.find((one) => one.type === type)?.id;
    const endpoint = { service_id, region_id: region, interface: "public", url };
    await admin.create("keystone", "/endpoints", "endpoint", endpoint);
  }
}

/** Writes OpenStack's two configuration files. Returns the path of cloud.conf. */
async function writeFiles(user: ApiClient): Promise<string> {
  const own = Object.entries(cloud.config).map(([name, value]) => `${name} = ${value}`);
  const [conf, clouds] = [join(folder, "cloud.conf"), join(folder, "clouds.yaml")];
  const lines = [
    ...["[Global]", ...own, `clouds-file = ${clouds}`, "[LoadBalancer]", "enabled = false"],
    ...['[Scope "team-b"]', "cloud = team-b"],
  ];
  writeFileSync(conf, `${lines.join("\n")}\n`);
  const entries = Object.entries(await credentialsOf(user));
  const access = Object.fromEntries(entries.map(([key, value]) => [key.replaceAll("-", "_"), value]));
  const auth = { auth_url: cloud.config["auth-url"], ...access };
  writeFileSync(clouds, JSON.stringify({ clouds: { "team-b": { region_name: "RegionTwo", auth } } }));
  return conf;
}

test("a failing project leaves only its own Nodes unknown", async () => {
  const { admin, user } = cloud;
  const { id: project, user: other } = await addProject("team-b");
  await addRegion("RegionTwo");
  for (const name of ["near-1", "near-2"]) await addServer(user, name);
  await addServer(other, "far-1");
  await untilActive(user);
  await untilActive(other);
  cluster = openCluster();
  const file = await writeFiles(other);
  await cluster.start({ "regional-provider-ids": "true" }, `--cloud-config=${file}`);
  for (const [index, name] of ["near-1", "near-2", "far-1"].entries())
    cluster.joinNode(name, `10.244.${index}.0/24`);
  await initialized("near-1", "near-2", "far-1");
  expect(["near-1", "near-2", "far-1"].map((name) => idOf(name)?.split("/")[2])).toEqual([
    ...["RegionOne", "RegionOne", "RegionTwo"],
  ]);
  await deleteServer("far-1");
  await deleteServer("near-1");
  const enable = (enabled: boolean) =>
    admin.send("keystone", "PATCH", `/projects/${project}`, { project: { enabled } });
  await enable(false);
  const before = cluster.refusals.length;
  cluster.loseNode("far-1");
  // This Node comes before the other one, so that its proofs would be complete first.
  await until("a refusal", () => cluster.refusals.slice(before).some((one) => one.includes(": 401 ")));
  cluster.loseNode("near-1");
  await until("the deletion of near-1", () => cluster.node("near-1") === undefined);
  expect(idOf("far-1")).toStartWith("openstack://RegionTwo/");
  expect(idOf("near-2")).toStartWith("openstack://RegionOne/");
  await enable(true);
  await until("the deletion of far-1", () => cluster.node("far-1") === undefined);
  expect(idOf("near-2")).toStartWith("openstack://RegionOne/");
});

test("the Nodes of a cell that is down stay, and state the reason", async () => {
  const { stack, user, config } = cloud;
  await addServer(user, "old");
  await untilActive(user);
  cluster = openCluster();
  const flags = ["--absence-confirmation=1s"];
  await cluster.start({ ...config, "load-balancers-enabled": "false" }, ...flags);
  cluster.joinNode("old", "10.244.0.0/24");
  await initialized("old");
  const id = idOf("old");
  // The manager has not seen this server before the cell is down.
  await addServer(user, "new");
  await untilActive(user);
  const connect = async (database: string) => {
    const connection = `mysql+pymysql://os:os@${database}/nova`;
    const set = `UPDATE cell_mappings SET database_connection='${connection}' WHERE name='cell1'`;
    stack.sql(set, "nova_api");
    await stack.stop("nova");
    await stack.start("nova");
  };
  const conf = join(stack.root, "etc/nova/nova.conf");
  // Otherwise Nova tries to connect for 100 s before it responds.
  const impatient = readFileSync(conf, "utf8").replace("[database]", "[database]\nmax_retries = 0");
  writeFileSync(conf, impatient);
  await connect("127.0.0.1:1");
  expect(await serversOf(user)).toEqual([]);
  const before = cluster.count("/servers/{id}");
  cluster.loseNode("old");
  cluster.joinNode("new", "10.244.1.0/24");
  for (const name of ["old", "new"])
    await until("an event", () => cluster.events(name).includes("Nova cannot reach the cell of the server"));
  await until("more lookups", () => cluster.count("/servers/{id}") > before + 3);
  expect(cluster.node("old")?.spec.providerID).toBe(id);
  expect(cluster.node("new")?.spec).toMatchObject({ taints: [expect.anything()] });
  expect(cluster.node("new")?.spec.providerID).toBeUndefined();
  await connect("127.0.0.1");
  await initialized("new");
  await deleteServer("old");
  await until("the deletion", () => cluster.node("old") === undefined);
});

/**
 * Inserts copies of a server's row in a table. `changes` has expressions by column, in which `seq` counts the copies from 1.
 */
function copyRow(
  database: string,
  table: string,
  id: string,
  count: number,
  changes: Readonly<Record<string, string>>,
): void {
  const key = Object.keys(changes)[0] ?? "";
  const where = `table_schema = '${database}' AND table_name = '${table}' AND column_name <> 'id'`;
  const query = `SELECT column_name FROM information_schema.columns WHERE ${where}`;
  const columns = cloud.stack.sql(query).split("\n").filter(Boolean);
  const quoted = columns.map((column) => `\`${column}\``);
  const values = columns.map((column) => changes[column] ?? `\`${column}\``);
  const rows = `SELECT ${values} FROM ${table} JOIN seq_1_to_${count} WHERE ${key} = '${id}'`;
  cloud.stack.sql(`INSERT INTO ${table} (${quoted}) ${rows}`, database);
}

/**
 * Nova takes seconds to build a server. The others are copies of its records about one server, with ports that Neutron creates.
 */
async function addCrowd(count: number): Promise<void> {
  const { admin, user } = cloud;
  await addServer(user, "crowd");
  await untilActive(user);
  const id = (await serversOf(user)).find((server) => server.name === "crowd")?.id ?? "";
  const uuid = "CONCAT('00000000-0000-4000-8000-', LPAD(seq, 12, '0'))";
  const name = "CONCAT('crowd-', seq)";
  copyRow("nova", "instances", id, count - 1, { uuid, display_name: name, hostname: name });
  copyRow("nova", "instance_extra", id, count - 1, { instance_uuid: uuid });
  copyRow("nova", "instance_info_caches", id, count - 1, { instance_uuid: uuid, network_info: "'[]'" });
  copyRow("nova_api", "instance_mappings", id, count - 1, { instance_uuid: uuid });
  const [project] = await admin.list("keystone", `/projects?name=${names.project}`);
  const [network] = await user.list("neutron", `/networks?name=${names.nodes}`);
  const ports = Array.from({ length: count - 1 }, (_, index) => ({
    project_id: project?.id,
    network_id: network?.id,
    device_owner: "compute:nova",
    device_id: `00000000-0000-4000-8000-${String(index + 1).padStart(12, "0")}`,
    "binding:host_id": "fakehost",
  }));
  // In several requests, because a request must not take minutes.
  for (let first = 0; first < ports.length; first += 10)
    await admin.send("neutron", "POST", "/ports", { ports: ports.slice(first, first + 10) });
}

// This test comes last, because it exhausts the quota of the project.
test("200 servers become Nodes with one page of servers and one page of ports per listing", async () => {
  const { user, config } = cloud;
  await addCrowd(200);
  const servers = (await serversOf(user)).filter(({ name }) => name.startsWith("crowd"));
  expect(servers).toHaveLength(200);
  cluster = openCluster();
  for (const [index, { name }] of servers.entries()) cluster.joinNode(name, `10.244.${index}.0/24`);
  const began = systemClock.monotonic();
  await cluster.start({ ...config, "load-balancers-enabled": "false" });
  await initialized(...servers.map(({ name }) => name));
  // One check for all Nodes. Nodes that are not Ready are checked once a minute, on a grid, however long the services take.
  const listings = 2 + Math.floor((systemClock.monotonic() - began) / 60_000);
  expect(servers.map(({ name }) => idOf(name))).toEqual(servers.map(({ id }) => `openstack:///${id}`));
  const addresses = servers.map(({ name }) => cluster.node(name)?.status.addresses?.[0]?.address);
  expect(new Set(addresses).size).toBe(200);
  for (const path of ["/servers/detail", "/ports"]) {
    expect(cluster.count(path)).toBeGreaterThanOrEqual(1);
    expect(cluster.count(path)).toBeLessThanOrEqual(listings);
  }
  // Neither a further page nor a lookup of a single Node.
  expect(cluster.sent.filter((one) => /\?|\{id\}/.test(one))).toEqual([]);
});
