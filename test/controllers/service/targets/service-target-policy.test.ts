import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  chooseTargets,
  inRendezvousOrder,
  type TargetPolicy,
} from "../../../../src/controllers/service/targets/choose-targets.ts";
import { nodeName } from "../../../../src/core/brand.ts";
import { hash } from "../../../../src/core/hash.ts";
import { parseNodeSelector } from "../../../../src/core/node-selector.ts";
import type { BalancerTarget } from "../../../../src/provider/load-balancers.ts";
import { toTarget } from "../service-draft.ts";

const namesOf = (targets: readonly { readonly node: string }[]): string[] => targets.map(({ node }) => node);

const selector = (text: string) => {
  const parsed = parseNodeSelector(text);
  if ("wrong" in parsed) throw new Error(parsed.wrong);
  return parsed.value;
};

describe("node selector [F42]", () => {
  const labels = { pool: "web", tier: "gold", "example.com/rack": "r1", bare: "", cores: "8" };
  // As in labels.Parse of Kubernetes.
  test.each<[string, boolean | "refused"]>([
    ["pool=web", true],
    ["pool==web", true],
    ["pool = web , tier = gold", true],
    ["pool=web,tier=silver", false],
    ["pool!=api", true],
    ["none!=api", true],
    ["pool in (web, api)", true],
    ["pool in (api)", false],
    ["pool notin (api),tier in (gold,silver)", true],
    ["none notin (a)", true],
    ["none in (a)", false],
    ["example.com/rack", true],
    ["!example.com/rack", false],
    ["!none", true],
    ["bare=", true],
    ["bare in ()", true],
    ["cores>4", true],
    ["cores > 8", false],
    ["cores<9,cores>7", true],
    ["cores < 10,pool=web", true],
    ["cores>-1", "refused"],
    ["pool>4", false],
    ["none<4", false],
    ["none>0", false],
    ["cores>four", "refused"],
    ["cores>", "refused"],
    ["cores>=4", "refused"],
    ["pool=web/api", "refused"],
    ["pool in (web/api)", "refused"],
    ["example.com/rack/row=r1", "refused"],
  ])("evaluates the label selector %s", (text, expected) => {
    const parsed = parseNodeSelector(text);
    expect("wrong" in parsed ? "refused" : parsed.value.matches(labels)).toBe(expected);
  });

  test.each([
    "",
    "pool=web,",
    "pool in web",
    "pool in (web",
    "=web",
    "pool=web=api",
    "pool web",
    "!",
    "-a=b",
  ])("rejects the label selector %p", (text) => {
    expect("wrong" in parseNodeSelector(text)).toBe(true);
  });

  test("a node selector never throws on any text", () => {
    fc.assert(fc.property(fc.string(), (text) => void parseNodeSelector(text)));
  });
});

describe("chooseTargets", () => {
  const targets = [
    toTarget("a", { labels: { pool: "web" } }),
    toTarget("b", { labels: { pool: "api" } }),
    toTarget("c", { labels: { pool: "web" } }),
  ];
  const cases: readonly [string, TargetPolicy, readonly string[], readonly string[]][] = [
    ["takes all Nodes by default", { policy: "all" }, ["a", "b", "c"], []],
    [
      "takes Nodes with matching labels [F42]",
      { policy: "selector", selector: selector("pool=web") },
      ["a", "c"],
      [],
    ],
    [
      "warns when no Node matches the labels",
      { policy: "selector", selector: selector("pool=x") },
      [],
      ["NoMatchingNode"],
    ],
    [
      "takes Nodes with an endpoint [F43 N12]",
      { policy: "endpoints", endpoints: { nodes: new Set([nodeName("b")]), haveNoNode: false } },
      ["b"],
      [],
    ],
    [
      "takes all Nodes and warns when the selector is missing",
      { policy: "selector" },
      ["a", "b", "c"],
      ["MissingSelector"],
    ],
    [
      "takes all Nodes and warns when there is no endpoint [F43]",
      { policy: "endpoints", endpoints: { nodes: new Set(), haveNoNode: false } },
      ["a", "b", "c"],
      ["NoEndpoints"],
    ],
    [
      "takes all Nodes and warns when the endpoints name no Node [F43 F57]",
      { policy: "endpoints", endpoints: { nodes: new Set(), haveNoNode: true } },
      ["a", "b", "c"],
      ["NoEndpoints"],
    ],
    [
      "takes at most as many as the cloud allows [F44 N12]",
      { policy: "all", cloudLimit: 0 },
      [],
      ["TargetLimit"],
    ],
    [
      "takes a subset below the cloud's limit",
      { policy: "subset", limit: 3, cloudLimit: 4 },
      ["a", "b", "c"],
      [],
    ],
    [
      "takes the cloud's limit when the subset is larger [F44]",
      { policy: "subset", limit: 2, cloudLimit: 0 },
      [],
      ["TargetLimit"],
    ],
    ["takes all Nodes while endpoints are unknown", { policy: "endpoints" }, ["a", "b", "c"], []],
    ["takes all Nodes below the configured limit [F44]", { policy: "all", limit: 3 }, ["a", "b", "c"], []],
  ];
  test.each(cases)("%s", (_, rules, names, reasons) => {
    const chosen = chooseTargets(targets, rules);
    expect(namesOf(chosen.targets)).toEqual([...names]);
    expect(chosen.problems.map(({ reason }) => reason)).toEqual([...reasons]);
  });

  test("reports with upstream's message that there are no Nodes", () => {
    const text = "There are no available nodes for LoadBalancer";
    const expected = [{ severity: "warning", reason: "UnAvailableLoadBalancer", text }] as const;
    expect(chooseTargets([], { policy: "all" })).toEqual({ targets: [], problems: expected });
    const draining = [toTarget("a", { draining: true })];
    expect(chooseTargets(draining, { policy: "all" })).toEqual({ targets: draining, problems: expected });
  });

  test("selects a subset above the limit and reports the numbers [F44 N12]", () => {
    const { targets: chosen, problems } = chooseTargets(targets, { policy: "all", limit: 2 });
    expect(chosen).toHaveLength(2);
    expect(problems).toMatchObject([{ severity: "warning", reason: "TargetLimit" }]);
    expect(problems[0]?.text).toContain("accepts 2 targets, and there are 3 Nodes");
  });

  test("reports no problem for a configured subset [N12]", () => {
    const { targets: chosen, problems } = chooseTargets(targets, { policy: "subset", limit: 2 });
    expect([chosen.length, problems.length]).toEqual([2, 0]);
  });

  test("prefers Nodes that stay over draining Nodes", () => {
    const leaving = [toTarget("d", { draining: true }), toTarget("e", { draining: true })];
    const { targets: chosen } = chooseTargets([...targets, ...leaving], { policy: "subset", limit: 4 });
    expect(namesOf(chosen).slice(0, 3)).toEqual(["a", "b", "c"]);
    expect(chosen).toHaveLength(4);
  });
});

describe("rendezvous subset [F44 N12]", () => {
  const name = fc.stringMatching(/^node-[a-z0-9]{1,6}$/);
  const nodes = fc.uniqueArray(fc.record({ name, zone: fc.constantFrom("a", "b", "c", "") }), {
    selector: (node) => node.name,
    minLength: 1,
    maxLength: 40,
  });
  const limit = fc.integer({ min: 1, max: 20 });
  const toTargets = (some: readonly { name: string; zone: string }[]): readonly BalancerTarget[] =>
    some.map(({ name: node, zone }) => toTarget(node, zone === "" ? {} : { zone }));
  const subset = (some: readonly { name: string; zone: string }[], max: number, seed = "s") =>
    chooseTargets(toTargets(some), { policy: "subset", limit: max, seed }).targets;

  test("a rendezvous subset has the allowed size, in any order of Nodes", () => {
    fc.assert(
      fc.property(nodes, limit, (some, max) => {
        const chosen = namesOf(subset(some, max));
        expect(chosen).toHaveLength(Math.min(some.length, max));
        expect(namesOf(subset(some.toReversed(), max)).toSorted()).toEqual(chosen.toSorted());
      }),
    );
  });

  test("a rendezvous subset gives every zone an equal share if the zone has enough Nodes", () => {
    fc.assert(
      fc.property(nodes, limit, (some, max) => {
        const zoneOf = new Map(some.map((node) => [node.name, node.zone]));
        const count = (names: readonly string[]) => {
          const counts = new Map<string, number>();
          for (const each of names) {
            const zone = zoneOf.get(each) ?? "";
            counts.set(zone, (counts.get(zone) ?? 0) + 1);
          }
          return counts;
        };
        const have = count(some.map((node) => node.name));
        const got = count(namesOf(subset(some, max)));
        const largest = Math.max(...got.values());
        for (const [zone, all] of have) {
          const taken = got.get(zone) ?? 0;
          if (taken < all) expect(largest - taken).toBeLessThanOrEqual(1);
        }
      }),
    );
  });

  test("a rendezvous subset changes by at most one member when one Node joins", () => {
    fc.assert(
      fc.property(nodes, limit, (some, max) => {
        const before = new Set(namesOf(subset(some.slice(1), max)));
        const after = new Set(namesOf(subset(some, max)));
        expect([...after].filter((each) => !before.has(each)).length).toBeLessThanOrEqual(1);
        expect([...before].filter((each) => !after.has(each)).length).toBeLessThanOrEqual(1);
      }),
      { numRuns: 300 },
    );
  });

  test("a rendezvous subset differs between Services, so that all Nodes carry load", () => {
    const some = Array.from({ length: 20 }, (_, index) => ({ name: `node-${index}`, zone: "" }));
    const used = new Set(
      Array.from({ length: 30 }, (_, index) => `uid-${index}`).flatMap((seed) =>
        namesOf(subset(some, 3, seed)),
      ),
    );
    expect(used.size).toBeGreaterThan(15);
  });

  test("a rendezvous subset is stable for one seed, and its hash is evenly distributed", () => {
    const names = Array.from({ length: 1000 }, (_, index) => `node-${index}`);
    const once = inRendezvousOrder(names, (each) => each, "x");
    expect(inRendezvousOrder(names.toReversed(), (each) => each, "x")).toEqual(once);
    // A different order would change the targets of existing load balancers.
    expect(once).toEqual(names.toSorted((a, b) => hash(`x/${a}`) - hash(`x/${b}`)));
    const buckets = new Array<number>(10).fill(0);
    for (const each of names) {
      const bucket = hash(each) % 10;
      buckets[bucket] = (buckets[bucket] ?? 0) + 1;
    }
    expect(Math.min(...buckets)).toBeGreaterThan(60);
  });
});
