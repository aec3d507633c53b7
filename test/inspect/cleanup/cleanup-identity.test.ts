import { afterEach, describe, expect, test } from "bun:test";
import { runCommandIn } from "../../support/command-world.ts";
import { ServiceWorld } from "../../support/service-world.ts";

// The command `cleanup` if several clusters have the same name: the uid of the cluster decides.

let world: ServiceWorld | undefined;
afterEach(() => world?.stop());

const newWorld = (): ServiceWorld => {
  world = new ServiceWorld();
  return world;
};

const uidOf = (w: ServiceWorld): string =>
  w.server.store.get("namespaces", undefined, "kube-system")?.metadata.uid ?? "";

const isGone = ({ url }: { readonly url: string }): undefined => {
  if (url.startsWith("http://test-api-server"))
    throw Object.assign(new Error("refused"), { code: "ECONNREFUSED" });
};

const cleanup = (w: ServiceWorld, args: readonly string[], others?: typeof isGone) =>
  runCommandIn(
    w,
    ["cleanup", "--master=http://test-api-server", "--cluster-name=kubernetes", ...args],
    others === undefined ? {} : { others },
  );

const addBalancer = (w: ServiceWorld, owner: string, clusterUID?: string) =>
  w.cloud.balancers.create({
    name: `lb-${owner}`,
    labels: {
      cluster: "kubernetes",
      "managed-by": "fairlead",
      "owner-uid": owner,
      ...(clusterUID !== undefined && { "cluster-uid": clusterUID }),
    },
  });

describe("cleanup", () => {
  test("prints the uid of the cluster in the first line [N24]", async () => {
    const w = newWorld();
    const { out } = await cleanup(w, []);
    expect(out.split("\n")[0]).toContain(`http://test-api-server (cluster uid ${uidOf(w)}): `);
  });

  test("keeps and reports objects with the uid of another cluster in the mark [N24]", async () => {
    const w = newWorld();
    addBalancer(w, "uid-mine", uidOf(w));
    addBalancer(w, "uid-other", "uid-of-another-cluster");
    const result = await cleanup(w, ["--yes"]);
    expect([result.code, w.owners()]).toEqual([0, ["uid-other"]]);
    expect(result.out).toContain(
      "stays:   belongs to another cluster with the same name (uid uid-of-another-cluster)",
    );
    expect(result.out).toContain(
      "Left: 1 load balancer. 0 in use and 1 without the mark of this cluster stay.",
    );
  });

  test("rejects a --cluster-uid that differs from the API server's [N24]", async () => {
    const w = newWorld();
    addBalancer(w, "uid-mine", uidOf(w));
    const result = await cleanup(w, ["--yes", "--cluster-uid=uid-of-another-cluster"]);
    expect([result.code, w.owners()]).toEqual([1, ["uid-mine"]]);
    expect(result.err).toContain(
      `--cluster-uid is uid-of-another-cluster, but the API server belongs to the cluster with uid ${uidOf(w)}. Check --kubeconfig and --context`,
    );
  });

  test("cleanup --yes with the default cluster name requires --cluster-uid if a mark has no uid [N24]", async () => {
    const w = newWorld();
    addBalancer(w, "uid-gone");
    const refused = await cleanup(w, ["--yes"]);
    expect([refused.code, w.owners()]).toEqual([1, ["uid-gone"]]);
    expect(refused.err).toContain(
      `nothing was deleted: the name kubernetes is the default of many clusters, and nothing else shows that this is the cluster of 1 load balancer. Set --cluster-uid=${uidOf(w)} if this is the right cluster, or --owner, or omit --yes`,
    );
    const confirmed = await cleanup(w, ["--yes", `--cluster-uid=${uidOf(w)}`]);
    expect([confirmed.code, w.owners()]).toEqual([0, []]);
  });

  test("cleanup --yes with the default cluster name requires --cluster-uid for routes [N24]", async () => {
    const w = newWorld();
    w.cloud.routes.create({ destination: "10.244.9.0/24", machine: "m", labels: { cluster: "kubernetes" } });
    const args = ["--yes", "--cluster-cidr=10.244.0.0/16"];
    const refused = await cleanup(w, args);
    expect([refused.code, w.cloud.routes.list().length]).toEqual([1, 1]);
    const confirmed = await cleanup(w, [...args, `--cluster-uid=${uidOf(w)}`]);
    expect([confirmed.code, w.cloud.routes.list().length]).toEqual([0, 0]);
  });

  test("cleanup --yes --owner deletes the owner's load balancers even with the default cluster name [N24]", async () => {
    const w = newWorld();
    addBalancer(w, "uid-gone");
    const result = await cleanup(w, ["--yes", "--owner=uid-gone"]);
    expect([result.code, w.owners()]).toEqual([0, []]);
  });

  test("cleanup --cluster-is-gone with the default cluster name requires --cluster-uid, and deletes only objects with this uid in the mark [N24]", async () => {
    const w = newWorld();
    addBalancer(w, "uid-1", "uid-of-gone");
    addBalancer(w, "uid-2", "uid-of-another-cluster");
    const args = ["--yes", "--cluster-is-gone"];
    const refused = await cleanup(w, args, isGone);
    expect([refused.code, w.owners()]).toEqual([1, ["uid-1", "uid-2"]]);
    expect(refused.err).toContain(
      "Set --cluster-uid, which deletes only what has it in its mark, or --owner",
    );
    const deleted = await cleanup(w, [...args, "--cluster-uid=uid-of-gone"], isGone);
    expect([deleted.code, w.owners()]).toEqual([0, ["uid-2"]]);
  });

  test("cleanup --cluster-is-gone with the default cluster name deletes nothing while a mark has no uid [N24]", async () => {
    const w = newWorld();
    addBalancer(w, "uid-1", "uid-of-gone");
    addBalancer(w, "uid-2");
    const result = await cleanup(w, ["--yes", "--cluster-is-gone", "--cluster-uid=uid-of-gone"], isGone);
    expect([result.code, w.owners()]).toEqual([1, ["uid-1", "uid-2"]]);
  });

  test("stops when the API server changes to another cluster midway [N24]", async () => {
    const w = newWorld();
    for (const owner of ["uid-1", "uid-2"]) addBalancer(w, owner, uidOf(w));
    let reads = 0;
    const others = ({ url }: { readonly url: string }) => {
      if (!url.endsWith("/namespaces/kube-system")) return undefined;
      reads += 1;
      return reads === 1 ? undefined : Response.json({ metadata: { name: "kube-system", uid: "uid-new" } });
    };
    const result = await runCommandIn(w, ["cleanup", "--master=http://test-api-server", "--yes"], { others });
    expect([result.code, w.owners()]).toEqual([1, ["uid-1", "uid-2"]]);
    expect(result.err).toContain("now belongs to another cluster (uid uid-new");
  });
});
