import { afterEach, expect, test } from "bun:test";
import { describeObservation } from "../../../src/app/logging/observe-reporter.ts";
import { ServiceWorld } from "../../support/service-world.ts";

let world: ServiceWorld | undefined;
afterEach(() => world?.stop());

const observed = (w: ServiceWorld): readonly string[] =>
  w.logged.flatMap((line) => /Observed [^"\n]*/.exec(line)?.[0] ?? []);

test.each([
  [
    { nodes: 1, services: 0, changes: 0, problems: 0, unlisted: [] },
    "1 Node and 0 Services of type LoadBalancer: no changes would be made",
  ],
  [
    { nodes: 9, services: 1, changes: 1, problems: 0, unlisted: [] },
    "9 Nodes and 1 Service of type LoadBalancer: 1 change would be made (see the log above)",
  ],
  [
    { nodes: 9, services: 2, changes: 0, problems: 3, unlisted: [] },
    "9 Nodes and 2 Services of type LoadBalancer: no changes would be made; 3 objects could not be evaluated (see the warnings above)",
  ],
  [
    { nodes: 9, services: 0, changes: 0, problems: 0, unlisted: ["a never answered", "b never answered"] },
    "9 Nodes and 0 Services of type LoadBalancer: no changes would be made. This is incomplete: a never answered; b never answered",
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
    "Observed 3 Nodes and 0 Services of type LoadBalancer: no changes would be made",
  ]);
  w.create("web");
  await w.pass(120);
  expect(observed(w).slice(1)).toEqual([
    expect.stringMatching(
      /^Observed 3 Nodes and 1 Service of type LoadBalancer: \d+ changes? would be made \(see the log above\)$/,
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
