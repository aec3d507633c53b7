import { afterEach, expect, test } from "bun:test";
import { describeObservation } from "../../../src/app/reporting/observe-summary.ts";
import { ServiceWorld } from "../../support/service-world.ts";

let world: ServiceWorld | undefined;
afterEach(() => world?.stop());

const observed = (w: ServiceWorld): readonly string[] =>
  w.logged.flatMap((line) => /Observed [^"\n]*/.exec(line)?.[0] ?? []);

test.each([
  [
    { nodes: 1, services: 0, desired: 0, problems: 0 },
    "1 Node and 0 Services of type LoadBalancer: nothing would be done",
  ],
  [
    { nodes: 9, services: 1, desired: 1, problems: 0 },
    "9 Nodes and 1 Service of type LoadBalancer: 1 thing would be done, told above",
  ],
  [
    { nodes: 9, services: 2, desired: 0, problems: 3 },
    "9 Nodes and 2 Services of type LoadBalancer: nothing would be done; of 3 it cannot be said, as the warnings tell",
  ],
])("describeObservation summarizes %j", (observation, text) => {
  expect(describeObservation(observation)).toBe(`Observed ${text}`);
});

test("observe mode logs its summary once, and again when it changes [N3]", async () => {
  const w = new ServiceWorld({ nodes: 3 });
  world = w;
  await w.start("--mode=observe");
  await w.pass(120);
  expect(observed(w)).toEqual([
    "Observed 3 Nodes and 0 Services of type LoadBalancer: nothing would be done",
  ]);
  w.create("web");
  await w.pass(120);
  expect(observed(w).slice(1)).toEqual([
    expect.stringMatching(
      /^Observed 3 Nodes and 1 Service of type LoadBalancer: \d+ things? would be done, told above$/,
    ),
  ]);
});

test("observe mode logs no summary when the cloud never answered", async () => {
  const w = new ServiceWorld({ nodes: 3 });
  world = w;
  for (const operation of ["GET /machines", "GET /balancers"]) {
    w.cloud.faults.add({ operation, kind: "status", status: 401, calls: 10_000 });
  }
  await w.start("--mode=observe");
  await w.pass(300);
  expect(observed(w)).toEqual([]);
});
