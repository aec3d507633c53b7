// The conformance suites treat a provider as the framework does: which targets a plan gets, when they
// observe, and what they wait for.

import { describe, expect, test } from "bun:test";
import { fake } from "../../../providers/fake/index.ts";
import { harness as fakeHarness } from "../../../providers/fake/simulator/harness.ts";
import {
  type BalancerTarget,
  CloudError,
  type CloudTransport,
  defineProvider,
  type LoadBalancers,
  type NodeName,
  type ObservedLoadBalancer,
  oneOf,
  type Step,
  seconds,
} from "../../../src/index.ts";
import { convergeRoutes } from "../../../src/testing/conformance/converge-routes.ts";
import { routesTo } from "../../../src/testing/conformance/desired.ts";
import { unobservedSettings } from "../../../src/testing/conformance/load-balancers-conformance.ts";
import { converge, type Harness, Lab, makeDesired, targetOf } from "../../../src/testing/index.ts";

type Balancers = LoadBalancers<Record<never, never>, ObservedLoadBalancer, Step>;

/** A cloud without requests, whose load balancers come from a function. */
function harnessOf(loadBalancers: (lab: () => Lab) => Partial<Balancers>): { lab: Lab; harness: Harness } {
  let lab: Lab | undefined;
  const current = (): Lab => {
    if (lab === undefined) throw new Error("There is no lab yet.");
    return lab;
  };
  const base: Balancers = {
    list: async function* () {},
    plan: () => ({ steps: [] }),
    apply: async () => ({ done: true }),
    publish: () => ({ kind: "not-ours" }),
  };
  const definition = defineProvider({
    contract: 3,
    name: "scripted",
    schemes: ["scripted://"],
    config: {},
    connect: () => ({ loadBalancers: { ...base, ...loadBalancers(current) } }),
  });
  const harness: Harness = {
    definition,
    config: {},
    listingRequests: () => 0,
    simulate: () => ({
      ...fakeHarness.simulate({ now: () => 0, monotonic: () => 0, after: () => () => {} }),
      state: () => ({}),
    }),
  };
  lab = new Lab(harness);
  return { lab, harness };
}

const owners = (uid: string) => [uid] as unknown as ObservedLoadBalancer["owners"];
const balancer = (uid: string, more: Partial<ObservedLoadBalancer> = {}): ObservedLoadBalancer => ({
  name: uid,
  owners: owners(uid),
  ownership: "ours",
  state: "ready",
  ...more,
});
const nodes = (targets: readonly BalancerTarget[]): readonly NodeName[] => targets.map(({ node }) => node);
const three = ["a", "b", "c"].map((name) => targetOf(name, "cloud", name));

async function convergeOne(lab: Lab, harness: Harness, targets = three) {
  return converge(lab, [makeDesired(harness, { name: "web", targets })]);
}

/** Without `rejects`, which does not return while virtual time has to pass and other handles are open. */
const failureOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "it did not fail",
    (error: unknown) => String(error),
  );

describe("converge", () => {
  test.each([
    ["nothing for the Service", [], 1],
    ["a shallow object", [balancer("5e1f-web", { shallow: true })], 1],
    ["a complete object", [balancer("5e1f-web")], 0],
  ] as const)("with a listing that has %s, the suite observes %p times", async (_, listed, expected) => {
    let observed = 0;
    const { lab, harness } = harnessOf(() => ({
      list: async function* () {
        yield listed;
      },
      observe: async (_members, found) => {
        observed += 1;
        return found;
      },
    }));
    await convergeOne(lab, harness, []);
    expect(observed).toBe(expected);
  });

  test("the suite plans with the targets that the load balancer reaches, within its limit", async () => {
    const planned: (readonly NodeName[])[] = [];
    const { lab, harness } = harnessOf(() => ({
      reaches:
        () =>
        ({ node }) =>
          node !== "a" || "it is in another network",
      targetLimit: () => 1,
      plan: (member) => {
        planned.push(nodes(member?.targets ?? []));
        return { steps: [] };
      },
    }));
    await convergeOne(lab, harness);
    expect(planned[0]).toHaveLength(1);
    expect(planned.flat()).not.toContain("a");
  });

  test.each(["plan", "step", "operation"] as const)(
    "the suite drops and reports a target that a %s rejects",
    async (where) => {
      const refused = [{ node: "b", text: "too old" }];
      let set: readonly NodeName[] | undefined;
      const { lab, harness } = harnessOf(() => ({
        plan: (member) => {
          const wanted = nodes(member?.targets ?? []);
          if (String(set) === String(wanted)) return { steps: [] };
          if (where === "plan" && wanted.includes("b" as NodeName)) return { steps: [], refused };
          return { steps: [{ do: "set", wanted } as Step] };
        },
        apply: async (step) => {
          set = (step as Step & { readonly wanted: readonly NodeName[] }).wanted;
          const isFirst = set.includes("b" as NodeName);
          if (!isFirst) return { done: true };
          if (where === "step") return { done: true, refused };
          return { done: false, operation: "op", checkAfter: seconds(1), waitingFor: "it" };
        },
      }));
      lab.cloud = {
        ...lab.cloud,
        pending: { limit: 1, check: async () => new Map([["op", { done: true, refused }]]) },
      };
      const result = await convergeOne(lab, harness);
      expect([...result.refused]).toEqual(["b"]);
      expect(set as unknown).toEqual(["a", "c"]);
    },
  );

  test("the suite plans again immediately after a restart", async () => {
    let made = 0;
    const { lab, harness } = harnessOf(() => ({
      plan: () => ({ steps: made === 0 ? [{ do: "create" }] : [] }),
      apply: async () => {
        made += 1;
        return { done: true };
      },
    }));
    await convergeOne(lab, harness);
    made = 0;
    lab.connect();
    expect((await convergeOne(lab, harness)).steps).toBe(1);
  });

  test("the failure shows the last plan when the plans never end", async () => {
    const { lab, harness } = harnessOf(() => ({
      plan: () => ({ steps: [{ do: "rename", on: "lb-7" }] }),
    }));
    expect(await failureOf(convergeOne(lab, harness))).toContain(
      'did not converge within 100 passes. The last plan of Service 5e1f-web: {"steps":[{"do":"rename","on":"lb-7"}]}',
    );
  });

  test("the failure shows the last error when the plans never end", async () => {
    const { lab, harness } = harnessOf(() => ({
      plan: () => ({ steps: [{ do: "rename" }] }),
      apply: async () => {
        throw new CloudError("busy", "lb-7 is locked", { operation: "rename" });
      },
    }));
    expect(await failureOf(convergeOne(lab, harness))).toContain("The last pass failed: lb-7 is locked");
  });
});

describe("convergeRoutes", () => {
  const wanted = [routesTo(fakeHarness)("10.244.1.0/24", 1)];
  const labOf = (change: Partial<NonNullable<Lab["cloud"]["routes"]>>): Lab => {
    const lab = new Lab(fakeHarness);
    lab.cloud = { ...lab.cloud, routes: { ...lab.cloud.routes, ...change } as Lab["cloud"]["routes"] };
    return lab;
  };

  test("the failure shows the last plan when the plans never end", async () => {
    const lab = labOf({ create: async () => ({ done: true }) });
    expect(await failureOf(convergeRoutes(lab, wanted))).toContain(
      "did not converge within 100 passes. The last plan: create 10.244.1.0/24.",
    );
  });

  test("the suite sends a change once while listings lag behind it", async () => {
    let created = 0;
    const lab = labOf({});
    const { routes } = lab.cloud;
    if (routes === undefined || !("style" in routes) || routes.style !== "one-by-one")
      throw new Error("The fake cloud has one table.");
    let shownAt = Number.POSITIVE_INFINITY;
    lab.cloud = {
      ...lab.cloud,
      routes: {
        ...routes,
        readsLag: seconds(20),
        list: async function* (call) {
          const isShown = lab.clock.monotonic() >= shownAt;
          for await (const page of routes.list(call)) yield isShown ? page : { routes: [] };
        },
        create: async (route, call) => {
          created += 1;
          shownAt = lab.clock.monotonic() + 15_000;
          return routes.create(route, call);
        },
      },
    };
    expect(await convergeRoutes(lab, wanted)).toBe(1);
    expect(created).toBe(1);
    expect(lab.clock.monotonic()).toBeGreaterThanOrEqual(20_000);
  });
});

test.each(["unavailable", "unauthorized"] as const)(
  "the suite fetches a credential again that is %s once",
  async (kind) => {
    let fetched = 0;
    let transport: CloudTransport | undefined;
    const definition = defineProvider({
      ...fake,
      connect: (config, context) => {
        ({ transport } = context.account({
          name: "flaky",
          fetch: async () => {
            fetched += 1;
            if (kind === "unavailable" && fetched === 1)
              throw new CloudError("unavailable", "no credential", { operation: "login" });
            return { value: fetched };
          },
          sign: (request, value) => ({ ...request, headers: { "x-key": String(value) } }),
        }));
        return fake.connect(config, context);
      },
    });
    const lab = new Lab({ ...fakeHarness, definition });
    const request = { operation: "GET /balancers", method: "GET", url: "https://x.example/", mutates: false };
    const send = () =>
      lab.run(async (call) =>
        transport?.(request, call, async () => {
          if (kind === "unauthorized" && fetched === 1)
            throw new CloudError("unauthorized", "expired", { operation: "GET" });
          return fetched;
        }),
      );
    if (kind === "unavailable") expect(await failureOf(send())).toContain("no credential");
    else await send();
    expect(await send()).toBe(2);
  },
);

test("the suite names a setting that cannot be changed and is not observed, with a remedy", () => {
  const fields = {
    zone: oneOf("The zone.", ["a", "b"], { whenChanged: "reject" }),
    size: oneOf("The size.", ["s", "m"], {}),
    note: oneOf("A note.", ["x"], {}),
  };
  expect(unobservedSettings(fields, { size: "s" })).toEqual([
    'The annotation zone has whenChanged: "reject", but settingsOf does not return it: a change of it would have no effect. Return its value from settingsOf.',
  ]);
  expect(unobservedSettings(fields, { size: "s", zone: "a" })).toEqual([]);
});
