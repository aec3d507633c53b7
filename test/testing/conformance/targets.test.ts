// The targets of the conformance suites: the machines that a harness names, or keys of its first source.

import { expect, test } from "bun:test";
import { harness as fakeHarness } from "../../../providers/fake/simulator/harness.ts";
import { balancerTargets, routesTo, targetMachines } from "../../../src/testing/conformance/desired.ts";
import type { Harness, TargetMachine } from "../../../src/testing/index.ts";

const withTargets = (machine: (number: number) => TargetMachine): Harness => ({
  ...fakeHarness,
  targets: () => [machine(1), machine(2), machine(3)],
});

test("targets have the source, key, and dual-stack addresses that the harness names", () => {
  const harness = withTargets((number) => ({
    source: "eu",
    key: String(number),
    addresses: [`10.7.0.${number}`, `fd00::${number}`],
  }));
  const [first, second] = balancerTargets(harness);
  expect(first).toMatchObject({ addresses: ["10.7.0.1", "fd00::1"], machine: { source: "eu", key: "1" } });
  expect(second?.addresses as unknown).toEqual(["10.7.0.2", "fd00::2"]);
  expect(routesTo(harness)("10.244.1.0/24", 2).target.addresses as unknown).toEqual(["10.7.0.2", "fd00::2"]);
});

test("targets that a harness does not declare have keys of the first source, and addresses that differ", () => {
  const { targets: _, ...plain }: Harness = fakeHarness;
  const targets = balancerTargets(plain);
  expect(targets.map(({ machine }) => `${machine?.source} ${machine?.key}`)).toEqual([
    "machines 1",
    "machines 2",
    "machines 3",
  ]);
  expect(targets.flatMap(({ addresses }) => addresses) as unknown).toEqual([
    "10.0.0.1",
    "10.0.0.2",
    "10.0.0.3",
  ]);
});

test("a harness whose targets change is rejected with both results", () => {
  let count = 0;
  const harness = withTargets(() => ({ source: "eu", key: String(count++) }));
  expect(() => targetMachines(harness)).toThrow("got 0, 1, 2 and 3, 4, 5");
});
