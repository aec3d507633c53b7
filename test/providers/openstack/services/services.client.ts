// A whole manager against the real services of OpenStack, in real time. It runs
// as `npm run test:clients -- openstack/services`, and among the nightly tests.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { openstack } from "../../../../providers/openstack/index.ts";
import type { AnyProvider } from "../../../../src/app/connect-cloud.ts";
import { Cluster } from "../../../clients/rig/cluster.ts";
import { until as untilItHolds } from "../../../cluster/rig/until.ts";
import { readWithSDK } from "../clients/rig/sdk.ts";
import { ApiClient, type Json } from "./rig/api.ts";
import { urlOf } from "./rig/configuration.ts";
import { names } from "./rig/seed.ts";
import { ServiceStack } from "./rig/stack.ts";

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
  // Octavia answers one request after the other here, and the machine may be slow.
  flags: ["--cluster-name=prod", "--cluster-cidr=10.244.0.0/16", "--cloud-call-timeout=10m"],
});
/** Asks once a second, because Octavia answers one request after the other. */
function until<T>(what: string, probe: Parameters<typeof untilItHolds<T>>[1]): Promise<T> {
  const explain = () => [...cluster.refusals.slice(-5), ...cluster.logged.slice(-10)].join("\n");
  // The time only ends a test that would wait for ever: the services share the processors with others.
  return untilItHolds(what, probe, { seconds: 1500, everyMs: 1000, explain });
}

let stack: ServiceStack;
let user: ApiClient;
let admin: ApiClient;
let config: Readonly<Record<string, string>>;

const nodePort = (index: number) => 30_000 + index;
const balancers = () => user.list<Balancer>("octavia", "/loadbalancers");
const floatingIPs = () => user.list<FloatingIP>("neutron", "/floatingips");
const nameOf = (service: string) => `kube_service_prod_default_${service}`;
const mutations = () =>
  cluster.sent.filter((one) => !one.startsWith("GET ") && !one.endsWith("/auth/tokens"));

/** How many load balancers Octavia has created: it keeps rows of deleted ones. An answer may come too late, so requests say less. */
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

async function addServer(name: string): Promise<void> {
  const [image] = await user.list("glance", "/images");
  const [network] = await user.list("neutron", `/networks?name=${names.nodes}`);
  const server = { name, flavorRef: "1", imageRef: image?.id, networks: [{ uuid: network?.id }] };
  await user.create("nova", "/servers", "server", server);
}

/** Before that, the scheduler finds no host. */
async function isComputing(): Promise<boolean> {
  type Found = { readonly services: readonly { readonly state: string }[] };
  const { services } = await admin.send<Found>("nova", "GET", "/os-services?binary=nova-compute");
  return services.some(({ state }) => state === "up");
}

beforeAll(async () => {
  const [packages = "", databases = ""] = (process.env["FAIRLEAD_OPENSTACK_FOLDERS"] ?? "").split(":");
  stack = ServiceStack.fresh(packages, databases);
  await stack.start("mariadb", "rabbitmq");
  await stack.start("keystone", "placement", "glance", "neutron", "octavia", "worker");
  await stack.start("nova", "conductor", "scheduler", "compute");
  user = await ApiClient.logIn(names.project, names.project);
  admin = await ApiClient.logIn("admin", "admin");
  const credential = await user.create(
    "keystone",
    `/users/${user.userID}/application_credentials`,
    "application_credential",
    { name: "fairlead", secret: "s".repeat(32) },
  );
  const [router] = await user.list("neutron", "/routers");
  config = {
    "auth-url": `${urlOf("keystone")}/v3`,
    region: "RegionOne",
    "application-credential-id": credential.id,
    "application-credential-secret": "s".repeat(32),
    "router-id": router?.id ?? "",
  };
  await until("nova-compute to be up", isComputing);
  stack.run(["nova-manage", "cell_v2", "discover_hosts"]);
  for (const index of [0, 1, 2]) await addServer(`node-${index}`);
  const servers = () => user.list<Json & { id: string; status: string }>("nova", "/servers/detail");
  await until("the servers", async () => (await servers()).every(({ status }) => status === "ACTIVE"));
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

/** Of every fourth one of these Services. */
const annotations: readonly Readonly<Record<string, string>>[] = [
  {},
  { "enable-health-monitor": "true" },
  { "proxy-protocol": "v2" },
  { "x-forwarded-for": "true", "connection-limit": "100" },
];
const web = Array.from({ length: 20 }, (_, index) => `web-${index}`);

test("20 new Services get 20 load balancers, and Octavia refuses nothing as immutable", async () => {
  for (const [index, name] of web.entries())
    cluster.create(name, annotations[index % annotations.length] ?? {}, [
      { port: 80, nodePort: nodePort(index) },
      // Each fourth one terminates HTTP, which is for TCP only.
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

test("openstacksdk and the openstack command read the load balancers", async () => {
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

test("a restarted manager changes nothing", async () => {
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
  // Octavia accepts it for some seconds more.
  let limit = 5;
  await until("another token", () => {
    limit += 1;
    cluster.annotate("patient", { "connection-limit": String(limit) });
    return cluster.lastHeaders["x-auth-token"] !== token;
  });
  await until("the last change", () => limited(limit)());
});
