// Several regions and projects: their servers are Nodes, a failing scope leaves only its own Nodes
// unknown, and everything else is in the project and region of [Global].

import { describe, expect, test } from "bun:test";
import { Secret } from "#ccm";
import { config, secret } from "../../../providers/openstack/simulator/harness.ts";
import {
  addServer,
  type OpenStackCloud,
  removeServer,
} from "../../../providers/openstack/simulator/index.ts";
import type { Node } from "../../../src/kube/objects.ts";
import type { KubeObject } from "../../../src/testing/apiserver/objects/kube-object.ts";
import { resourceNamed } from "../../../src/testing/apiserver/objects/resource-table.ts";
import { toNode } from "../../support/api-server-nodes.ts";
import { uninitialized } from "../../support/node-controllers.ts";
import { besideCloud, instancesOf, type LabOptions, labWith } from "./openstack-lab.ts";
import { draft, OpenStackWorld } from "./openstack-world.ts";

const two = [{ name: "two", region: "RegionTwo" }];
const json = (scopes: readonly object[]) => JSON.stringify(scopes);

/** A lab with a second cloud, and the instance titles from all sources. */
function withSecond(options: LabOptions, place: { region?: string; project?: string }) {
  let far: OpenStackCloud | undefined;
  const { lab, cloud } = labWith({
    ...options,
    beside: (first, clock) => {
      const { cloud: other, transport } = besideCloud(first, clock, place);
      far = other;
      return transport;
    },
  });
  if (far === undefined) throw new Error("Expected a second cloud.");
  addServer(cloud.project, "near-1");
  addServer(far.project, "far-1");
  const found = async () => {
    const all = (lab.cloud.instances?.sources ?? []).map(async (source) => [
      source.name,
      (await lab.list((call) => source.list(call))).map(({ title, region }) => `${title} in ${region}`),
    ]);
    return Object.fromEntries(await Promise.all(all)) as unknown;
  };
  return { lab, cloud, far, found };
}

describe("a section [Scope]", () => {
  test("a section [Scope] with a region lists its servers with one page of servers, one page of ports, and two tokens [F73]", async () => {
    const { cloud, far, found } = withSecond({ settings: { scopes: json(two) } }, {});
    expect(await found()).toEqual({ Global: ["near-1 in RegionOne"], two: ["far-1 in RegionTwo"] });
    const pages = { "GET /network/v2.0/ports": 1, "GET /compute/v2.1/servers/detail": 1 };
    expect(far.counts()).toEqual(pages);
    expect(cloud.counts()).toEqual({ ...pages, "POST /identity/v3/auth/tokens": 4 });
  });

  test("a section [Scope] with tenant-id lists the servers of another project of the user [F73]", async () => {
    const settings = {
      "application-credential-id": undefined,
      "application-credential-secret": undefined,
      username: "demo",
      password: "pw",
      "tenant-name": "demo",
      "domain-id": "default",
      scopes: json([{ name: "other", "tenant-id": "p2" }]),
    };
    const { cloud, found } = withSecond({ settings }, { region: "RegionOne", project: "p2" });
    cloud.keystone.passwords.set("demo", "pw");
    expect(await found()).toEqual({ Global: ["near-1 in RegionOne"], other: ["far-1 in RegionOne"] });
  });

  test("a section [Scope] with a cloud uses no credentials from [Global] [F73]", async () => {
    const file = `clouds: { c: { region_name: RegionTwo, auth: { auth_url: "${config["auth-url"]}", username: demo, password: pw, project_id: p2 } } }`;
    const inputs = { file: (path: string) => (path === "/c.yaml" ? new Secret(file) : undefined) };
    const settings = { "clouds-file": "/c.yaml", scopes: json([{ name: "other", cloud: "c" }]) };
    const { cloud, found } = withSecond({ settings, inputs }, { project: "p2" });
    cloud.keystone.passwords.set("demo", "pw");
    expect(await found()).toEqual({ Global: ["near-1 in RegionOne"], other: ["far-1 in RegionTwo"] });
    const bodies = cloud.seen
      .filter(({ operation }) => operation.startsWith("POST"))
      .map(({ body }) => JSON.stringify(body));
    const [ofGlobal, ofCloud] = [secret, '"pw"'].map((one) => bodies.filter((body) => body.includes(one)));
    expect([ofGlobal?.length, ofCloud?.length, bodies.length]).toEqual([2, 2, 4]);
  });

  test("a section [Scope] with the servers of [Global] is reported by its name", async () => {
    const file = `clouds: { c: { region_name: RegionOne, auth: { auth_url: "${config["auth-url"]}", application_credential_id: fairlead, application_credential_secret: ${secret} } } }`;
    const inputs = { file: () => new Secret(file) };
    const settings = { scopes: json([...two, { name: "same", cloud: "c" }]) };
    const { lab } = withSecond({ settings, inputs }, {});
    const problems = await lab.run(async (call) => lab.cloud.checkSettings?.(call) ?? []);
    expect(problems.map(({ text }) => text)).toEqual([
      '[Scope "same"] leads to the project and region of [Global], so each server there is found twice, and its Node stays as it is. Correct region, tenant-id or cloud of the section, or remove it.',
    ]);
  });
});

test("the region of clouds.yaml is in the label and in regional provider ids", async () => {
  const file = `clouds: { c: { region_name: RegionOne, auth: { auth_url: "${config["auth-url"]}", application_credential_id: fairlead, application_credential_secret: ${secret} } } }`;
  const settings = { region: undefined, cloud: "c", "regional-provider-ids": "true" };
  const { lab } = labWith(
    { settings, inputs: { file: () => new Secret(file) } },
    ({ project }) => void addServer(project, "node-1"),
  );
  const [instance] = await instancesOf(lab);
  expect([instance?.region, instance?.id.startsWith("openstack://RegionOne/")]).toEqual(["RegionOne", true]);
  expect(lab.cloud.instances?.sources[0].keyOf("openstack://RegionOne/11")).toBe("11");
});

/** Nodes of two regions: `near-1` and `far-1` are initialized. */
class TwoRegions extends OpenStackWorld {
  readonly other: OpenStackCloud;

  constructor(isRegional: boolean) {
    super({ nodes: 0, scopes: two, settings: { "regional-provider-ids": String(isRegional) } });
    if (this.far === undefined) throw new Error("Expected a second cloud.");
    this.other = this.far;
    this.join("near-1", this.cloud);
    this.join("far-1", this.other);
  }

  /** A kubelet registers a new Node. */
  join(name: string, cloud: OpenStackCloud): void {
    addServer(cloud.project, name);
    const node = toNode({ name, uid: `uid-${name}`, spec: { taints: [uninitialized] } });
    const status = { conditions: [{ type: "Ready", status: "True" }] };
    this.world.server.store.put(resourceNamed("nodes"), { ...node, status } as Node as unknown as KubeObject);
  }

  /** Removes the servers and stops their kubelets. */
  lose(name: string, cloud: OpenStackCloud): void {
    removeServer(cloud.project, name);
    this.world.setReady(name, "Unknown");
  }

  /** The provider ids without the ids of servers. */
  ids(): Readonly<Record<string, string>> {
    const all = this.world.server.store.list("nodes") as unknown as readonly Node[];
    return Object.fromEntries(
      all.map(({ metadata: { name }, spec }) => [
        name,
        (spec.providerID ?? "").replace(/[0-9a-f-]{36}$/, ""),
      ]),
    );
  }

  override start(...flags: readonly string[]): Promise<void> {
    return super.start("--controllers=cloud-node,cloud-node-lifecycle", ...flags);
  }

  failFar(): void {
    this.other.faults.add({ kind: "status", status: 503, calls: 1e9 });
  }
}

describe("Nodes of two regions", () => {
  test("Nodes of two regions are initialized, each with its own region [F73]", async () => {
    const h = new TwoRegions(true);
    await h.start();
    await h.settle(60);
    expect(h.ids()).toEqual({ "near-1": "openstack://RegionOne/", "far-1": "openstack://RegionTwo/" });
    const regionOf = (name: string) =>
      h.world.server.store.get("nodes", undefined, name)?.metadata.labels?.["topology.kubernetes.io/region"];
    expect([regionOf("near-1"), regionOf("far-1")]).toEqual(["RegionOne", "RegionTwo"]);
    await h.world.stop();
  });

  test("Nodes of a failing region are unknown, and Nodes of the other region are deleted with their servers [F73 F23]", async () => {
    const h = new TwoRegions(true);
    await h.start();
    await h.settle(60);
    h.failFar();
    h.lose("near-1", h.cloud);
    h.lose("far-1", h.other);
    await h.settle(1200);
    expect(Object.keys(h.ids())).toEqual(["far-1"]);
    h.other.faults.clear();
    await h.settle(1200);
    expect(Object.keys(h.ids())).toEqual([]);
    await h.world.stop();
  });

  test("Nodes without a region in their ids are deleted only when no region has the server [F23]", async () => {
    const h = new TwoRegions(false);
    await h.start();
    await h.settle(60);
    expect(h.ids()).toEqual({ "near-1": "openstack:///", "far-1": "openstack:///" });
    h.failFar();
    h.lose("near-1", h.cloud);
    // The far server runs, and its Node must not be lost because the other region does not have the server.
    h.world.setReady("far-1", "Unknown");
    await h.settle(1200);
    expect(Object.keys(h.ids()).toSorted()).toEqual(["far-1", "near-1"]);
    h.other.faults.clear();
    await h.settle(1200);
    expect(Object.keys(h.ids())).toEqual(["far-1"]);
    await h.world.stop();
  });

  test("Nodes of two regions wait with a message that names the region that does not answer", async () => {
    const h = new TwoRegions(true);
    h.failFar();
    await h.start();
    await h.settle(120);
    expect(h.ids()).toEqual({ "near-1": "", "far-1": "" });
    expect(h.events("near-1")).toContain(
      'in Global matches Node "near-1", but there may be another match: source two did not answer',
    );
    h.other.faults.clear();
    await h.settle(300);
    expect(h.ids()).toEqual({ "near-1": "openstack://RegionOne/", "far-1": "openstack://RegionTwo/" });
    await h.world.stop();
  });
});

describe("load balancers and routes, which only [Global] has", () => {
  const podRange = (index: number) => ({
    podCIDR: `10.244.${index}.0/24`,
    podCIDRs: [`10.244.${index}.0/24`],
  });

  /** Initialized Nodes in both regions, whose provider ids have no region. */
  function withBoth(settings: Readonly<Record<string, string>> = {}): OpenStackWorld {
    const h = new OpenStackWorld({ nodes: 0, scopes: two, settings });
    h.addNode("near-1", h.cloud, podRange(1));
    h.addNode("far-1", h.far, podRange(2));
    return h;
  }

  test("load balancers have no targets in other regions, and a Service without any other target reports this", async () => {
    const h = withBoth();
    await h.start();
    h.world.create("web", draft());
    await h.settle();
    const members = h.cloud.balancing.pools.list().flatMap((pool) => pool.members.map(({ name }) => name));
    expect(members).toEqual(["near-1"]);
    expect(h.events()).not.toContain("TargetsUnreachable");
    h.world.removeNode("near-1");
    await h.settle();
    expect(h.events()).toContain(
      "1 of 1 Nodes cannot be targets of this load balancer: their servers are in the scope two, and load balancers are in the project and region of [Global] (far-1).",
    );
    await h.world.stop();
  });

  test("a router has no routes to Nodes in other regions, and the Node reports why [F62]", async () => {
    const h = withBoth({ "router-id": "router-1" });
    await h.start("--controllers=node-route", "--cluster-cidr=10.244.0.0/16");
    await h.settle();
    const { routes } = h.cloud.project.routers.existing("router-1");
    expect(routes.map(({ destination }) => destination)).toEqual(["10.244.1.0/24"]);
    expect(h.events("far-1")).toContain(
      "No route table of the cloud serves the instance of this Node (in two). No route is created for pod CIDR 10.244.2.0/24.",
    );
    await h.world.stop();
  });
});
