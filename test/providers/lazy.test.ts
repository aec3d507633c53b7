// A provider for a cloud that differs from the fake one in what the harness declares passes the conformance suites.

import { expect, test } from "bun:test";
import {
  type Harness,
  instancesConformance,
  loadBalancersConformance,
  routesConformance,
} from "#ccm/testing";
import { balancerTargets, routesTo, targetMachines } from "../../src/testing/conformance/desired.ts";
import { lazyHarness } from "../support/lazy-cloud.ts";

instancesConformance("lazy", lazyHarness);
loadBalancersConformance("lazy", lazyHarness);
routesConformance("lazy", lazyHarness);

test("targets have the source, key and address of the harness", () => {
  const [first, second] = balancerTargets(lazyHarness);
  expect(first?.machine).toEqual({ source: "eu", key: "00000000-0000-4000-8000-000000000001" });
  expect(second?.addresses as unknown).toEqual(["10.7.0.2"]);
});

test("targets have the addresses of both families that the harness names", () => {
  const machine = (number: number) => ({
    ...{ source: "eu", key: String(number) },
    addresses: [`10.7.0.${number}`, `fd00::${number}`],
  });
  const harness: Harness = { ...lazyHarness, targets: () => [machine(1), machine(2), machine(3)] };
  const [first] = balancerTargets(harness);
  expect(first).toMatchObject({ addresses: ["10.7.0.1", "fd00::1"], machine: { source: "eu", key: "1" } });
  expect(routesTo(harness)("10.244.1.0/24", 2).target.addresses as unknown).toEqual(["10.7.0.2", "fd00::2"]);
});

test("targets that a harness does not declare have keys of the first source, and addresses that differ", () => {
  const { targets: _, ...plain }: Harness = lazyHarness;
  const targets = balancerTargets(plain);
  expect(targets.map(({ machine }) => `${machine?.source} ${machine?.key}`)).toEqual([
    "eu 1",
    "eu 2",
    "eu 3",
  ]);
  expect(targets.flatMap(({ addresses }) => addresses) as unknown).toEqual([
    "10.0.0.1",
    "10.0.0.2",
    "10.0.0.3",
  ]);
});

test("a harness whose targets change is refused with both results", () => {
  let count = 0;
  const machine = () => ({ source: "eu", key: String(count++) });
  const harness: Harness = { ...lazyHarness, targets: () => [machine(), machine(), machine()] };
  expect(() => targetMachines(harness)).toThrow("got 0, 1, 2 and 3, 4, 5");
});
