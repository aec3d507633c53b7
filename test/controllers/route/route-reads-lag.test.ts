import { afterEach, describe, expect, test } from "bun:test";
import { exactly } from "../../../src/controllers/route/deps.ts";
import { milliseconds, seconds } from "../../../src/core/brand.ts";
import type { Pending } from "../../../src/provider/plan.ts";
import type { ObservedRoute } from "../../../src/provider/routes.ts";
import { type RouteSetup, RouteWorld } from "./route-world.ts";
import { type RoutesScript, ScriptedRoutes } from "./scripted-routes.ts";

// A cloud whose route listings show changes 20 s after accepting them, and a provider that declares 25 s.

let world: RouteWorld | undefined;
afterEach(() => world?.stop());

const lag = seconds(20);
const rangeOf = (name: string) => `10.244.${name.slice(1)}.0/24`;

const setUp = (script: RoutesScript = {}, setup: RouteSetup = {}) => {
  let table: ScriptedRoutes | undefined;
  const states: { readonly at: number; readonly table: readonly ObservedRoute[] }[] = [];
  const w = new RouteWorld({
    settings: { fullCheck: exactly(seconds(7)) },
    ...setup,
    routes: (clock) => {
      const made = new ScriptedRoutes(clock, script);
      table = made;
      const record = () => void states.push({ at: clock.monotonic(), table: [...made.table] });
      const recording = async <T>(change: Promise<T>): Promise<T> => {
        const outcome = await change;
        record();
        return outcome;
      };
      const lagging = (): readonly ObservedRoute[] => {
        record();
        return states.findLast(({ at }) => at <= clock.monotonic() - lag)?.table ?? [];
      };
      const readsLag = milliseconds(lag + 5000);
      const { routes } = made;
      if (routes.style === "document") {
        return {
          ...routes,
          readsLag,
          change: (...given) => recording(routes.change(...given)),
          read: async (call) => ({ ...(await routes.read(call)), routes: lagging() }),
        };
      }
      return {
        ...routes,
        readsLag,
        create: (...given) => recording(routes.create(...given)),
        remove: (...given) => recording(routes.remove(...given)),
        list: async function* (call) {
          for await (const _ of routes.list(call));
          yield { routes: lagging() };
        },
      };
    },
  });
  world = w;
  if (table === undefined) throw new Error("The world has a table.");
  return { w, table };
};

describe.each(["one-by-one", "document"] as const)(
  "listings of routes that lag behind changes, %s",
  (style) => {
    test("sends each change once although listings lag, and immediately sets correct conditions", async () => {
      const { w, table } = setUp({ style });
      for (const name of ["n1", "n2", "n3"]) w.add(name, rangeOf(name));
      await w.settle();
      const created = table.changes.length;
      expect(table.table).toHaveLength(3);
      expect(["n1", "n2", "n3"].map((name) => w.network(name))).toEqual(Array(3).fill("False RouteCreated"));
      w.nodes.remove("n2");
      await w.pass(40);
      expect(table.table).toHaveLength(2);
      const removed = table.changes.length;
      expect(removed).toBe(created + 1);
      await w.pass(300);
      expect(table.changes).toHaveLength(removed);
      expect(w.reported).toEqual([]);
      expect(w.reportedProblems).toEqual([]);
    });

    test("a Node that leaves before its route is shown leaves no route behind", async () => {
      const { w, table } = setUp({ style });
      w.add("n1", rangeOf("n1"));
      await w.settle();
      expect(table.table).toHaveLength(1);
      w.nodes.remove("n1");
      await w.pass(60);
      expect(table.table).toEqual([]);
      expect(w.reportedProblems).toEqual([]);
    });

    test("a Node that gets a new machine before its route is shown gets the correct route", async () => {
      const { w, table } = setUp({ style });
      w.add("n1", rangeOf("n1"));
      await w.settle();
      w.nodes.remove("n1");
      w.add("n9", rangeOf("n1"));
      w.inventory.requestListing(w.clock.monotonic(), "refresh");
      await w.pass(120);
      expect(table.shown()).toEqual([`${rangeOf("n1")} -> n9 10.0.0.1`]);
      expect(w.network("n9")).toBe("False RouteCreated");
    });
  },
);

test("sends a creation by an operation once although listings lag", async () => {
  const running = new Map<string, () => void>();
  const pending: Pending = {
    limit: 10,
    check: async (ids) => {
      for (const id of ids) running.get(id)?.();
      return new Map(ids.map((id) => [id, { done: true } as const]));
    },
  };
  const { w, table } = setUp({}, { pending });
  table.outcomes.push({
    done: false,
    operation: "op-1",
    checkAfter: seconds(2),
    waitingFor: "the route",
  });
  running.set("op-1", () => void table.put(rangeOf("n1"), { targetKey: "n1" }));
  w.add("n1", rangeOf("n1"));
  await w.settle();
  await w.pass(120);
  expect(table.changes).toEqual(["create 10.244.1.0/24"]);
  expect(table.table).toHaveLength(1);
  expect(w.network("n1")).toBe("False RouteCreated");
});

test("proving the absence of a route takes longer than the read lag", async () => {
  const { w, table } = setUp({}, { settings: { fullCheck: exactly(seconds(7)), confirmAfter: seconds(1) } });
  for (const name of ["n1", "n2", "n3"]) w.add(name, rangeOf(name));
  await w.settle();
  await w.pass(60);
  table.table = table.table.slice(1);
  const lostAt = w.clock.monotonic();
  await w.clock.until(() => table.table.length === 3, seconds(300), "the route");
  expect(w.clock.monotonic() - lostAt).toBeGreaterThanOrEqual(50_000);
});
