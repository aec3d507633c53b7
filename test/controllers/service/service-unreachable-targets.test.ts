import { describe, expect, test } from "bun:test";
import {
  chooseTargets,
  type Reach,
  type TargetPolicy,
} from "../../../src/controllers/service/targets/choose-targets.ts";
import { nodeName } from "../../../src/core/brand.ts";
import { parseNodeSelector } from "../../../src/core/node-selector.ts";
import { messageIn } from "../../../src/core/problem.ts";
import { scriptedWorld } from "../../support/scripted-world.ts";
import { toTarget } from "./service-draft.ts";

// Nodes that a load balancer cannot reach are not its targets, and the Service reports that once.

const cause = "they have no address in network lan";
const lan: Reach = ({ labels }) => (labels["network"] === "wan" ? cause : true);
const wan = { labels: { network: "wan" } };

describe("chooseTargets", () => {
  const targets = [toTarget("a", wan), toTarget("b"), toTarget("c", wan), toTarget("d"), toTarget("e")];
  const choose = (rules: TargetPolicy, candidates = targets) => {
    const chosen = chooseTargets(candidates, { reach: lan, ...rules });
    return {
      names: chosen.targets.map(({ node }) => `${node}`),
      reasons: chosen.problems.map(({ reason }) => reason),
      texts: chosen.problems.map(messageIn),
    };
  };

  test("omits unreachable targets before it applies the limit", () => {
    const { names, reasons } = choose({ policy: "all", cloudLimit: 3 });
    expect([names, reasons]).toEqual([["b", "d", "e"], ["TargetsUnreachable"]]);
    // The remaining targets are fewer than the limit, so it is not reached.
    expect(choose({ policy: "subset", limit: 4 }).names).toEqual(["b", "d", "e"]);
  });

  test("groups the omitted Nodes by cause", () => {
    expect(choose({ policy: "all" }).texts).toEqual([
      "2 of 5 Nodes cannot be targets of this load balancer: they have no address in network lan (a, c). They get no traffic from it. Correct these Nodes or the settings of the Service, or select other Nodes with fairlead.dev/target-selector.",
    ]);
  });

  test("reports only Nodes that the Service selects", () => {
    const endpoints = { nodes: new Set([nodeName("a"), nodeName("b")]), haveNoNode: false };
    const { names, texts } = choose({ policy: "endpoints", endpoints });
    expect(names).toEqual(["b"]);
    expect(texts.join()).toContain("1 of 2 Nodes cannot be targets of this load balancer: they have no");
    const away = parseNodeSelector("network=wan");
    if ("wrong" in away) throw new Error(away.wrong);
    const rules = { policy: "selector", selector: away.value } as const;
    expect(choose(rules)).toMatchObject({ names: [], reasons: ["TargetsUnreachable"] });
  });

  test("reports Nodes that are excluded by design only when no target remains", () => {
    const reach: Reach = (target) => (lan(target) === true ? true : { byDesign: "they have no instance" });
    expect(choose({ policy: "all", reach })).toMatchObject({ names: ["b", "d", "e"], reasons: [] });
    const { texts } = choose({ policy: "all", reach }, [toTarget("a", wan)]);
    expect(texts.join("\n")).toContain("they have no instance (a)");
  });

  test("reports neither draining Nodes nor Nodes without a known machine", () => {
    const { machine: _, ...joining } = toTarget("a", wan);
    const leaving = toTarget("b", { ...wan, draining: true });
    expect(choose({ policy: "all" }, [joining, leaving, toTarget("c")])).toMatchObject({
      names: ["c"],
      reasons: [],
    });
  });

  test("reports with upstream's message when no Node can be reached", () => {
    const { names, reasons } = choose({ policy: "all" }, [toTarget("a", wan)]);
    expect([names, reasons]).toEqual([[], ["UnAvailableLoadBalancer", "TargetsUnreachable"]]);
  });
});

const unreachableWorld = () =>
  scriptedWorld(undefined, () => ({
    reaches:
      () =>
      ({ node }) =>
        /^(far|node-0)/.test(node) ? cause : true,
    targetLimit: ({ settings }, observed) => (settings.size === "large" && observed !== undefined ? 10 : 2),
  }));

const warnings = (w: ReturnType<typeof unreachableWorld>["w"]) =>
  w.events("web").filter((text) => text.startsWith("Warning "));

test("unreachable Nodes that join change nothing, and the Service has one event", async () => {
  const { w, script } = unreachableWorld();
  await w.start();
  w.create("web");
  await w.pass(30);
  expect([...script.things.values()].map(({ targets }) => targets)).toEqual([2]);
  expect(warnings(w)).toHaveLength(1);
  expect(warnings(w)[0]).toContain(
    "TargetsUnreachable 1 of 3 Nodes cannot be targets of this load balancer: they have no address in network lan (node-0).",
  );
  w.forget();
  const applied = script.applied.length;
  for (const name of ["far-1", "far-2", "far-3"]) {
    w.addNode(name);
    await w.pass(30);
  }
  expect([warnings(w).length, w.written, script.applied.length]).toEqual([1, [], applied]);
});

test("Nodes that join above the limit of targets cause no second event", async () => {
  const { w } = unreachableWorld();
  for (const name of ["near-1", "near-2"]) w.addNode(name);
  await w.start();
  w.create("web");
  await w.pass(30);
  const limits = () => warnings(w).filter((text) => text.includes("TargetLimit"));
  expect(limits()).toHaveLength(1);
  for (const name of ["near-3", "near-4"]) {
    w.addNode(name);
    await w.pass(30);
  }
  expect(limits()).toHaveLength(1);
});

test("a restart over unreachable Nodes publishes an event and writes nothing else", async () => {
  const { w, script } = unreachableWorld();
  await w.start();
  w.create("web");
  await w.pass(30);
  w.crash();
  w.forget();
  const applied = script.applied.length;
  await w.start();
  await w.pass(60);
  expect([w.written, script.applied.length]).toEqual([[], applied]);
});

test("a Node that becomes reachable by a label becomes a target", async () => {
  const { w, script } = scriptedWorld(undefined, () => ({
    reaches:
      () =>
      ({ labels }) =>
        labels["network"] === "lan" || cause,
  }));
  await w.start();
  w.create("web");
  await w.pass(30);
  w.changeNode("node-1", ({ metadata, ...node }) => ({
    ...node,
    metadata: { ...metadata, labels: { ...metadata.labels, network: "lan" } },
  }));
  await w.pass(10);
  expect([...script.things.values()].map(({ targets }) => targets)).toEqual([1]);
});

test("the limit of targets follows the settings of the Service and of the existing load balancer", async () => {
  const { w, script } = unreachableWorld();
  for (const name of ["near-1", "near-2"]) w.addNode(name);
  await w.start();
  w.create("web", { annotations: { "scripted.example/size": "large" } });
  await w.pass(30);
  expect([...script.things.values()].map(({ targets }) => targets)).toEqual([4]);
  w.annotate("web", { "scripted.example/size": "small" });
  await w.pass(30);
  expect([...script.things.values()].map(({ targets }) => targets)).toEqual([2]);
});
