import { expect, test } from "bun:test";
import { problemsOf } from "../../support/service-problems.ts";
import { ServiceWorld } from "../../support/service-world.ts";

// A manager that runs with the name of another cluster: the marks show the owners of the visible load balancers.

const names = Array.from({ length: 20 }, (_, index) => `web-${index}`);

async function worldOf(cluster: string): Promise<ServiceWorld> {
  const w = new ServiceWorld();
  await w.start(`--cluster-name=${cluster}`);
  for (const name of names) w.create(name);
  await w.pass(60);
  await w.stop();
  w.forget();
  return w;
}

const message =
  "The load balancer b1 of default/web-0 belongs to cluster prod; this manager runs as prd. Nothing is created, changed or deleted for this Service. If the name is wrong, set --cluster-name to prod and restart. If the cluster was renamed, run the command marks with --move-from=prod.";

test("creates nothing for Services whose load balancers belong to another cluster, and reports the other cluster on each", async () => {
  const w = await worldOf("prod");
  const before = w.cloud.balancers.list();
  await w.start("--cluster-name=prd");
  await w.pass(7200);
  expect([w.changes, w.cloud.balancers.list()]).toEqual([[], before]);
  for (const name of names) expect(w.events(name).join()).toContain("Warning BelongsToOtherCluster ");
  expect(w.events("web-0")).toContain(`Warning BelongsToOtherCluster ${message}`);
  expect(w.get("web-0").status.conditions).toMatchObject([
    { type: "CloudReady", status: "False", reason: "BelongsToOtherCluster", message },
  ]);
  // One condition per Service, and no further write while it lasts.
  expect(w.written).toHaveLength(names.length);
  expect(w.addressesOf("web-0")).toEqual([before[0]?.ip ?? ""]);
  await w.stop();
  await w.start("--cluster-name=prod");
  await w.pass(60);
  expect(w.changes).toEqual([]);
  expect(w.get("web-0").status.conditions ?? []).toEqual([]);
});

test("reports the other cluster with the first listing, without waiting for the proof of absence", async () => {
  const w = await worldOf("prod");
  const before = w.events("web-0").length;
  await w.start("--cluster-name=prd");
  await w.pass(5);
  expect(w.events("web-0").slice(before)).toEqual([`Warning BelongsToOtherCluster ${message}`]);
  expect(problemsOf(w.manager, "default/web-0")).toEqual([`BelongsToOtherCluster ${message}`]);
  await w.pass(600);
  expect(w.events("web-0").slice(before)).toEqual([`Warning BelongsToOtherCluster ${message}`]);
  expect(w.changes).toEqual([]);
});

test("observe mode reports Services whose load balancers belong to another cluster, and plans nothing for them", async () => {
  const w = await worldOf("prod");
  await w.start("--cluster-name=prd", "--mode=observe");
  await w.pass(3600);
  expect([w.changes, w.written]).toEqual([[], []]);
  expect(problemsOf(w.manager, "default/web-0").join()).toContain(message);
  expect(w.manager.journal.entries().filter(({ target }) => target === "cloud")).toEqual([]);
  expect(w.logged.join("\n")).toContain("belongs to cluster prod; this manager runs as prd");
});

test("keeps a deleted Service while its load balancer belongs to another cluster", async () => {
  const w = await worldOf("prod");
  await w.start("--cluster-name=prd");
  await w.pass(60);
  w.delete("web-0");
  await w.pass(3600);
  expect([w.changes, w.find("web-0") === undefined]).toEqual([[], false]);
  await w.stop();
  await w.start("--cluster-name=prod");
  await w.pass(60);
  expect([w.find("web-0"), w.cloud.balancers.list().length]).toEqual([undefined, names.length - 1]);
});

test("continues within minutes once the marks in the cloud were changed", async () => {
  const w = await worldOf("prod");
  await w.start("--cluster-name=prd");
  await w.pass(60);
  for (const { id, labels } of w.cloud.balancers.list())
    w.cloud.balancers.change(id, { labels: { ...labels, cluster: "prd" } });
  await w.pass(600);
  expect(w.changes).toEqual([]);
  expect(names.flatMap((name) => w.get(name).status.conditions ?? [])).toEqual([]);
});

test("reports a second load balancer of another cluster, and does not change it", async () => {
  const w = await worldOf("prod");
  const [own] = w.cloud.balancers.list();
  const { id } = w.cloud.balancers.create({
    name: "second",
    labels: { ...own?.labels, cluster: "prd" },
  });
  await w.start("--cluster-name=prod");
  await w.pass(60);
  expect([w.changes, w.written]).toEqual([[], []]);
  expect(w.events("web-0").join()).toContain(
    "A second load balancer b21 of default/web-0 belongs to cluster prd; this manager runs as prod. It is not changed.",
  );
  w.delete("web-0");
  await w.pass(60);
  expect([w.find("web-0"), w.cloud.balancers.get(id).name]).toEqual([undefined, "second"]);
});

test("a load balancer of another cluster does not block a deletion that was interrupted after its own load balancer was deleted", async () => {
  const w = await worldOf("prod");
  const [own] = w.cloud.balancers.list();
  const { id } = w.cloud.balancers.create({ name: "second", labels: { ...own?.labels, cluster: "prd" } });
  await w.start("--cluster-name=prod");
  await w.pass(60);
  w.onCrossing = (what, when) => {
    if (what.startsWith("DELETE /balancers/") && when === "after") w.crash();
  };
  w.delete("web-0");
  await w.until(() => !w.isRunning, "the crash", 30);
  w.onCrossing = undefined;
  await w.start("--cluster-name=prod");
  await w.pass(20);
  expect(w.get("web-0").metadata.finalizers).toHaveLength(1);
  await w.pass(60);
  expect([w.find("web-0"), w.cloud.balancers.get(id).name]).toEqual([undefined, "second"]);
  expect(w.events("web-0").join()).toContain(
    "A second load balancer b21 of default/web-0 belongs to cluster prd",
  );
  await w.stop();
});

test("a deletion that a load balancer of another cluster blocks explains how to continue", async () => {
  const w = await worldOf("prod");
  await w.start("--cluster-name=prd");
  w.delete("web-0");
  await w.pass(120);
  expect(w.events("web-0").at(-1)).toBe(
    "Warning BelongsToOtherCluster The load balancer b1 of default/web-0 belongs to cluster prod; this manager runs as prd. It may be the one that the Service had, so it is not deleted, and the Service keeps its finalizer. If it is, set --cluster-name to prod and restart, or move its mark with the command marks. If no cluster needs it, delete it in the cloud.",
  );
  await w.stop();
});
