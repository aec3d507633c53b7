// The command `marks`, as an operator runs it after a start with a different --cluster-name.

import { afterEach, describe, expect, test } from "bun:test";
import { asTransport } from "#ccm/testing";
import { rancher } from "../../../providers/rancher/index.ts";
import { milliseconds } from "../../../src/core/brand.ts";
import { draft, RancherWorld } from "../../providers/rancher/rancher-world.ts";
import { type CommandOptions, runCommandIn } from "../../support/command-world.ts";
import { ServiceWorld } from "../../support/service-world.ts";

let world: ServiceWorld | undefined;
afterEach(() => world?.stop());

const marks = (w: ServiceWorld, args: readonly string[] = [], options: CommandOptions = {}) =>
  runCommandIn(
    w,
    ["marks", "--master=http://test-api-server", "--cluster-name=production", ...args],
    options,
  );

/** `web` and `shop` were created as cluster `prod`; another cluster with the same name has one load balancer. */
async function renamed(): Promise<ServiceWorld> {
  const w = new ServiceWorld();
  world = w;
  await w.start("--cluster-name=prod");
  for (const name of ["web", "shop"]) w.create(name);
  await w.pass(60);
  await w.stop();
  w.cloud.balancers.create({
    name: "of-another-cluster",
    labels: { cluster: "prod", "managed-by": "fairlead", "owner-uid": "uid-elsewhere" },
  });
  return w;
}

const clustersIn = (w: ServiceWorld) => w.cloud.balancers.list().map(({ labels }) => labels["cluster"]);
const changesOf = ({ kube, cloud }: { kube: readonly string[]; cloud: readonly string[] }) =>
  [...kube, ...cloud].filter((request) => !request.startsWith("GET "));

describe("marks", () => {
  test("shows the load balancers of each cluster name, and the command that moves them [N24]", async () => {
    const w = await renamed();
    const result = await marks(w);
    expect([result.code, changesOf(result)]).toEqual([0, []]);
    expect(result.out).toContain(
      "production (--cluster-name): 0 load balancers, 0 of Services that exist here",
    );
    expect(result.out).toContain("prod: 3 load balancers, 2 of Services that exist here");
    expect(result.out).toContain("b1  default/shop\n  b2  default/web");
    expect(result.out).toContain("marks --cluster-name=production --move-from=prod");
    expect(result.out).toContain("Not if it is a copy of a cluster that still runs");
  });

  test("shows the same load balancers as JSON [N24]", async () => {
    const w = await renamed();
    const result = await marks(w, ["-o", "json"]);
    const { balancers } = JSON.parse(result.out);
    expect(balancers[0]).toEqual({
      name: "b1",
      cluster: "prod",
      owners: [w.get("shop").metadata.uid],
      services: ["default/shop"],
    });
  });

  test("moves only the marks of Services that exist here, so that the manager continues with their load balancers [N24]", async () => {
    const w = await renamed();
    const before = w.addressesOf("web");
    const result = await marks(w, ["--move-from=prod", "--yes"]);
    expect([result.code, clustersIn(w)]).toEqual([0, ["production", "production", "prod"]]);
    expect(result.out).toContain("Moved the marks of 2 load balancers from prod to production.");
    await w.start("--cluster-name=production");
    w.edit("web", (service) => ({ ...service, spec: { ...service.spec, type: "ClusterIP" } }));
    await w.pass(120);
    expect(w.addressesOf("shop")).toHaveLength(before.length);
    expect(w.cloud.balancers.list()).toHaveLength(2);
  });

  test.each([
    ["without a terminal", ["--move-from=prod"], {}, 3, "run the command again with --yes"],
    ["after the answer no", ["--move-from=prod"], { typed: () => "no" }, 3, "not confirmed"],
    ["for its own name", ["--move-from=production", "--yes"], {}, 2, "must differ from --cluster-name"],
  ] as const)("moves nothing %s [N24]", async (_, args, options, code, text) => {
    const w = await renamed();
    const result = await marks(w, args, options);
    expect([result.code, changesOf(result)]).toEqual([code, []]);
    expect(result.err).toContain(text);
  });

  test("moves nothing while a manager leads [N24]", async () => {
    const w = await renamed();
    let reads = 0;
    const others = ({ url }: { readonly url: string }) => {
      if (!url.includes("/leases/")) return undefined;
      reads += 1;
      const renewTime = `2026-01-01T00:00:${String(10 + reads)}.000000Z`;
      const spec = { holderIdentity: "master-1_a", leaseDurationSeconds: 15, renewTime };
      return Response.json({ metadata: { name: "cloud-controller-manager", uid: "lease" }, spec });
    };
    const result = await marks(w, ["--move-from=prod", "--yes"], { others });
    expect([result.code, clustersIn(w)]).toEqual([1, ["prod", "prod", "prod"]]);
    expect(result.err).toContain("master-1_a leads. Stop it, move the marks, and start it again");
  });

  test("stops when a manager begins to lead midway [N24]", async () => {
    const w = await renamed();
    const isStarted = (): boolean => clustersIn(w).includes("production");
    const others = ({ url }: { readonly url: string }) => {
      if (!url.includes("/leases/")) return undefined;
      const spec = { holderIdentity: isStarted() ? "master-1_a" : "", leaseDurationSeconds: 15 };
      return Response.json({ metadata: { name: "cloud-controller-manager", uid: "lease" }, spec });
    };
    const result = await marks(w, ["--move-from=prod", "--yes"], { others });
    expect([result.code, clustersIn(w)]).toEqual([1, ["production", "prod", "prod"]]);
    expect(result.err).toContain(
      "the mark of b2 was not moved: the manager master-1_a has begun to lead. Stop it, and run the command again",
    );
  });

  test("moves nothing when the API server stops answering before the leader is known", async () => {
    const w = await renamed();
    let surveys = 0;
    const others = ({ url }: { readonly url: string }) => {
      if (url.includes("/services?")) surveys += 1;
      if (surveys === 2) throw new TypeError("connection refused");
      return undefined;
    };
    const result = await marks(w, ["--move-from=prod", "--yes"], { others });
    expect([result.code, clustersIn(w)]).toEqual([1, ["prod", "prod", "prod"]]);
    expect(result.err).toContain("no mark was moved: the API server no longer answers");
  });

  test("reports each mark that the cloud refuses to move, and moves the rest [N24]", async () => {
    const w = await renamed();
    w.cloud.faults.add({ operation: "PATCH /balancers/{id}", kind: "status", status: 403, calls: 1 });
    const result = await marks(w, ["--move-from=prod", "--yes"]);
    expect([result.code, clustersIn(w)]).toEqual([1, ["prod", "production", "prod"]]);
    expect(result.err).toContain("the mark of b1 was not moved: ");
  });
});

test("marks moves a load balancer in Rancher with the external services of its rules [N24]", async () => {
  const a = new RancherWorld(2, {}, { cluster: "prod" });
  a.cloud.latency = milliseconds(0);
  await a.start("service");
  a.world.create("web", draft());
  await a.world.pass(60);
  await a.world.stop();
  const flags = a.flags("*").filter((flag) => !/^--(controllers|cluster-name)/.test(flag));
  const args = ["marks", "--yes", "--move-from=prod", "--cluster-name=production", ...flags];
  const result = await runCommandIn(a.world, [...args, "--master=http://test-api-server"], {
    provider: rancher,
    cloud: asTransport(a.cloud),
  });
  expect(result).toMatchObject({ code: 0 });
  const named = [...a.balancers, ...a.externals].map(({ metadata }) => metadata?.["fairlead.dev/cluster"]);
  expect(new Set(named)).toEqual(new Set(["production"]));
});
