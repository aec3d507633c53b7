import { afterEach, describe, expect, test } from "bun:test";
import { asTransport as asCloud } from "#ccm/testing";
import { milliseconds, seconds } from "../../../src/core/brand.ts";
import type { Transport } from "../../../src/platform/transport.ts";
import type { KubeObject } from "../../../src/testing/apiserver/objects/kube-object.ts";
import { resourceNamed } from "../../../src/testing/apiserver/objects/resource-table.ts";
import { type CommandOptions, runCommandIn } from "../../support/command-world.ts";
import { ServiceWorld } from "../../support/service-world.ts";

// The command `cleanup`, as an operator runs it with the fake cloud, whose marks name the cluster.

let world: ServiceWorld | undefined;
afterEach(() => world?.stop());

const newWorld = (): ServiceWorld => {
  world = new ServiceWorld();
  return world;
};

const cleanup = (w: ServiceWorld, args: readonly string[] = [], options: CommandOptions = {}) =>
  runCommandIn(
    w,
    [
      ...[
        "cleanup",
        "--master=http://test-api-server",
        "--cluster-name=prod",
        "--cluster-cidr=10.244.0.0/16",
      ],
      ...args,
    ],
    options,
  );

const addBalancer = (w: ServiceWorld, owner: string, cluster = "prod") =>
  w.cloud.balancers.create({
    name: `lb-${owner}`,
    labels: { cluster, "managed-by": "fairlead", "owner-uid": owner },
  });

const addRoute = (w: ServiceWorld, destination: string, machine: string, cluster = "prod") =>
  w.cloud.routes.create({ destination, machine, labels: { cluster } });

const ownersIn = (w: ServiceWorld) => w.owners();
const routesIn = (w: ServiceWorld) => w.cloud.routes.list().map(({ destination }) => destination);
const changesOf = ({ kube, cloud }: { kube: readonly string[]; cloud: readonly string[] }) =>
  [...kube, ...cloud].filter((request) => !request.startsWith("GET "));

/** Runs something while a load balancer is deleted. */
const onDeletion = (w: ServiceWorld, work: () => void) =>
  (async (request, signal) => {
    if (request.method === "DELETE") work();
    return asCloud(w.cloud)(request, signal);
  }) satisfies Transport;

const gone = {
  others: ({ url }: { readonly url: string }): undefined => {
    if (url.startsWith("http://test-api-server"))
      throw Object.assign(new Error("refused"), { code: "ECONNREFUSED" });
  },
};

const putLease = (w: ServiceWorld, holderIdentity: string, renewTime = "2026-01-01T00:00:00.000000Z") => {
  const lease = {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name: "cloud-controller-manager", namespace: "kube-system", uid: "lease" },
    spec: { holderIdentity, leaseDurationSeconds: 15, renewTime },
  };
  w.server.store.put(resourceNamed("leases"), lease as unknown as KubeObject);
};

describe("cleanup lists", () => {
  test("cleanup lists names, owners and addresses with exit code 3, and sends no change without a terminal [N6 F56]", async () => {
    const w = newWorld();
    const { ip } = addBalancer(w, "uid-gone");
    addRoute(w, "10.244.9.0/24", "m-gone");
    const result = await cleanup(w);
    expect(result.code).toBe(3);
    expect(result.out).toContain(
      `Left by the cluster prod:\n\n  load balancer b1\n    owner:   uid-gone (no such Service exists)\n    address: ${ip}\n  route 10.244.9.0/24\n    target:  m-gone\n`,
    );
    expect(result.out).toContain("Left: 1 load balancer and 1 route.");
    expect(result.err).toContain("run cleanup again with --yes");
    expect(changesOf(result)).toEqual([]);
  });

  test("cleanup lists the same objects as JSON, and asks no question even at a terminal [N6 F56]", async () => {
    const w = newWorld();
    const { ip } = addBalancer(w, "uid-gone");
    const typed = () => {
      throw new Error("asked");
    };
    const result = await cleanup(w, ["-o", "json"], { typed });
    expect(result.code).toBe(3);
    expect(JSON.parse(result.out).leftovers).toEqual([
      { kind: "load balancer", name: "b1", owners: ["uid-gone"], addresses: [ip] },
    ]);
    expect(changesOf(result)).toEqual([]);
  });

  test("cleanup lists nothing with exit code 0 if nothing is left [N6 F56]", async () => {
    const result = await cleanup(newWorld(), ["--yes"]);
    expect(result).toMatchObject({ code: 0, err: "" });
    expect(result.out).toContain("Left: nothing.");
  });

  test("cleanup lists everything else with exit code 1 if the routes cannot be listed [N6 F56]", async () => {
    const w = newWorld();
    addBalancer(w, "uid-gone");
    w.cloud.faults.add({ operation: "GET /routes", kind: "status", status: 500, calls: 1000 });
    const result = await cleanup(w);
    expect(result.code).toBe(1);
    expect(result.out).toContain("Routes could not be listed: ");
    expect(result.out).toContain("Left: 1 load balancer, and what could not be listed.");
    expect(result.out).toContain("load balancer b1");
  });
});

describe("cleanup asks", () => {
  test.each(["no", "", "y"])("cleanup changes nothing after the answer %p [N6 F56]", async (answer) => {
    const w = newWorld();
    addBalancer(w, "uid-gone");
    const result = await cleanup(w, [], { typed: () => answer });
    expect(result.code).toBe(3);
    expect(result.err).toContain("Delete 1 load balancer for good? Type yes: ");
    expect(changesOf(result)).toEqual([]);
    expect(ownersIn(w)).toEqual(["uid-gone"]);
  });

  test("cleanup deletes the listed objects after yes, but no object that appeared since [N6 F56]", async () => {
    const w = newWorld();
    addBalancer(w, "uid-gone");
    addRoute(w, "10.244.9.0/24", "m-gone");
    const typed = () => {
      addBalancer(w, "uid-later");
      addRoute(w, "10.244.8.0/24", "m-gone");
      return "yes";
    };
    const result = await cleanup(w, [], { typed });
    expect([result.code, ownersIn(w), routesIn(w)]).toEqual([0, ["uid-later"], ["10.244.8.0/24"]]);
    expect(result.out).toEndWith("Deleted 1 load balancer and 1 route.\n");
  });

  test("cleanup keeps objects that came into use after its question [N6 F56]", async () => {
    const w = newWorld();
    addBalancer(w, "uid-gone");
    const typed = () => {
      const web = w.create("web");
      const restored = { ...web, metadata: { ...web.metadata, uid: "uid-gone" } };
      w.server.store.put(resourceNamed("services"), restored as unknown as KubeObject);
      return "yes";
    };
    const result = await cleanup(w, [], { typed });
    expect(changesOf(result)).toEqual([]);
    expect(ownersIn(w)).toEqual(["uid-gone"]);
  });
});

describe("cleanup --yes", () => {
  test("with two clusters in one project, cleanup --yes deletes exactly the objects of its cluster [N6 F56]", async () => {
    const w = newWorld();
    for (const owner of ["uid-1", "uid-2", "uid-3"]) addBalancer(w, owner);
    addBalancer(w, "uid-other", "staging");
    w.cloud.balancers.create({ name: "by-hand", labels: {} });
    addRoute(w, "10.244.9.0/24", "m-gone");
    addRoute(w, "10.244.10.0/24", "m-gone", "staging");
    addRoute(w, "10.99.0.0/24", "m-gone");
    const result = await cleanup(w, ["--yes"]);
    expect(result.code).toBe(0);
    expect(w.cloud.balancers.list().map(({ name }) => name)).toEqual(["lb-uid-other", "by-hand"]);
    expect(routesIn(w)).toEqual(["10.244.10.0/24", "10.99.0.0/24"]);
    expect(result.kube.filter((request) => !request.startsWith("GET "))).toEqual([]);
  });

  test("cleanup --yes keeps the load balancers of existing Services and the routes of existing Nodes [N6 F56]", async () => {
    const w = newWorld();
    const { uid } = w.create("web").metadata;
    addBalancer(w, uid);
    addBalancer(w, "uid-gone");
    const [machine] = w.cloud.machines.list();
    addRoute(w, "10.244.1.0/24", machine?.id ?? "");
    w.changeNode("node-1", (node) => ({ ...node, spec: { ...node.spec, podCIDR: "10.244.2.0/24" } }));
    addRoute(w, "10.244.2.0/24", "m-unknown");
    addRoute(w, "10.244.9.0/24", "m-gone");
    const result = await cleanup(w, ["--yes"]);
    expect(result.code).toBe(0);
    expect(result.out).toContain("    stays:   Service default/web exists\n");
    expect(ownersIn(w)).toEqual([uid]);
    expect(routesIn(w)).toEqual(["10.244.1.0/24", "10.244.2.0/24"]);
  });

  test("cleanup --yes keeps a load balancer whose address a Service has, even if the mark names a different uid [N6 F56]", async () => {
    const w = newWorld();
    const { ip } = addBalancer(w, "uid-before-restore");
    w.create("web");
    w.edit("web", (service) => ({ ...service, status: { loadBalancer: { ingress: [{ ip }] } } }), "status");
    const result = await cleanup(w, ["--yes"]);
    expect([result.code, changesOf(result)]).toEqual([0, []]);
    expect(result.out).toContain("stays:   Service default/web exists");
  });

  test("cleanup --yes --owner deletes only the load balancers of that owner, and no route [N6 F56]", async () => {
    const w = newWorld();
    addBalancer(w, "uid-1");
    addBalancer(w, "uid-2");
    addRoute(w, "10.244.9.0/24", "m-gone");
    const result = await cleanup(w, ["--yes", "--owner=uid-1"]);
    expect([result.code, ownersIn(w), routesIn(w)]).toEqual([0, ["uid-2"], ["10.244.9.0/24"]]);
  });

  test("cleanup --yes waits for load balancers that are changing, and then deletes them [N6 F56]", async () => {
    const w = newWorld();
    w.cloud.balancers.actionTime = seconds(40);
    addBalancer(w, "uid-1");
    const result = await cleanup(w, ["--yes"]);
    expect([result.code, ownersIn(w)]).toEqual([0, []]);
    expect(result.err).toContain("load balancer b1: waiting for balancer lb-uid-1 to be ready");
  });

  test("cleanup --yes retries after errors, and leaves nothing [N6 F56]", async () => {
    const w = newWorld();
    for (const owner of ["uid-1", "uid-2"]) addBalancer(w, owner);
    w.cloud.faults.add({ operation: "DELETE /balancers/{id}", kind: "status", status: 500, calls: 3 });
    const result = await cleanup(w, ["--yes"]);
    expect([result.code, ownersIn(w)]).toEqual([0, []]);
    expect(result.err).toContain("(attempt 1 of 5, it is tried again)");
  });

  test("cleanup --yes does not end after a single listing that is incorrectly empty [N6 F56]", async () => {
    const w = newWorld();
    addBalancer(w, "uid-1");
    w.cloud.faults.add({ operation: "GET /balancers", kind: "empty-list", after: 1 });
    const result = await cleanup(w, ["--yes"]);
    expect([result.code, ownersIn(w)]).toEqual([0, []]);
  });

  test("cleanup --yes reports each failure with exit code 1, deletes the other objects and ends [N6 F56]", async () => {
    const w = newWorld();
    addBalancer(w, "uid-1");
    addRoute(w, "10.244.9.0/24", "m-gone");
    w.cloud.faults.add({ operation: "DELETE /balancers/{id}", kind: "status", status: 403, calls: 1000 });
    const result = await cleanup(w, ["--yes"]);
    expect([result.code, ownersIn(w), routesIn(w)]).toEqual([1, ["uid-1"], []]);
    expect(result.out).toMatch(
      /Deleted 1 route\.\nNot deleted: load balancer b1: .+\nCorrect the cause, and run/,
    );
  });

  test("cleanup --yes ends after --timeout and names the remaining objects [N6 F56]", async () => {
    const w = newWorld();
    w.cloud.balancers.actionTime = seconds(3600);
    addBalancer(w, "uid-1");
    const before = w.clock.monotonic();
    const result = await cleanup(w, ["--yes", "--timeout=1m"]);
    expect(result.code).toBe(1);
    expect(result.out).toContain("Not deleted: load balancer b1: it is still there; run cleanup again");
    expect(w.clock.monotonic() - before).toBeLessThan(seconds(70));
  });
});

describe("cleanup refuses to delete", () => {
  test("cleanup deletes nothing while a manager renews the Lease [N6 F56]", async () => {
    const w = newWorld();
    addBalancer(w, "uid-gone");
    putLease(w, "master-1_a");
    let reads = 0;
    const others = ({ url }: { readonly url: string }): undefined => {
      if (!url.includes("/leases/")) return;
      reads += 1;
      putLease(w, "master-1_a", `2026-01-01T00:00:${String(10 + reads)}.000000Z`);
    };
    const result = await cleanup(w, ["--yes"], { others });
    expect(result.code).toBe(1);
    expect(result.err).toContain("nothing was deleted: the manager master-1_a leads");
    expect(changesOf(result)).toEqual([]);
  });

  test("cleanup deletes nothing when a manager begins to lead in the meantime [N6 F56]", async () => {
    const w = newWorld();
    addBalancer(w, "uid-gone");
    const typed = () => {
      putLease(w, "master-2_b");
      return "yes";
    };
    const result = await cleanup(w, [], { typed });
    expect(result.code).toBe(1);
    expect(result.err).toContain("The manager master-2_b has begun to lead, so cleanup stopped.");
    expect(changesOf(result)).toEqual([]);
  });

  test("cleanup deletes nothing later in the same round when a manager begins to lead [N6 F56]", async () => {
    const w = newWorld();
    // One more than the number that is deleted at the same time.
    for (let at = 1; at <= 9; at += 1) addBalancer(w, `uid-${at}`);
    const result = await cleanup(w, ["--yes"], { cloud: onDeletion(w, () => putLease(w, "master-2_b")) });
    expect([result.code, ownersIn(w)]).toEqual([1, ["uid-9"]]);
    expect(result.err).toContain("The manager master-2_b has begun to lead, so cleanup stopped.");
  });

  test("cleanup keeps a load balancer that a Service needs again in the same round [N6 F56]", async () => {
    const w = newWorld();
    for (let at = 1; at <= 9; at += 1) addBalancer(w, `uid-${at}`);
    const returned = {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "web", namespace: "default", uid: "uid-9" },
      spec: { type: "LoadBalancer", ports: [] },
      status: {},
    } as unknown as KubeObject;
    const cloud = onDeletion(w, () => w.server.store.put(resourceNamed("services"), returned));
    const result = await cleanup(w, ["--yes"], { cloud });
    expect([result.code, ownersIn(w)]).toEqual([0, ["uid-9"]]);
  });

  test("cleanup deletes the objects when the holder of the Lease has crashed [N6 F56]", async () => {
    const w = newWorld();
    addBalancer(w, "uid-gone");
    putLease(w, "master-1_a");
    const before = w.clock.monotonic();
    const result = await cleanup(w, ["--yes"]);
    expect([result.code, ownersIn(w)]).toEqual([0, []]);
    expect(w.clock.monotonic() - before).toBeGreaterThan(milliseconds(15_000));
  });

  test("without --cluster-is-gone, cleanup deletes nothing while no API server answers [N6 F56]", async () => {
    const w = newWorld();
    addBalancer(w, "uid-gone");
    const result = await cleanup(w, ["--yes"], gone);
    expect(result.code).toBe(1);
    expect(result.out).toContain("owner:   uid-gone (whether it exists is not known)");
    expect(result.err).toContain("Set --kubeconfig, or --cluster-is-gone if the cluster no longer exists");
    expect(changesOf(result)).toEqual([]);
  });

  test("cleanup rejects --cluster-is-gone while the API server answers [N6 F56]", async () => {
    const w = newWorld();
    addBalancer(w, "uid-gone");
    const result = await cleanup(w, ["--yes", "--cluster-is-gone"]);
    expect(result.code).toBe(1);
    expect(result.err).toContain("answers, so the cluster is not gone. Omit --cluster-is-gone.");
    expect(changesOf(result)).toEqual([]);
  });

  test("cleanup deletes nothing if the API server answers but refuses to list Services [N6 F56]", async () => {
    const w = newWorld();
    addBalancer(w, "uid-gone");
    const others = ({ url }: { readonly url: string }) =>
      url.includes("/services") ? new Response("{}", { status: 403 }) : undefined;
    const result = await cleanup(w, ["--yes", "--cluster-is-gone"], { others });
    expect(result.code).toBe(1);
    expect(result.err).toContain("cleanup needs the verb list for services and nodes");
    expect(changesOf(result)).toEqual([]);
  });

  // A server that answers a single request, in any way, exists.
  test.each([
    ["services with 504", "/services", () => new Response("{}", { status: 504 })],
    ["nodes with 408", "/nodes", () => new Response("{}", { status: 408 })],
    ["the Lease with a page of a proxy", "/leases/", () => new Response("<html>", { status: 502 })],
    [
      "nodes with a closed connection",
      "/nodes",
      () => {
        throw Object.assign(new Error("refused"), { code: "ECONNREFUSED" });
      },
    ],
  ])(
    "cleanup --cluster-is-gone deletes nothing if the API server answers %s and all other requests normally [N24]",
    async (_, path, answer) => {
      const w = newWorld();
      addBalancer(w, w.create("web").metadata.uid);
      const others = ({ url }: { readonly url: string }) => (url.includes(path) ? answer() : undefined);
      const result = await cleanup(w, ["--yes", "--cluster-is-gone"], { others });
      expect([result.code, changesOf(result)]).toEqual([1, []]);
      expect(result.err).toContain("nothing is deleted before that is read");
    },
  );

  test.each([
    ["answers 503 to everything", () => new Response("{}", { status: 503 })],
    [
      "has an invalid certificate",
      () => {
        throw Object.assign(new Error("self signed"), { code: "DEPTH_ZERO_SELF_SIGNED_CERT" });
      },
    ],
  ])("cleanup refuses --cluster-is-gone if the API server %s [N24]", async (_, answer) => {
    const w = newWorld();
    addBalancer(w, "uid-gone");
    const result = await cleanup(w, ["--yes", "--cluster-is-gone"], { others: answer });
    expect([result.code, changesOf(result)]).toEqual([1, []]);
    expect(result.err).toContain("is not gone");
  });

  test("cleanup stops deleting when the API server of a deleted cluster answers midway [N24]", async () => {
    const w = newWorld();
    for (const owner of ["uid-1", "uid-2"]) addBalancer(w, owner);
    w.cloud.balancers.actionTime = seconds(40);
    let isBack = false;
    const others = (request: { readonly url: string }) => (isBack ? undefined : gone.others(request));
    const cloud = onDeletion(w, () => {
      isBack = true;
    });
    const result = await cleanup(w, ["--yes", "--cluster-is-gone"], { others, cloud });
    expect(result.code).toBe(1);
    expect(result.err).toContain("answers now, so cleanup stopped");
    expect(result.out).not.toContain("Deleted");
  });

  test.each([
    [["--owner=a", "--all-marked"], "contradict each other"],
    [["--cluster-cidr=10.0.0.0"], '"10.0.0.0", which is not an address range'],
    [["now"], 'unexpected argument "now"'],
  ])("cleanup rejects the arguments %p, with exit code 2 [N6 F56]", async (args, text) => {
    const w = newWorld();
    addBalancer(w, "uid-gone");
    const result = await cleanup(w, ["--yes", ...args]);
    expect(result).toMatchObject({ code: 2, out: "", kube: [], cloud: [] });
    expect(result.err).toContain(text);
  });
});

test("cleanup --cluster-is-gone requires the cluster name, because many clusters have the default name [N6 F56]", async () => {
  const result = await runCommandIn(newWorld(), ["cleanup", "--cluster-is-gone", "--yes"], gone);
  expect(result).toMatchObject({ code: 2, out: "", kube: [], cloud: [] });
  expect(result.err).toContain("--cluster-is-gone requires --cluster-name");
});

test("cleanup --cluster-is-gone deletes everything of the cluster and nothing of other clusters [N6 F56]", async () => {
  const w = newWorld();
  for (const owner of ["uid-1", "uid-2"]) addBalancer(w, owner);
  addBalancer(w, "uid-other", "staging");
  addRoute(w, "10.244.9.0/24", "m-gone");
  addRoute(w, "10.244.10.0/24", "m-gone", "staging");
  const result = await cleanup(w, ["--yes", "--cluster-is-gone"], gone);
  expect([result.code, ownersIn(w), routesIn(w)]).toEqual([0, ["uid-other"], ["10.244.10.0/24"]]);
  expect(result.kube).toEqual([]);
});

test("cleanup deletes the objects that a manager left when it crashed before its Services were removed [N6 F56]", async () => {
  const w = newWorld();
  await w.start("--cluster-name=prod");
  w.create("web");
  w.create("stays");
  await w.pass(60);
  await w.stop();
  w.server.store.remove(resourceNamed("services"), w.get("web") as unknown as KubeObject);
  const result = await cleanup(w, ["--yes"]);
  expect([result.code, ownersIn(w)]).toEqual([0, [w.get("stays").metadata.uid]]);
});
