// The contract of a provider's routes, in either style: desired routes are created, marked routes that are not
// desired are removed, and all other routes stay unchanged. A change that was planned from an incorrect listing is
// rejected or has no effect; it never damages existing routes.

import { describe, expect, test } from "bun:test";
import { CloudError } from "../../provider/errors.ts";
import { type ServingTable, tablesOf } from "../../provider/route-tables.ts";
import type { DesiredRoute, ObservedRoute, RouteDocument } from "../../provider/routes.ts";
import { convergeRoutes, neededIn, planOf } from "./converge-routes.ts";
import { labWithTargets, routesTo } from "./desired.ts";
import { expectSameEndAfterCrashes, expectSameEndAfterFaults } from "./end-states.ts";
import { manyRuns, readFaultKinds } from "./faulty-transport.ts";
import { collect, failureOf, type Lab } from "./lab.ts";
import type { Harness } from "./simulated-cloud.ts";

/** Runs the contract of `routes` as bun tests. Call it at the top level of a test file. */
export function routesConformance(name: string, harness: Harness): void {
  const wantedRoute = routesTo(harness);
  const first = [wantedRoute("10.244.1.0/24", 1), wantedRoute("10.244.2.0/24", 2)];
  // One route is unchanged, one has a different target, and one is new.
  const second = [
    wantedRoute("10.244.1.0/24", 1),
    wantedRoute("10.244.2.0/24", 3),
    wantedRoute("10.244.3.0/24", 2),
  ];

  const phases = [first, second, []];
  const fresh = () => labWithTargets(harness);
  const freshWorld = () => ({ lab: fresh() });

  const live = async ({ lab }: { readonly lab: Lab }): Promise<string[]> => {
    const states: string[] = [];
    for (const wanted of phases) {
      await convergeRoutes(lab, wanted);
      states.push(lab.state);
    }
    return states;
  };

  describe(`${name}: routes`, () => {
    routeListingConformance(harness, first);

    test("creates, moves and removes its own routes, and keeps all others", async () => {
      const lab = fresh();
      const before = lab.state;
      const [made, moved, removed] = await live({ lab });
      expect(new Set([before, made, moved]).size).toBe(3);
      expect(removed).toBe(before);
      expect([lab.undeclaredMutations, lab.leakedListeners]).toEqual([[], 0]);
    });

    test("changes nothing once converged, even after a restart", async () => {
      const lab = fresh();
      await convergeRoutes(lab, first);
      const before = lab.mutations;
      lab.connect();
      expect(await convergeRoutes(lab, first)).toBe(0);
      expect(lab.mutations).toBe(before);
    });

    test.each(readFaultKinds)(
      "reaches the same end state with a %p fault at every operation",
      (kind) => expectSameEndAfterFaults(kind, freshWorld, live),
      manyRuns,
    );

    test("reaches the same end state after a crash between any two steps", () =>
      expectSameEndAfterCrashes(freshWorld, phases, ({ lab }, wanted, crashAt) =>
        convergeRoutes(lab, wanted, crashAt === undefined ? {} : { stepsLeft: crashAt + 1 }),
      ));

    test("keeps a change by another client between the read and the write", async () => {
      const lab = fresh();
      const { disturbRoutes } = lab.simulated;
      if (disturbRoutes === undefined) return;
      await convergeRoutes(lab, first, { beforeChange: disturbRoutes });
      const expected = fresh();
      expected.simulated.disturbRoutes?.();
      await convergeRoutes(expected, first);
      expect(lab.state).toBe(expected.state);
    });
  });
}

/** The framework's assumption about a table, and the resulting changes. */
interface TableBelief {
  readonly table: ServingTable;
  readonly listed: readonly ObservedRoute[];
  readonly document: RouteDocument | undefined;
}
type Belief = readonly TableBelief[];

/** Omits the framework's adapters, so that a document can be changed directly. */
const tablesIn = ({ cloud: { routes } }: Lab): readonly ServingTable[] =>
  routes === undefined ? [] : tablesOf(routes);

async function readAll(lab: Lab): Promise<Belief> {
  const beliefs: TableBelief[] = [];
  for (const table of tablesIn(lab)) {
    const { routes } = table;
    if (routes.style === "document") {
      const document = await lab.run((call) => routes.read(call));
      beliefs.push({ table, listed: document.routes, document });
    } else {
      const pages = await lab.run((call) => collect(routes.list(call)));
      beliefs.push({ table, listed: pages.flatMap((page) => page.routes), document: undefined });
    }
  }
  return beliefs;
}

const needed = ({ serves, routes: { families } }: ServingTable, wanted: readonly DesiredRoute[]) =>
  neededIn({ serves, families }, wanted);

const listedIn = (belief: Belief): readonly ObservedRoute[] => belief.flatMap(({ listed }) => listed);
const changed = (belief: Belief, change: (listed: readonly ObservedRoute[]) => readonly ObservedRoute[]) =>
  belief.map((one) => ({ ...one, listed: change(one.listed) }));

/** Applies the changes that follow from the assumption. The cloud may reject any of them. */
async function actOn(lab: Lab, belief: Belief, wanted: readonly DesiredRoute[]): Promise<void> {
  for (const one of belief) await actOnTable(lab, one, wanted);
}

async function actOnTable(
  lab: Lab,
  { table, listed, document }: TableBelief,
  wanted: readonly DesiredRoute[],
): Promise<void> {
  // The provider may have been reconnected since.
  const routes = tablesIn(lab).find(({ name }) => name === table.name)?.routes ?? table.routes;
  const { create, remove } = planOf(needed(table, wanted), listed);
  if (routes.style === "document") {
    if (document === undefined) return;
    await unlessRefused(lab.run((call) => routes.change({ create, remove }, document, call)));
    return;
  }
  for (const route of remove) await unlessRefused(lab.run((call) => routes.remove(route, call)));
  for (const route of create) await unlessRefused(lab.run((call) => routes.create(route, call)));
}

async function unlessRefused(change: Promise<unknown>): Promise<void> {
  try {
    await change;
  } catch (error) {
    if (!CloudError.is(error)) throw error;
  }
}

/** Listings that are empty, short, old, repeated, or of another cluster. */
function routeListingConformance(harness: Harness, wanted: readonly DesiredRoute[]): void {
  const settled = async (): Promise<{
    readonly lab: Lab;
    readonly state: string;
    readonly belief: Belief;
  }> => {
    const lab = labWithTargets(harness);
    await convergeRoutes(lab, wanted);
    return { lab, state: lab.state, belief: await readAll(lab) };
  };
  for (const [text, listedOf] of [
    ["is empty", () => []],
    ["lacks one route", (listed: readonly ObservedRoute[]) => listed.slice(1)],
  ] as const) {
    test(`creates no second route when a listing ${text}`, async () => {
      const { lab, state, belief } = await settled();
      // A document that lacks entries but has the correct revision is a different document, not an incorrect listing.
      if (belief.some(({ document }) => document !== undefined)) return;
      await actOn(lab, changed(belief, listedOf), wanted);
      expect(lab.state).toBe(state);
      expect(await convergeRoutes(lab, wanted)).toBe(0);
    });
  }

  test("reaches the same end state when a listing is older than the last change", async () => {
    const lab = labWithTargets(harness);
    const empty = await readAll(lab);
    await convergeRoutes(lab, wanted);
    const [state, full] = [lab.state, await readAll(lab)];
    await actOn(lab, empty, wanted);
    expect(lab.state).toBe(state);
    await convergeRoutes(lab, []);
    const removed = lab.state;
    await actOn(lab, full, []);
    expect(lab.state).toBe(removed);
    await actOn(lab, full, wanted);
    await convergeRoutes(lab, wanted);
    expect(lab.state).toBe(state);
  });

  test("removes a repeated route once, and keeps the other routes", async () => {
    const { lab, belief } = await settled();
    const expected = labWithTargets(harness);
    await convergeRoutes(expected, wanted);
    await convergeRoutes(expected, wanted.slice(1));
    const twice = changed(belief, (listed) => listed.flatMap((route) => [route, route]));
    await actOn(lab, twice, wanted.slice(1));
    await convergeRoutes(lab, wanted.slice(1));
    expect(lab.state).toBe(expected.state);
  });

  test("lists no route of another cluster as its own", async () => {
    const { lab, state } = await settled();
    lab.connect("third-cluster");
    const foreign = await readAll(lab);
    if (listedIn(foreign).some(({ ownership }) => ownership === "unmarked")) return;
    expect(listedIn(foreign).filter(({ ownership }) => ownership === "marked")).toEqual([]);
    await actOn(lab, foreign, wanted);
    await actOn(lab, foreign, []);
    expect(lab.state).toBe(state);
  });

  test("creates the missing part after a creation that was applied but reported as failed", async () => {
    const lab = labWithTargets(harness);
    const table = (await readAll(lab)).find((one) => needed(one.table, wanted).length > 0);
    const [first] = table === undefined ? [] : needed(table.table, wanted);
    if (table === undefined || first === undefined) throw new Error("The suite needs a route.");
    const { routes } = table.table;
    const create = async (): Promise<void> => {
      if (routes.style === "one-by-one") await lab.run((call) => routes.create(first, call));
      else if (table.document !== undefined) {
        const { document } = table;
        await lab.run((call) => routes.change({ create: [first], remove: [] }, document, call));
      }
    };
    lab.faulty.failAt(0, "lost-answer");
    await unlessRefused(create().catch(() => undefined));
    await unlessRefused(create());
    await convergeRoutes(lab, wanted);
    const expected = labWithTargets(harness);
    await convergeRoutes(expected, wanted);
    expect(lab.state).toBe(expected.state);
  });

  test("fails a listing that lacks a page or an entry counted by the cloud", async () => {
    const { lab } = await settled();
    const { shortenNextRoutePage } = lab.simulated;
    if (shortenNextRoutePage === undefined) return;
    for (const { routes } of tablesIn(lab)) {
      if (routes.style === "document") continue;
      shortenNextRoutePage();
      expect(await failureOf(lab.run((call) => collect(routes.list(call))))).toBeInstanceOf(CloudError);
    }
  });
}
