import { afterEach, describe, expect, test } from "bun:test";
import { explainPage } from "../../../src/app/endpoints/debug-pages.ts";
import {
  describeEverything,
  describeObject,
  isNotFound,
} from "../../../src/inspect/explain/describe-object.ts";
import type { Description } from "../../../src/inspect/explain/description.ts";
import { descriptionText, overviewText } from "../../../src/inspect/explain/explain-text.ts";
import { ServiceWorld } from "../../support/service-world.ts";

// Why a Service is pending, as an operator reads it: each case is a common cause.

let world: ServiceWorld | undefined;
afterEach(() => world?.stop());

const started = async (...flags: readonly string[]): Promise<ServiceWorld> => {
  world = new ServiceWorld();
  await world.start(...flags);
  return world;
};
const explain = (w: ServiceWorld, name: string): Description => {
  const found = describeObject(w.manager, "Service", `default/${name}`);
  if (isNotFound(found)) throw new Error(`${name} was not found.`);
  return found;
};
const notesOf = ({ notes }: Description) => notes.map(({ severity, reason }) => `${severity} ${reason}`);

/** The text up to the decisions, whose times and names do not matter here. */
const textOf = (w: ServiceWorld, name: string): string =>
  descriptionText(explain(w, name)).split("\n\nLast decisions:")[0] ?? "";

test("/debug/explain answers 503 before the first lists, instead of reporting a Service as missing [F91 N23]", async () => {
  const w = new ServiceWorld();
  world = w;
  w.create("web");
  let isBroken = true;
  w.readFault = (path) =>
    isBroken && /(nodes|services)$/.test(path) ? new Response("", { status: 500 }) : undefined;
  await w.start("--leader-elect=true");
  await w.pass(60);
  const ask = async (query: string) =>
    explainPage(w.manager)({
      method: "GET",
      path: "/debug/explain",
      headers: [],
      body: async () => "",
      query: new URLSearchParams(query),
    });
  for (const query of ["", "kind=service&name=default/web"]) {
    const { status, body } = await ask(query);
    expect([status, body]).toEqual([503, expect.stringContaining("its first list of nodes and services")]);
  }
  isBroken = false;
  await w.pass(60);
  expect((await ask("kind=service&name=default/web")).status).toBe(200);
});

describe("a pending Service", () => {
  test("explain first names the lists for which the leader waits [F91 N23]", async () => {
    const w = await started("--leader-elect=true");
    await w.pass(10);
    w.create("web", { annotations: { "balancer.fake.example/algorithm": "fastest" } });
    await w.pass(10);
    w.readFault = (path) => (/(nodes|services)$/.test(path) ? new Response("", { status: 500 }) : undefined);
    w.holdLease("other");
    await w.pass(30);
    expect(notesOf(explain(w, "web"))[0]).toBe("error CachesOutdated");
  });

  test("explain names the exhausted cloud quota, and the next attempt [F91 N7]", async () => {
    const w = await started();
    w.cloud.faults.add({ kind: "status", status: 402, operation: "POST /balancers", calls: 1000 });
    w.create("web");
    await w.pass(90);
    const { state, decisions, nextAttemptInSeconds } = explain(w, "web");
    expect(state).toBe("problem");
    expect(decisions[0]).toMatchObject({ outcome: "failed", action: "create balancer" });
    expect(nextAttemptInSeconds).toBeGreaterThan(0);
    expect(textOf(w, "web")).toMatch(
      /^Service default\/web: problem\n {2}It has no address yet\. Error syncing load balancer: POST \/balancers failed with 402: injected\n {2}fault\.\n/,
    );
    expect(textOf(w, "web")).toMatch(/\nNext attempt:\n {2}in \d+s, or when something changes$/);
  });

  test("explain reports since when and why listings fail, instead of an old result [F91 N7]", async () => {
    const w = await started();
    w.create("web");
    await w.pass(60);
    expect(textOf(w, "web")).not.toContain("Listings:");
    w.cloud.faults.add({ kind: "status", status: 500, calls: 100_000 });
    w.create("shop");
    await w.pass(300);
    const failing =
      /Listings: +What is shown is old, and the present state is not known: requests to the cloud have failed for 5m: .*500/;
    expect(textOf(w, "shop")).toMatch(failing);
    const node = describeObject(w.manager, "Node", "node-0");
    expect("facts" in node && node.facts["Instance"]).toMatch(
      /^unknown: the cloud has not answered yet|seen/,
    );
  });

  test("explain names the invalid annotation with the expected values, and states that nothing is created [F91 N7]", async () => {
    const w = await started();
    w.create("web", { annotations: { "balancer.fake.example/algorithm": "fastest" } });
    await w.pass(30);
    expect(textOf(w, "web")).toBe(`Service default/web: problem
  It has no address yet, and gets none until this is corrected. balancer.fake.example/algorithm must
  be one of round-robin, least-connections, got "fastest".

  Type:          LoadBalancer
  Addresses:     none
  Ports:         80/TCP
  Load balancer: none with the mark of this Service, as listed 30s ago
  Targets:       3: node-0, node-1, node-2

Why:
  Problem: InvalidAnnotation
    balancer.fake.example/algorithm must be one of round-robin, least-connections, got "fastest"

Next attempt:
  when the object, its Nodes or the cloud change`);
  });

  test("explain reports that no Node can be a target [F91 N7]", async () => {
    const w = await started();
    w.create("web", { annotations: { "fairlead.dev/target-selector": "zone=nowhere" } });
    await w.pass(30);
    const text = textOf(w, "web");
    expect(text).toContain("  Targets:       none: no Node is a target\n");
    expect(text).toContain(
      'None of the 3 Nodes matches fairlead.dev/target-selector "zone=nowhere", so the load balancer\n    has no targets. Correct the selector, or label the Nodes.',
    );
  });

  test("explain reports that the cloud rejects the credentials, and which setting to correct [F91 N7]", async () => {
    const w = await started();
    w.cloud.faults.add({ kind: "status", status: 401, calls: 100_000 });
    w.create("web");
    await w.pass(30);
    const text = textOf(w, "web");
    expect(text).toContain(
      "It has no address yet. Error syncing load balancer: The cloud rejected the credentials",
    );
    expect(text).toContain("unknown: the load balancers of the cloud were not listed yet");
    expect(text).toContain(
      "The setting token is not set: set the\n    variable FAKE_TOKEN, or cloud.token in the --config file.",
    );
  });

  const operation = "POST /balancers";
  const outages = [
    [
      "rejected credentials",
      { status: 401, operation },
      "Error syncing load balancer: The cloud rejected the credentials",
    ],
    [
      "an outage",
      { status: 503, operation },
      "Error syncing load balancer: The cloud did not serve the request (503 from POST",
    ],
    [
      "a quota",
      { status: 402, operation: "POST /balancers" },
      "Error syncing load balancer: POST /balancers failed with 402",
    ],
    [
      "a rate limit",
      { status: 429, operation: "POST /balancers" },
      "Error syncing load balancer: The cloud refused the request because of its rate limit (429 from POST",
    ],
  ] as const;
  test.each(outages)(
    "a pending Service has the headline of the blocking problem and not of a hint, for %s [F91 N7]",
    async (_, fault, text) => {
      const w = await started();
      w.create("web", { annotations: { "fairlead.dev/target-selector": "zone=nowhere" } });
      w.cloud.faults.add({ kind: "status", ...fault, calls: 100_000 });
      await w.pass(100);
      const { summary, notes } = explain(w, "web");
      expect(summary).toStartWith(`It has no address yet. ${text}`);
      expect(notes.at(-1)).toMatchObject({ reason: "NoMatchingNode", severity: "warning" });
      expect(w.get("web").status.conditions?.map(({ type }) => type)).toContain("CloudReady");
    },
  );

  test("explain shows the full error of a failed listing, and the time of the next listing [F91 N7]", async () => {
    const w = await started();
    w.cloud.faults.add({ kind: "refused", calls: 100_000 });
    w.create("web");
    for (let index = 0; index < 8; index += 1) {
      await w.pass(7);
      const { nextAttemptInSeconds, summary } = explain(w, "web");
      expect(nextAttemptInSeconds).toBeLessThanOrEqual(30);
      expect(summary).toMatch(/ \(Unable to connect\. .*\)\. .*proxy\.$| several times in a row\.$/);
    }
  });

  test("explain names the other cluster that owns the Service's load balancer, and the setting to correct [F91 N7]", async () => {
    const w = await started("--cluster-name=prod");
    w.create("web");
    await w.pass(60);
    await w.stop();
    await w.start("--cluster-name=prd");
    await w.pass(60);
    expect(textOf(w, "web")).toContain("set --cluster-name to\n    prod and restart.");
  });

  test("explain names the Service that has the load balancer which a pending Service requests to adopt [F91 N7]", async () => {
    const w = await started();
    w.create("old");
    await w.pass(60);
    w.create("web", { annotations: { "balancer.fake.example/adopt": "b1" } });
    await w.pass(60);
    expect(textOf(w, "web")).toContain(
      "It has no address yet. default/web asks to adopt load balancer b1, which belongs to default/old.",
    );
  });

  test("explain reports that the mass limit holds a pending Service, and how to release the hold [F91 N7]", async () => {
    const w = await started("--leader-elect=true");
    const names = Array.from({ length: 20 }, (_, index) => `s${index}`);
    for (const name of names) w.create(name);
    await w.until(() => names.every((name) => w.addressesOf(name).length === 1), "all addresses");
    await w.pass(60);
    for (const { id } of w.cloud.balancers.list()) w.cloud.balancers.remove(id);
    w.manager.balancers?.request(Number.POSITIVE_INFINITY, "refresh");
    await w.pass(150);
    expect(explain(w, "s0").state).toBe("held");
    expect(textOf(w, "s0")).toContain("On hold: MassRecreationHeld\n");
    expect(textOf(w, "s0")).toContain("fairlead.dev/release-hold=load-balancers");
  });

  test("explain reports that an annotation pauses a pending Service, and how to continue [F91 N7]", async () => {
    const w = await started();
    w.create("web", { annotations: { "fairlead.dev/paused": "true" } });
    await w.pass(30);
    expect(textOf(w, "web")).toStartWith(`Service default/web: paused
  It is paused by fairlead.dev/paused: neither it nor its load balancer is changed. To continue:
  \`kubectl -n default annotate service web fairlead.dev/paused-\`
`);
  });

  test("explain reports that another controller serves the Service's class [F91 N7]", async () => {
    const w = await started();
    w.create("web", { spec: { loadBalancerClass: "other.example/x" } });
    await w.pass(30);
    expect(textOf(w, "web")).toContain(
      'unmanaged\n  It has loadBalancerClass "other.example/x", so the controller that implements this class',
    );
  });

  test("explain reports that the cloud is still creating the load balancer [F91 N7]", async () => {
    world = new ServiceWorld({ actionTime: 60_000 });
    await world.start();
    world.create("web");
    await world.pass(20);
    const found = explain(world, "web");
    expect([found.state, notesOf(found)]).toEqual(["waiting", ["wait WaitingForCloud"]]);
    expect(found.facts["Load balancer"]).toBe("b1 (changing), as listed 1s ago");
    expect(found.nextAttemptInSeconds).toBeLessThan(30);
  });

  test("explain shows a pending Service as working, without a problem, while its load balancer is created [F91 N7]", async () => {
    const w = await started();
    w.cloud.faults.add({ kind: "slow", operation: "POST /balancers", milliseconds: 20_000 });
    w.create("web", { annotations: { "balancer.fake.example/algorthm": "round-robin" } });
    await w.pass(10);
    const creating = explain(w, "web");
    expect([creating.state, notesOf(creating)]).toEqual(["working", ["warning UnknownAnnotation"]]);
    expect(creating.summary).not.toContain("algorthm");
    await w.pass(60);
    expect(explain(w, "web").state).toBe("problem");
  });

  test("explain reports that a standby replica knows no reasons [F91 N7]", async () => {
    const w = await started("--leader-elect=true");
    await w.until(() => w.manager.leads(), "the leadership");
    w.holdLease("another");
    await w.until(() => !w.manager.leads(), "the loss");
    w.create("web");
    await w.pass(5);
    expect(explain(w, "web")).toMatchObject({
      state: "waiting",
      notes: [
        {
          reason: "Standby",
          text: expect.stringContaining("Ask the leader, another."),
        },
      ],
    });
  });
});

test("an overview contains only the objects that need attention [F91 N7]", async () => {
  const w = await started();
  w.create("good");
  w.create("wrong", { annotations: { "balancer.fake.example/algorithm": "fastest" } });
  await w.pass(60);
  const all = describeEverything(w.manager, true);
  expect(all.map(({ name, state }) => [name, state])).toEqual([
    ["default/good", "settled"],
    ["default/wrong", "problem"],
    ...["node-0", "node-1", "node-2"].map((name) => [name, "settled"]),
  ]);
  const text = overviewText({ objects: describeEverything(w.manager) });
  expect(text).toStartWith("Service default/wrong: problem\n  It has no address yet, and gets none until ");
  expect(text).not.toContain("good");
  expect(overviewText({ objects: [] })).toBe("All Nodes and Services are settled.\n");
  expect(overviewText({ objects: [], severalLeaders: "Several managers lead." })).toBe(
    "No Node and no Service shows a problem yet.\n",
  );
});

test("a missing Service is reported with the closest name [F91 N7]", async () => {
  const w = await started();
  w.create("storefront");
  await w.pass(30);
  const meant = (name: string) => describeObject(w.manager, "Service", name);
  expect(meant("default/storefrnt")).toEqual({
    kind: "Service",
    name: "default/storefrnt",
    meant: "default/storefront",
  });
  expect(meant("shop/storefront")).toMatchObject({ meant: "default/storefront" });
  expect(meant("default/entirely-different")).toEqual({
    kind: "Service",
    name: "default/entirely-different",
  });
  expect(describeObject(w.manager, "Node", "node0")).toMatchObject({ meant: "node-0" });
});

test("the overview of explain contains the remedies, not only the problems [N7]", async () => {
  const w = await started();
  w.create("mail", { annotations: { "balancer.fake.example/algoritm": "least-connections" } });
  await w.pass(60);
  const { notes } = explain(w, "mail");
  const overview = overviewText({ objects: describeEverything(w.manager) }).replaceAll(/\s+/g, " ");
  expect(notes[0]?.text).toContain("annotation; did you mean");
  expect(overview).toContain(notes[0]?.text ?? "no note");
});
