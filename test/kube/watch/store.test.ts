import { expect, test } from "bun:test";
import type { KubeObject } from "../../../src/kube/objects.ts";
import { Store } from "../../../src/kube/watch/store.ts";

const object = (name: string, resourceVersion: string, zone = "z"): KubeObject => ({
  metadata: { name, uid: `uid-${name}`, resourceVersion, labels: { zone } },
});

const filled = () => {
  const store = new Store<KubeObject>();
  const zones = store.index(({ metadata }) => [metadata.labels?.["zone"] ?? ""]);
  store.apply({ type: "begin" });
  for (const name of ["a", "b", "c"])
    store.apply({ type: "object", object: object(name, "1"), initial: true });
  store.apply({ type: "complete", resourceVersion: "5" });
  const changes: string[] = [];
  const unsubscribe = store.subscribe(({ key, before, after }) =>
    changes.push(
      `${key} ${before?.metadata.resourceVersion ?? "-"}>${after?.metadata.resourceVersion ?? "-"}`,
    ),
  );
  return { store, zones, changes, unsubscribe };
};

test("the store hides an incomplete list, and then reports one change per differing key", () => {
  const { store, changes } = filled();
  const kept = store.get("a");
  store.apply({ type: "begin" });
  for (const [name, version] of [
    ["a", "1"],
    ["b", "2"],
    ["d", "3"],
  ] as const) {
    store.apply({ type: "object", object: object(name, version), initial: true });
  }
  expect([store.size, store.get("b")?.metadata.resourceVersion, changes]).toEqual([3, "1", []]);
  store.apply({ type: "complete", resourceVersion: "9" });
  expect(changes.sort()).toEqual(["b 1>2", "c 1>-", "d ->3"]);
  expect(store.get("a")).toBe(kept as KubeObject);
});

test("the store discards an incomplete list", () => {
  const { store, changes } = filled();
  store.apply({ type: "begin" });
  store.apply({ type: "object", object: object("z", "9"), initial: true });
  store.apply({ type: "begin" });
  for (const name of ["a", "b", "c"])
    store.apply({ type: "object", object: object(name, "1"), initial: true });
  store.apply({ type: "complete", resourceVersion: "9" });
  expect(changes).toEqual([]);
});

test("the store reports changes and deletions, but no equal versions, and reports nothing after unsubscribe", () => {
  const { store, changes, unsubscribe } = filled();
  store.apply({ type: "object", object: object("a", "1"), initial: false });
  store.apply({ type: "object", object: object("a", "2"), initial: false });
  store.apply({ type: "deleted", object: object("b", "3") });
  store.apply({ type: "deleted", object: object("b", "3") });
  unsubscribe();
  store.apply({ type: "deleted", object: object("c", "4") });
  expect(changes).toEqual(["a 1>2", "b 1>-"]);
});

test("the store updates its indexes on changes, deletions and relists", () => {
  const { store, zones } = filled();
  const names = (zone: string) => zones.get(zone).map(({ metadata }) => metadata.name);
  store.apply({ type: "object", object: object("a", "2", "y"), initial: false });
  store.apply({ type: "deleted", object: object("b", "3") });
  expect([names("z"), names("y")]).toEqual([["c"], ["a"]]);
  store.apply({ type: "begin" });
  store.apply({ type: "object", object: object("c", "9", "y"), initial: true });
  store.apply({ type: "complete", resourceVersion: "9" });
  expect([names("z"), names("y")]).toEqual([[], ["c"]]);
});

test("the store reports whether a deletion was an event or only missing in a new list", () => {
  const { store } = filled();
  const gone: string[] = [];
  store.subscribe(({ key, after, isFromList }) => {
    if (after === undefined) gone.push(`${key} ${isFromList === true ? "missing" : "deleted"}`);
  });
  store.apply({ type: "deleted", object: object("a", "6") });
  store.apply({ type: "begin" });
  store.apply({ type: "object", object: object("b", "1"), initial: true });
  store.apply({ type: "complete", resourceVersion: "9" });
  expect(gone).toEqual(["a deleted", "c missing"]);
});
