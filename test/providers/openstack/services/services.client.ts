// A whole manager's load balancers, routes and volumes on the real OpenStack services, in real time: failures, and complete
// cleanup. Runs as `npm run test:clients -- openstack/services`, and among the nightly tests.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { failureOf } from "#ccm/testing";
import { openstack } from "../../../../providers/openstack/index.ts";
import { connectCloud } from "../../../../src/app/connect-cloud.ts";
import { minutes } from "../../../../src/core/brand.ts";
import { systemClock } from "../../../../src/platform/clock.ts";
import { systemRandom } from "../../../../src/platform/random.ts";
import { systemTransport } from "../../../../src/platform/transport.ts";
import type { AnyProvider } from "../../../../src/provider/provider.ts";
import type { VolumeSource } from "../../../../src/provider/volumes.ts";
import { CloudVolumes } from "../../../../src/volumes/csi/cloud-volumes.ts";
import { Cluster } from "../../../clients/rig/cluster.ts";
import { until as untilItHolds } from "../../../cluster/rig/until.ts";
import { readWithSDK } from "../clients/rig/sdk.ts";
import type { ApiClient, Json } from "./rig/api.ts";
import { addServer, startCloud, untilActive } from "./rig/cloud.ts";
import { names } from "./rig/seed.ts";
import type { ServiceStack } from "./rig/stack.ts";

interface Balancer extends Json {
  readonly id: string;
  readonly name: string;
  readonly provisioning_status: string;
  readonly vip_port_id: string;
}

interface FloatingIP extends Json {
  readonly id: string;
  readonly floating_ip_address: string;
  readonly port_id: string | null;
}

const prefix = "loadbalancer.openstack.org/";
const creation = "POST /lbaas/loadbalancers";
const cluster = new Cluster({
  provider: openstack as unknown as AnyProvider,
  prefix,
  pathOf: ({ pathname }) =>
    pathname.replace(/^\/v\d[\d.]*/, "").replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "{id}"),
  // This Octavia answers one request after the other, and the machine may be slow.
  flags: ["--cluster-name=prod", "--cluster-cidr=10.244.0.0/16", "--cloud-call-timeout=10m"],
});
/** Asks once a second, because Octavia answers one request after the other. */
function until<T>(what: string, probe: Parameters<typeof untilItHolds<T>>[1]): Promise<T> {
  const explain = () => [...cluster.refusals.slice(-5), ...cluster.logged.slice(-10)].join("\n");
  // The limit only ends a test that would never end: the services share the processors with other work.
  return untilItHolds(what, probe, { seconds: 1500, everyMs: 1000, explain });
}

let stack: ServiceStack;
let user: ApiClient;
let admin: ApiClient;
let config: Readonly<Record<string, string>>;

const missing = "00000000-0000-4000-8000-000000000000";

/** The volumes of the provider, as `csi-controller` uses them. */
function openVolumes(settings: Readonly<Record<string, string>>): CloudVolumes {
  const life = new AbortController().signal;
  const { connected } = connectCloud(
    openstack as unknown as AnyProvider,
    { environment: {}, given: new Map(Object.entries(settings)), cluster: "prod" },
    {
      transport: systemTransport,
      clock: systemClock,
      random: systemRandom,
      signal: life,
      deadline: minutes(10),
      mayMutate: () => true,
      report: () => undefined,
    },
  );
  const volumes = connected?.cloud.volumes;
  if (volumes === undefined) throw new Error("OpenStack has volumes.");
  return new CloudVolumes({ volumes, pending: undefined, clock: systemClock, life });
}

const nodePort = (index: number) => 30_000 + index;
const balancers = () => user.list<Balancer>("octavia", "/loadbalancers");
const floatingIPs = () => user.list<FloatingIP>("neutron", "/floatingips");
const nameOf = (service: string) => `kube_service_prod_default_${service}`;
const mutations = () =>
  cluster.sent.filter((one) => !one.startsWith("GET ") && !one.endsWith("/auth/tokens"));

/**
 * The number of load balancers that Octavia has created: it keeps the rows of deleted ones. Requests alone
 * prove less, because a response may come too late.
 */
const createdCount = () => Number(stack.sql("SELECT COUNT(*) FROM load_balancer", "octavia"));

async function balancerOf(service: string): Promise<Balancer> {
  const found = (await balancers()).find(({ name }) => name === nameOf(service));
  if (found === undefined) throw new Error(`${service} has no load balancer.`);
  return found;
}

const addressed = (...services: readonly string[]) =>
  until(`an address of ${services.join(", ")}`, () =>
    services.every((name) => cluster.addressesOf(name).length > 0),
  );

const reported = (service: string, text: string) =>
  until(`an event of ${service} with "${text}"`, () => cluster.events(service).includes(text));

/** Deletes Services, and waits until the manager has removed their finalizers. */
async function remove(...services: readonly string[]): Promise<void> {
  for (const name of services) cluster.delete(name);
  const left = () => cluster.services().map(({ metadata }) => metadata.name);
  await until("the deletion", () => !left().some((name) => services.includes(name)));
}

beforeAll(async () => {
  const cloud = await startCloud("octavia", "worker", "cinder", "volumeScheduler", "volumes");
  ({ stack, user, admin } = cloud);
  const [router] = await user.list("neutron", "/routers");
  config = { ...cloud.config, "router-id": router?.id ?? "" };
  for (const index of [0, 1, 2]) await addServer(user, `node-${index}`);
  await untilActive(user);
  for (const index of [0, 1]) cluster.joinNode(`node-${index}`, `10.244.${index}.0/24`);
  await cluster.start(config);
});
afterAll(() => cluster.stop());

test("Nodes get the addresses of their servers, and routes to their pods", async () => {
  const addressOf = (name: string) =>
    cluster.node(name)?.status.addresses?.find(({ type }) => type === "InternalIP")?.address;
  await until("the Nodes", () => [0, 1].every((index) => addressOf(`node-${index}`) !== undefined));
  type Router = Json & { id: string; routes: readonly { destination: string; nexthop: string }[] };
  const routes = async () => (await user.list<Router>("neutron", "/routers"))[0]?.routes ?? [];
  await until("the routes", async () => (await routes()).length === 2);
  const sorted = (await routes()).toSorted((one, other) => (one.destination < other.destination ? -1 : 1));
  expect(sorted).toEqual(
    [0, 1].map((index) => ({
      destination: `10.244.${index}.0/24`,
      nexthop: addressOf(`node-${index}`) ?? "",
    })),
  );
  type Port = Json & { allowed_address_pairs: readonly { ip_address: string }[] };
  const pairs = (await user.list<Port>("neutron", "/ports")).flatMap(({ allowed_address_pairs: all }) =>
    all.map(({ ip_address }) => ip_address),
  );
  expect(pairs.filter((one) => one.startsWith("10.244.")).toSorted()).toEqual([
    "10.244.0.0/24",
    "10.244.1.0/24",
  ]);
});

/** The annotations of every fourth Service. */
const annotations: readonly Readonly<Record<string, string>>[] = [
  {},
  { "enable-health-monitor": "true" },
  { "proxy-protocol": "v2" },
  { "x-forwarded-for": "true", "connection-limit": "100" },
];
const web = Array.from({ length: 20 }, (_, index) => `web-${index}`);

test("20 new Services get 20 load balancers, and Octavia rejects no request as immutable", async () => {
  for (const [index, name] of web.entries())
    cluster.create(name, annotations[index % annotations.length] ?? {}, [
      { port: 80, nodePort: nodePort(index) },
      // Each fourth Service terminates HTTP, which is for TCP only.
      { port: 53, nodePort: nodePort(100 + index), protocol: "UDP" },
    ]);
  await addressed(...web);
  expect(createdCount()).toBe(20);
  expect(cluster.refusals.filter((one) => one.includes(": 409 "))).toEqual([]);
  const all = await balancers();
  expect(all.map(({ provisioning_status: status }) => status)).toEqual(all.map(() => "ACTIVE"));
  const addresses = (await floatingIPs()).map((one) => one.floating_ip_address).toSorted();
  expect(web.flatMap((name) => cluster.addressesOf(name)).toSorted()).toEqual(addresses);
});

test("a Node that joins becomes a member of all pools, and a changed annotation changes one listener", async () => {
  const before = cluster.sent.length;
  cluster.joinNode("node-2", "10.244.2.0/24");
  await until("the members", async () => {
    const pools = await user.list<Json & { members: readonly unknown[] }>("octavia", "/pools");
    return pools.length === 2 * web.length && pools.every(({ members }) => members.length === 3);
  });
  cluster.annotate("web-0", { "connection-limit": "77" });
  const listeners = async () => {
    const { id } = await balancerOf("web-0");
    return user.list<Json & { connection_limit: number }>("octavia", `/listeners?loadbalancer_id=${id}`);
  };
  await until("the limit", async () =>
    (await listeners()).every(({ connection_limit: limit }) => limit === 77),
  );
  expect(cluster.sent.slice(before)).not.toContain(creation);
  expect(cluster.refusals.filter((one) => one.includes(": 409 "))).toEqual([]);
});

test("openstacksdk and the openstack command read the load balancers on the real services", async () => {
  const isActive = ({ provisioning_status: status }: Balancer) => status === "ACTIVE";
  await until("the last change to end", async () => (await balancers()).every(isActive));
  const expected = web.map((name, index) => {
    const protocol = index % annotations.length === 3 ? "HTTP" : "TCP";
    const listeners = [[protocol, 80] as const, ["UDP", 53] as const];
    const members = ["node-0", "node-1", "node-2"];
    return [nameOf(name), { address: cluster.addressesOf(name)[0] ?? "", listeners, members }] as const;
  });
  const { isRead, output } = await readWithSDK(config, Object.fromEntries(expected));
  expect([isRead, isRead ? "" : output]).toEqual([true, ""]);
});

test("a restarted manager changes nothing on the real services", async () => {
  await cluster.stop();
  const before = mutations().length;
  const requests = cluster.sent.length;
  await cluster.start(config);
  await until("a look at all load balancers", () => cluster.sent.length - requests > 3 * web.length);
  expect(mutations().slice(before)).toEqual([]);
});

test("a load balancer waits while the worker of Octavia is down", async () => {
  await stack.stop("worker");
  const [count, before] = [createdCount(), cluster.sent.length];
  cluster.create("patient", {}, [{ port: 80, nodePort: nodePort(200) }]);
  await until(
    "the load balancer",
    async () => (await balancerOf("patient")).provisioning_status === "PENDING_CREATE",
  );
  const waits = () => cluster.sent.slice(before).filter((one) => one === "GET /lbaas/loadbalancers").length;
  await until("more looks at it", () => waits() > 20);
  await stack.start("worker");
  await addressed("patient");
  expect(createdCount()).toBe(count + 1);
});

test("a change succeeds after Keystone was restarted, and after the token was revoked", async () => {
  await stack.stop("keystone");
  cluster.annotate("patient", { "connection-limit": "5" });
  await until("an error", () => cluster.refusals.some((one) => /: (503|500|401) /.test(one)));
  await stack.start("keystone");
  const limited = (limit: number) => async () => {
    const { id } = await balancerOf("patient");
    const path = `/listeners?loadbalancer_id=${id}`;
    const [listener] = await user.list<Json & { connection_limit: number }>("octavia", path);
    return listener?.connection_limit === limit;
  };
  await until("the change", limited(5));
  const token = cluster.lastHeaders["x-auth-token"] ?? "";
  expect(token).not.toBe("");
  await admin.revoke(token);
  // Octavia accepts the revoked token for some more seconds.
  let limit = 5;
  await until("another token", () => {
    limit += 1;
    cluster.annotate("patient", { "connection-limit": String(limit) });
    return cluster.lastHeaders["x-auth-token"] !== token;
  });
  await until("the last change", () => limited(limit)());
});

test("a load balancer in ERROR stays, and is changed again after its repair", async () => {
  cluster.create("broken", {}, [{ port: 80, nodePort: nodePort(203) }]);
  await addressed("broken");
  const { id } = await balancerOf("broken");
  const set = (status: string) =>
    stack.sql(`UPDATE load_balancer SET provisioning_status='${status}' WHERE id='${id}'`, "octavia");
  set("ERROR");
  cluster.annotate("broken", { "connection-limit": "9" });
  await reported("broken", "openstack loadbalancer failover");
  expect((await balancerOf("broken")).provisioning_status).toBe("ERROR");
  set("ACTIVE");
  await until("the change", async () => {
    const [one] = await user.list<Json & { connection_limit: number }>(
      "octavia",
      `/listeners?loadbalancer_id=${id}`,
    );
    return one?.connection_limit === 9;
  });
});

test("recreates manually deleted parts and the floating IP, and leaves nothing behind", async () => {
  const ports = [80, 81, 82].map((port, index) => ({ port, nodePort: nodePort(204 + index) }));
  cluster.create("damaged", { "enable-health-monitor": "true" }, ports);
  await addressed("damaged");
  const { id, vip_port_id: port } = await balancerOf("damaged");
  const of = <T = Json & { id: string }>(kind: string) =>
    user.list<T>("octavia", `/${kind}?loadbalancer_id=${id}`);
  const isActive = async () => (await balancerOf("damaged")).provisioning_status === "ACTIVE";
  const remove = async (path: string) => {
    await until("Octavia to be ready", isActive);
    await user.send("octavia", "DELETE", path);
  };
  const portOf = (kind: string) => async (wanted: number) => {
    const all = await of<Json & { id: string; protocol_port: number; default_pool_id: string }>("listeners");
    const found = all.find(({ protocol_port }) => protocol_port === wanted);
    return kind === "listeners" ? found?.id : found?.default_pool_id;
  };
  await remove(`/listeners/${await portOf("listeners")(80)}`);
  await remove(`/pools/${await portOf("pools")(81)}`);
  const monitors = () =>
    user.list<Json & { id: string; pools: readonly { id: string }[] }>("octavia", "/healthmonitors");
  const pool = await portOf("pools")(82);
  const monitor = (await monitors()).find(({ pools: [one] }) => one?.id === pool);
  await remove(`/healthmonitors/${monitor?.id}`);
  const floating = (await floatingIPs()).find(({ port_id }) => port_id === port);
  await user.send("neutron", "PUT", `/floatingips/${floating?.id}`, { floatingip: { port_id: null } });
  await until("Octavia to be ready", isActive);
  cluster.annotate("damaged", { "connection-limit": "11" });
  await until("the parts", async () => {
    const [listeners, pools] = [
      await of<Json & { default_pool_id: string | null }>("listeners"),
      await of("pools"),
    ];
    const all = await monitors();
    const used = listeners.map(({ default_pool_id }) => default_pool_id).toSorted();
    return (
      listeners.length === 3 &&
      Bun.deepEquals(used, pools.map((pool) => pool.id).toSorted()) &&
      pools.every((pool) => all.some(({ pools: [one] }) => one?.id === pool.id)) &&
      (await isActive())
    );
  });
  await until("the same address", async () => {
    const now = (await floatingIPs()).find(({ port_id }) => port_id === port)?.floating_ip_address;
    return now === floating?.floating_ip_address && cluster.addressesOf("damaged")[0] === now;
  });
});

test("reports a quota of zero, and creates the load balancer when the quota is raised", async () => {
  const [project] = await admin.list("keystone", `/projects?name=${names.project}`);
  const quota = (load_balancer: number) =>
    admin.send("octavia", "PUT", `/quotas/${project?.id}`, { quota: { load_balancer } });
  await quota(0);
  cluster.create("limited", {}, [{ port: 80, nodePort: nodePort(201) }]);
  await reported("limited", "Quota has been met");
  await quota(-1);
  cluster.annotate("limited", { "connection-limit": "3" });
  await addressed("limited");
});

test("reports two external networks, and keeps the load balancer of a network without a free address", async () => {
  const settings = { name: "other", "router:external": true, "provider:network_type": "local" };
  const other = await admin.create("neutron", "/networks", "network", settings);
  // One address for the router, and one for a floating IP.
  await admin.create("neutron", "/subnets", "subnet", {
    network_id: other.id,
    cidr: "198.51.100.0/29",
    ip_version: 4,
    enable_dhcp: false,
    allocation_pools: [{ start: "198.51.100.2", end: "198.51.100.3" }],
  });
  const gateway = { name: "other", external_gateway_info: { network_id: other.id } };
  const router = await user.create("neutron", "/routers", "router", gateway);
  const [network] = await user.list("neutron", `/networks?name=${names.nodes}`);
  const port = await user.create("neutron", "/ports", "port", { network_id: network?.id });
  await user.send("neutron", "PUT", `/routers/${router.id}/add_router_interface`, { port_id: port.id });
  cluster.create("undecided", {}, [{ port: 80, nodePort: nodePort(202) }]);
  await reported("undecided", "There are several external networks");
  expect((await balancers()).map(({ name }) => name)).not.toContain(nameOf("undecided"));
  const taken = await user.create("neutron", "/floatingips", "floatingip", { floating_network_id: other.id });
  cluster.annotate("undecided", { "floating-network-id": other.id });
  await reported("undecided", "No more IP addresses available");
  expect((await balancerOf("undecided")).provisioning_status).toBe("ACTIVE");
  expect(cluster.addressesOf("undecided")).toEqual([]);
  await user.send("neutron", "DELETE", `/floatingips/${taken.id}`);
  // Nothing reports the free address: the next attempt finds it.
  await addressed("undecided");
  expect(cluster.addressesOf("undecided")).toEqual([taken["floating_ip_address"] as string]);
  await remove("undecided");
  await user.send("neutron", "PUT", `/routers/${router.id}/remove_router_interface`, { port_id: port.id });
  await user.send("neutron", "DELETE", `/routers/${router.id}`);
  await admin.send("neutron", "DELETE", `/networks/${other.id}`);
});

test("a volume is created, attached, expanded while it is in use, detached and deleted", async () => {
  const volumes = openVolumes(config);
  const { signal } = new AbortController();
  const gibibyte = 2 ** 30;
  const claim = { namespace: "default", name: "data", volume: "pvc-1" };
  const wanted = { name: "pvc-1", range: { size: gibibyte, limit: 10 * gibibyte }, places: [] };
  const parameters = { type: undefined, availability: undefined };
  const made = await volumes.create({ ...wanted, parameters, claim }, signal);
  expect([made.state, made.size, made.attachedTo]).toEqual(["ready", gibibyte, []]);
  const [shown] = await user.list<Json & { metadata: object }>("cinder", "/volumes/detail");
  expect(shown).toMatchObject({
    id: made.id,
    name: "pvc-1",
    status: "available",
    metadata: { "cinder.csi.openstack.org/cluster": "prod", "csi.storage.k8s.io/pvc/name": "data" },
  });
  const again = await volumes.create({ ...wanted, parameters, claim }, signal);
  expect(again.id).toBe(made.id);
  const servers = await user.list<Json & { id: string; name: string }>("nova", "/servers");
  const [one, two] = ["node-0", "node-1"].map((name) => servers.find((each) => each.name === name)?.id ?? "");
  if (one === undefined || two === undefined) throw new Error("Expected two servers.");
  expect((await volumes.attach(made.id, one, signal)).attachedTo).toEqual([one]);
  expect((await volumes.attach(made.id, one, signal)).device).toStartWith("/dev/");
  expect(await failureOf(volumes.attach(made.id, two, signal))).toMatchObject({
    code: "FAILED_PRECONDITION",
  });
  expect(await failureOf(volumes.attach(made.id, missing, signal))).toMatchObject({
    code: "FAILED_PRECONDITION",
  });
  expect(await failureOf(volumes.remove(made.id, signal))).toMatchObject({ code: "FAILED_PRECONDITION" });
  const expanded = await volumes.expand(made.id, { size: 2 * gibibyte, limit: 10 * gibibyte }, signal);
  expect([expanded.size, expanded.attachedTo]).toEqual([2 * gibibyte, [one]]);
  expect(await volumes.detach(made.id, one, signal)).toBe(true);
  expect(await failureOf(volumes.attach(made.id, missing, signal))).toMatchObject({ code: "NOT_FOUND" });
  expect(await volumes.remove(made.id, signal)).toBe(true);
  expect(await user.list("cinder", "/volumes")).toEqual([]);
});

test("restores a volume from a snapshot with a larger size, and clones another volume", async () => {
  const volumes = openVolumes(config);
  const { snapshots } = volumes;
  if (snapshots === undefined) throw new Error("OpenStack has snapshots.");
  const { signal } = new AbortController();
  const create = (name: string, gibibytes: number, source?: VolumeSource) => {
    const size = gibibytes * 2 ** 30;
    const parameters = { type: undefined, availability: undefined };
    const wanted = { name, range: { size, limit: size }, places: [], parameters, claim: undefined, source };
    return volumes.create(wanted, signal);
  };
  const original = await create("pvc-3", 1);
  const { id } = await snapshots.create({ name: "snapshot-1", volumeID: original.id }, signal);
  const isReady = async () => (await snapshots.find(id, signal))?.state === "ready";
  await until("the snapshot", isReady);
  const shown = await snapshots.find(id, signal);
  expect([shown?.name, shown?.volumeID, shown?.size]).toEqual(["snapshot-1", original.id, 2 ** 30]);
  expect(Math.abs((shown?.createdAt?.getTime() ?? 0) - systemClock.now())).toBeLessThan(minutes(30));
  const restored = await create("pvc-4", 2, { kind: "snapshot", id });
  const clone = await create("pvc-5", 1, { kind: "volume", id: original.id });
  expect([restored.size, clone.size]).toEqual([2 ** 31, 2 ** 30]);
  expect(await failureOf(volumes.remove(original.id, signal))).toMatchObject({
    message: expect.stringContaining("snapshots"),
  });
  expect(await snapshots.remove(id, signal)).toBe(true);
  for (const volume of [original, restored, clone])
    expect(await volumes.remove(volume.id, signal)).toBe(true);
  expect(await user.list("cinder", "/volumes")).toEqual([]);
  expect(await user.list("cinder", "/snapshots")).toEqual([]);
});

test("reports an exhausted quota of volumes, and deletes a volume that has no backend", async () => {
  const volumes = openVolumes(config);
  const { signal } = new AbortController();
  const [project] = await admin.list("keystone", `/projects?name=${names.project}`);
  const quota = (count: number) =>
    admin.send("cinder", "PUT", `/os-quota-sets/${project?.id}`, { quota_set: { volumes: count } });
  const range = { size: 2 ** 30, limit: 2 ** 31 };
  const create = (size = range.size) =>
    volumes.create(
      {
        name: "pvc-2",
        range: { size, limit: size },
        places: [],
        claim: undefined,
        parameters: { type: undefined, availability: undefined },
      },
      signal,
    );
  await quota(0);
  expect(await failureOf(create())).toMatchObject({
    code: "RESOURCE_EXHAUSTED",
    message: expect.stringContaining("VolumeLimitExceeded"),
  });
  await quota(10);
  await admin.send("cinder", "PUT", `/os-quota-sets/${project?.id}`, { quota_set: { gigabytes: -1 } });
  // The only backend has 1,000 GiB.
  expect(await failureOf(create(5000 * 2 ** 30))).toMatchObject({
    code: "RESOURCE_EXHAUSTED",
    message: expect.stringContaining("could not create the volume pvc-2"),
  });
  expect(await user.list("cinder", "/volumes")).toEqual([]);
});

test("deleted Services leave nothing behind, neither in Octavia nor in Neutron", async () => {
  await remove(...cluster.services().map(({ metadata }) => metadata.name));
  await cluster.stop();
  await cluster.start({ ...config, "manage-security-groups": "true" });
  const ended = annotations.map((_, index) => `ended-${index}`);
  for (const [index, name] of ended.entries())
    cluster.create(name, annotations[index] ?? {}, [{ port: 80, nodePort: nodePort(210 + index) }]);
  await addressed(...ended);
  type Port = Json & { readonly security_groups: readonly string[] };
  const groups = async () =>
    (await user.list<Json & { id: string; name: string }>("neutron", "/security-groups")).filter(({ name }) =>
      name.startsWith("lb-sg-"),
    );
  const openPorts = async () => {
    const ids = (await groups()).map(({ id }) => id);
    const ports = await user.list<Port>("neutron", "/ports?device_owner=compute:nova");
    return ports.filter(({ security_groups: all }) => ids.every((id) => all.includes(id))).length;
  };
  const nodes = cluster.server.store.list("nodes").length;
  await until("a security group per Service on every Node", async () => {
    return (await groups()).length === ended.length && (await openPorts()) === nodes;
  });
  await remove(...ended);
  const parts = ["loadbalancers", "listeners", "pools", "healthmonitors"].map((kind) =>
    user.list("octavia", `/${kind}`),
  );
  expect((await Promise.all(parts)).flat()).toEqual([]);
  expect(await floatingIPs()).toEqual([]);
  expect(await groups()).toEqual([]);
});
