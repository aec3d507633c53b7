import { expect, test } from "bun:test";
import { DocumentRoutes } from "../../src/cloud/document-routes.ts";
import { milliseconds, nodeName } from "../../src/core/brand.ts";
import { cidr } from "../../src/core/cidr.ts";
import type { Call } from "../../src/provider/call.ts";
import { CloudError } from "../../src/provider/errors.ts";
import type { DesiredRoute, RouteOutcome, RoutesAsDocument } from "../../src/provider/routes.ts";
import { VirtualClock } from "../../src/testing/virtual-time/virtual-clock.ts";
import { type RoutesScript, refusal, ScriptedRoutes } from "../controllers/route/scripted-routes.ts";

const routeTo = (index: number, node = `n${index}`): DesiredRoute => ({
  destination: cidr(`10.244.${index}.0/24`),
  target: {
    node: nodeName(node),
    uid: node,
    machine: { source: "cloud", key: node },
    addresses: [],
    internalIPs: [],
  },
});

const setUp = (
  script: RoutesScript = {},
  change: (routes: RoutesAsDocument) => Partial<RoutesAsDocument> = () => ({}),
) => {
  const clock = new VirtualClock();
  const cloud = new ScriptedRoutes(clock, { ...script, style: "document" });
  if (cloud.routes.style !== "document") throw new Error("It was to be a document.");
  const routes = new DocumentRoutes({ ...cloud.routes, ...change(cloud.routes) }, clock);
  const stop = new AbortController();
  const call: Call = { signal: stop.signal, urgency: "new-node" };
  /** The outcomes of changes that begin at the same moment: "done", "pending", or the kind or text of the error. */
  const outcomesOf = async (...changes: readonly Promise<RouteOutcome>[]): Promise<readonly string[]> => {
    const ends = Promise.allSettled(changes);
    await clock.advance(milliseconds(1));
    return (await ends).map((end) => {
      if (end.status === "fulfilled") return end.value.done ? "done" : "pending";
      return CloudError.is(end.reason) ? end.reason.kind : String(end.reason);
    });
  };
  const create = (index: number, node?: string) => routes.create(routeTo(index, node), call);
  return { clock, cloud, routes, call, stop, outcomesOf, create };
};
const nothingElse = Array.from({ length: 8 }, () => "done");

test("sends all route changes that begin at the same moment in one request [F62]", async () => {
  const { cloud, routes, call, outcomesOf, create } = setUp();
  const old = cloud.put("10.244.1.0/24", { targetKey: "gone" });
  const changes = [routes.remove(old, call), ...[1, 2, 3].map((index) => create(index))];
  expect(await outcomesOf(...changes)).toEqual(["done", "done", "done", "done"]);
  expect(cloud.changes).toEqual(["change +3 -1"]);
  expect(cloud.shown()).toEqual(["10.244.1.0/24 -> n1", "10.244.2.0/24 -> n2", "10.244.3.0/24 -> n3"]);
});

test("sends route changes that begin while a request runs in the next request", async () => {
  const { clock, cloud, create } = setUp({ takes: milliseconds(100) });
  const first = create(1);
  await clock.advance(milliseconds(150));
  const second = Promise.all([create(2), create(3)]);
  await clock.advance(milliseconds(1000));
  expect([await first, ...(await second)]).toEqual(Array(3).fill({ done: true }));
  expect(cloud.changes).toEqual(["change +1 -0", "change +2 -0"]);
});

test("rereads a document that another client has changed, and omits changes that no longer apply", async () => {
  const { cloud, routes, call, outcomesOf, create } = setUp();
  const [mine, theirs] = [1, 2].map((index) => cloud.put(`10.244.${index}.0/24`, { targetKey: "gone" }));
  if (mine === undefined || theirs === undefined) throw new Error("Two were made.");
  cloud.beforeChange = () => {
    cloud.table = cloud.table.filter(({ handle }) => handle !== theirs.handle);
    cloud.put("10.244.3.0/24", { ownership: "foreign", targetKey: "x" });
    cloud.revision += 1;
  };
  const changes = [routes.remove(mine, call), routes.remove(theirs, call), create(3), create(4)];
  expect(await outcomesOf(...changes)).toEqual(["done", "done", "busy", "done"]);
  expect(cloud.changes).toEqual(["change +2 -2", "change +1 -1"]);
  expect(cloud.shown()).toEqual(["10.244.3.0/24 -> x", "10.244.4.0/24 -> n4"]);
});

test("fails as busy while other clients keep changing the document, because a conflict means that a route exists", async () => {
  const { outcomesOf, create, cloud } = setUp({}, () => ({
    change: () => {
      attempts += 1;
      return Promise.reject(refusal("conflict", "a different revision"));
    },
  }));
  let attempts = 0;
  expect(await outcomesOf(create(1), create(2))).toEqual(["busy", "busy"]);
  expect([attempts, cloud.listings]).toEqual([3, 3]);
});

test("isolates a rejected route, and applies all other routes", async () => {
  const { cloud, outcomesOf, create } = setUp();
  cloud.failures.set("10.244.3.0/24", refusal("invalid"));
  const outcomes = await outcomesOf(...Array.from({ length: 9 }, (_, index) => create(index)));
  expect(outcomes.toSpliced(3, 1)).toEqual(nothingElse);
  expect(outcomes[3]).toBe("invalid");
  expect(cloud.changes.length).toBeLessThanOrEqual(9);
});

test("sends a previously rejected route separately, so that it fails no other route", async () => {
  const { cloud, outcomesOf, create } = setUp();
  cloud.failures.set("10.244.1.0/24", refusal("quota"));
  await outcomesOf(create(1));
  const before = cloud.changes.length;
  expect(await outcomesOf(create(1), create(2), create(3))).toEqual(["quota", "done", "done"]);
  expect(cloud.changes.slice(before)).toEqual(["change +2 -0", "change +1 -0"]);
});

test("keeps the removal of a route and its replacement together when a request is split", async () => {
  const { cloud, routes, call, outcomesOf, create } = setUp();
  const old = [1, 2].map((index) => cloud.put(`10.244.${index}.0/24`, { targetKey: "gone" }));
  cloud.failures.set("10.244.2.0/24", refusal("invalid"));
  const changes = [...old.map((route) => routes.remove(route, call)), create(1), create(2)];
  expect(await outcomesOf(...changes)).toEqual(["done", "invalid", "done", "invalid"]);
  expect(cloud.shown()).toEqual(["10.244.1.0/24 -> n1", "10.244.2.0/24 -> gone"]);
});

test("does not split a request when the cloud is unavailable", async () => {
  const { cloud, outcomesOf, create } = setUp();
  cloud.failures.set("*", refusal("unavailable"));
  expect(await outcomesOf(create(1), create(2))).toEqual(["unavailable", "unavailable"]);
  expect(cloud.changes).toEqual(["change +2 -0"]);
});

test("keeps the result of the first half of a split request, and sends the rest later if rereading fails", async () => {
  const { cloud, outcomesOf, create } = setUp();
  cloud.failures.set("10.244.1.0/24", refusal("invalid"));
  await outcomesOf(create(1));
  cloud.failures.clear();
  cloud.failsAt = { position: cloud.calls.length + 2, error: refusal("unavailable"), lands: false };
  // Nothing was sent for the first change, so it is not a creation that may have had an effect.
  expect(await outcomesOf(create(1), create(2))).toEqual(["busy", "done"]);
});

test("sends nothing more after its signal is aborted", async () => {
  const { cloud, stop, outcomesOf, create } = setUp();
  const changes = [create(1), create(2)];
  stop.abort(new Error("asked to stop"));
  expect(await outcomesOf(...changes)).toEqual(["Error: asked to stop", "Error: asked to stop"]);
  expect(cloud.calls).toEqual([]);
});

test("creates the replacement of a removed route although reads still show the removed route", async () => {
  let shown: readonly unknown[] | undefined;
  const { cloud, routes, call, outcomesOf, create } = setUp({}, ({ read }) => ({
    read: async (given) => {
      const document = await read(given);
      return shown === undefined ? document : { ...document, routes: shown as typeof document.routes };
    },
  }));
  const old = cloud.put("10.244.1.0/24", { targetKey: "gone" });
  shown = [old];
  expect(await outcomesOf(routes.remove(old, call))).toEqual(["done"]);
  expect(await outcomesOf(create(1))).toEqual(["done"]);
  expect(cloud.shown()).toEqual(["10.244.1.0/24 -> n1"]);
});

test("when a provider throws, each change fails with the provider's error", async () => {
  const { outcomesOf, create } = setUp({}, () => ({
    change: () => {
      throw new TypeError("no handles");
    },
  }));
  expect(await outcomesOf(create(1), create(2))).toEqual(Array(2).fill("TypeError: no handles"));
});
