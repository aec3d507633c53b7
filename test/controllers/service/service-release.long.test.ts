import { expect, test } from "bun:test";
import { scriptedWorld } from "../../support/scripted-world.ts";
import { ServiceWorld } from "../../support/service-world.ts";

// Load balancers that outlive their Service: released instead of deleted, and retained while on-delete is invalid.

const onDelete = "fairlead.dev/on-delete";
const release = { [onDelete]: "release" };
const adopt = "balancer.fake.example/adopt";

const labelsOf = (w: ServiceWorld) => w.cloud.balancers.list().map(({ labels }) => labels);
const idsOf = (w: ServiceWorld) => w.cloud.balancers.list().map(({ id }) => id);
const conditionsOf = (w: ServiceWorld, name: string) =>
  (w.get(name).status.conditions ?? []).map(({ reason }) => reason);

const served = async (annotations: Readonly<Record<string, string>>): Promise<ServiceWorld> => {
  const w = new ServiceWorld();
  await w.start();
  w.create("web", { annotations });
  await w.pass(30);
  expect(w.addressesOf("web")).toHaveLength(1);
  w.forget();
  return w;
};

test("releases a load balancer with its Service's deletion, and names it in an event [F41]", async () => {
  const w = await served(release);
  const [balancer] = w.cloud.balancers.list();
  w.delete("web");
  await w.pass(30);
  expect(w.find("web")).toBeUndefined();
  expect([idsOf(w), labelsOf(w)]).toEqual([[`${balancer?.id}`], [{}]]);
  expect(w.events("web").join()).toContain(
    `Normal ReleasedLoadBalancer Released load balancer ${balancer?.name} (${balancer?.id}) with the address 192.0.2.1: it stays in the cloud, where it may cost money, and Fairlead no longer manages it. Delete it there if it is not needed.`,
  );
  expect(w.events("web").join()).not.toContain("DeletedLoadBalancer");
  // Without Fairlead's mark it is not an orphan: it is ignored from now on, even after a restart.
  await w.pass(3600);
  w.crash();
  await w.start();
  await w.pass(3600);
  expect(w.changes).toEqual([`PATCH /balancers/${balancer?.id}`]);
  expect(w.manager.report().orphans).toEqual([]);
});

test("a retyped Service releases its load balancer and another Service adopts it [F39 F41]", async () => {
  const w = await served(release);
  const ip = w.addressesOf("web");
  const [id = ""] = idsOf(w);
  w.editSpec("web", { type: "ClusterIP" });
  await w.pass(30);
  expect([labelsOf(w), w.get("web").metadata.finalizers ?? []]).toEqual([[{}], []]);
  w.create("heir", { annotations: { [adopt]: id } });
  await w.pass(30);
  expect([idsOf(w), w.addressesOf("heir"), w.owners()]).toEqual([[id], ip, [w.get("heir").metadata.uid]]);
});

test.each(["delete", "Delete", " delete ", "deleted"])(
  "a deleted Service with on-delete %p has its load balancer deleted",
  async (word) => {
    const w = await served({});
    w.annotate("web", { [onDelete]: word });
    w.delete("web");
    await w.pass(30);
    expect([idsOf(w), w.find("web")]).toEqual([[], undefined]);
  },
);

test.each(["releas", "Release", "relete", "keep", ""])(
  "a deleted Service with on-delete %p keeps its load balancer until corrected, and reports that [F41 F47]",
  async (word) => {
    const w = await served({});
    w.annotate("web", { [onDelete]: word });
    w.delete("web");
    await w.pass(60);
    w.forget();
    await w.pass(3600);
    expect([w.changes, w.owners()]).toEqual([[], [w.get("web").metadata.uid]]);
    expect(conditionsOf(w, "web")).toEqual(["DeletionHeld"]);
    const command = (word: string) =>
      `\`kubectl -n default annotate service web ${onDelete}=${word} --overwrite\``;
    expect(w.events("web").join()).toContain(
      `Deletion is on hold: ${onDelete} must be "delete" or "release", got ${JSON.stringify(word)}. The load balancer stays until this is corrected. To delete the load balancer: ${command("delete")}. To keep it in the cloud, where Fairlead no longer manages it: ${command("release")}`,
    );
    // One write for the condition, however much time passes.
    expect(w.written).toEqual([]);
    w.annotate("web", release);
    await w.pass(30);
    expect([labelsOf(w), w.find("web")]).toEqual([[{}], undefined]);
  },
);

test("a Service whose deletion is on hold is deleted once its load balancer is gone from the cloud", async () => {
  const w = await served({});
  w.annotate("web", { [onDelete]: "keep" });
  await w.pass(5);
  w.cloud.balancers.clear();
  w.delete("web");
  await w.pass(3600);
  expect(w.find("web")).toBeUndefined();
});

test("releases a load balancer even if the finalizer was removed manually [F41]", async () => {
  const w = await served(release);
  w.edit("web", ({ metadata, ...rest }) => ({ ...rest, metadata: { ...metadata, finalizers: [] } }));
  w.delete("web");
  await w.pass(600);
  expect([w.find("web"), labelsOf(w)]).toEqual([undefined, [{}]]);
});

test("a load balancer whose deleted Service had an invalid on-delete becomes an orphan", async () => {
  const w = await served({ [onDelete]: "release" });
  const { uid } = w.get("web").metadata;
  w.annotate("web", { [onDelete]: "keep" });
  await w.pass(5);
  w.edit("web", ({ metadata, ...rest }) => ({ ...rest, metadata: { ...metadata, finalizers: [] } }));
  w.delete("web");
  await w.pass(3600);
  expect([w.find("web"), w.owners(), w.changes]).toEqual([undefined, [uid], []]);
});

test("the release completes after any failing request and after a crash at any request [F41]", async () => {
  for (let position = 0, isReached = true; isReached; position += 1) {
    for (const how of ["reset", "lost-answer", "crash"] as const) {
      const w = await served(release);
      let crossings = 0;
      if (how === "crash") {
        w.onCrossing = (_, when) => {
          if (when === "after" && crossings++ === position) w.crash();
        };
      } else w.cloud.faults.add({ operation: "PATCH /balancers/{id}", kind: how, calls: position });
      w.delete("web");
      await w.pass(60);
      if (how === "crash") isReached = !w.isRunning;
      w.onCrossing = undefined;
      if (!w.isRunning) await w.start();
      await w.pass(1200);
      expect({ how, position, left: labelsOf(w), service: w.find("web") }).toEqual({
        how,
        position,
        left: [{}],
        service: undefined,
      });
    }
  }
});

test("a Service with on-delete=release gets a warning when the cloud cannot release, and keeps its load balancer when deleted", async () => {
  const { w, script } = scriptedWorld();
  await w.start();
  w.create("web", { annotations: release });
  await w.pass(30);
  expect(conditionsOf(w, "web")).toEqual(["ReleaseUnsupported"]);
  expect(script.things.size).toBe(1);
  w.delete("web");
  await w.pass(600);
  expect([script.things.size, conditionsOf(w, "web")[0]]).toEqual([1, "DeletionHeld"]);
  w.annotate("web", { [onDelete]: undefined });
  await w.pass(30);
  expect([script.things.size, w.find("web")]).toEqual([0, undefined]);
});

/** The type and the finalizer change in the same edit. */
const retypedAndStripped = async (word: string): Promise<ServiceWorld> => {
  const w = new ServiceWorld();
  await w.start();
  w.create("web", { annotations: { [onDelete]: "release" } });
  await w.pass(30);
  w.annotate("web", { [onDelete]: word });
  await w.pass(5);
  w.edit("web", ({ metadata, spec, ...rest }) => ({
    ...rest,
    spec: { ...spec, type: "ClusterIP" },
    metadata: { ...metadata, finalizers: [] },
  }));
  await w.pass(600);
  return w;
};

test("a load balancer is released when its Service is retyped and loses its finalizer in one edit", async () => {
  const w = await retypedAndStripped("release");
  expect(w.cloud.balancers.list().map(({ labels }) => labels)).toEqual([{}]);
});

test("a load balancer with an invalid on-delete stays when its Service is retyped and loses its finalizer in one edit", async () => {
  const w = await retypedAndStripped("keep");
  expect(w.owners()).toEqual([w.get("web").metadata.uid]);
});
