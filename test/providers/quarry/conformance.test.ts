// The provider in docs/write-a-hard-provider.md passes the conformance suites, with regions, jobs, ETags and a listing that lags.

import { expect, test } from "bun:test";
import {
  converge,
  instancesConformance,
  Lab,
  loadBalancersConformance,
  makeDesired,
  routesConformance,
  targetOf,
} from "#ccm/testing";
import { type Desired, type Observed, planPool } from "../../support/quarry/plan-pool.ts";
import { harness } from "../../support/quarry/simulator/harness.ts";

instancesConformance("quarry", harness);
loadBalancersConformance("quarry", harness);
routesConformance("quarry", harness);

const desired = (annotations = {}) =>
  makeDesired(harness, {
    name: "web",
    annotations,
    targets: [targetOf("node-1", "east", "m1")],
  }) as Desired;

function observed(changes: Partial<Observed["pool"]> = {}): Observed {
  const { owner } = desired();
  const pool = {
    id: "p1",
    labels: {},
    state: "ready",
    ranges: null,
    rejected: [],
    rules: ["TCP 80 30080"],
    members: [{ machine: "m1", node: "node-1" }],
    front: { id: "f1", address: "192.0.2.1" },
    ...changes,
  } as Observed["pool"];
  return {
    name: "p1",
    owners: [owner.uid],
    ownership: "ours",
    state: "ready",
    region: "east",
    pool,
  };
}

test("plans no step in the desired state", () => {
  expect(planPool(desired(), observed(), ["east"])).toEqual({ steps: [] });
});

test("reports members that the cloud rejects, with the cloud's reason", () => {
  const rejected = [{ node: "node-1", why: "too old" }];
  expect(planPool(desired(), observed({ members: [], rejected }), ["east"])).toEqual({
    steps: [],
    refused: [{ node: "node-1", text: "too old" }],
  });
});

test("reports a region that is not configured, with the reason that the provider declares", () => {
  const { steps, problems } = planPool(desired({ region: "north" }), undefined, ["east"]);
  expect(steps).toEqual([]);
  expect(problems?.map(({ severity, reason }) => [severity, String(reason)])).toEqual([
    ["error", "RegionNotConfigured"],
  ]);
});

test("deletes the front before the pool", () => {
  const { steps } = planPool(undefined, observed(), ["east"]);
  expect(steps.map((step) => step.do)).toEqual(["delete front", "delete pool"]);
});

test("does not take over the pool of another Service that a changed fact names", async () => {
  const lab = new Lab(harness);
  const web = makeDesired(harness, { name: "web" });
  await converge(lab, [web]);
  const facts = lab.savedFacts.get(web.owner.uid) ?? {};
  const look = (member: typeof web) =>
    lab.run(async (call) => lab.cloud.loadBalancers?.observe?.({ ...member, facts }, undefined, call));
  expect(await look(web)).toMatchObject({ owners: [web.owner.uid], ownership: "ours" });
  expect(await look(makeDesired(harness, { name: "shop" }))).toBeUndefined();
});
