// Tests that the invariants can fail: with Fairlead's protections disabled by flags, hidden machines violate them.

import { describe, expect, test } from "bun:test";
import { minutes, seconds } from "../../src/core/brand.ts";
import type { HiddenFrom } from "./hidden-machines.ts";
import { World } from "./world.ts";

interface Fault {
  readonly flags: readonly string[];
  readonly from: HiddenFrom;
  /** The number of hidden machines, of ten. */
  readonly machines: number;
  readonly duration: number;
}

/** Lets kubelets go silent, and then hides their machines in the cloud. Returns the violated invariants. */
const violatedBy = async ({ flags, from, machines, duration }: Fault): Promise<readonly number[]> => {
  const world = new World({ seed: 1, nodes: 10, replicas: 1, flags });
  const { clock, cloud, hiddenMachines, silent, invariants } = world;
  await clock.advance(minutes(1));
  const chosen = cloud.machines.list().slice(0, machines);
  for (const { name } of chosen) silent.add(name);
  await clock.advance(seconds(49));
  for (const { id } of chosen) hiddenMachines.hide(id, from, duration);
  await clock.advance(minutes(5));
  for (const replica of [...world.replicas]) world.killReplica(replica);
  world.kubelets.stop();
  return [...new Set(invariants.violations.map(({ invariant }) => invariant))];
};

describe("machines that the cloud wrongly reports as missing", () => {
  const short = { from: "both", machines: 1, duration: 25_000 } as const;
  const oneSided = { from: "lookup", machines: 1, duration: 240_000 } as const;
  const many = { from: "both", machines: 5, duration: 240_000 } as const;

  test("machines that the cloud reports as missing are not deleted by default [F21 F22]", async () => {
    for (const fault of [short, oneSided, many])
      expect(await violatedBy({ ...fault, flags: [] })).toEqual([]);
  });
  test("machines that are hidden for a short time violate invariant 1 when one proof is enough [F21]", async () => {
    expect(await violatedBy({ ...short, flags: ["--absence-confirmation=0s"] })).toContain(1);
  });
  test("machines that are hidden in one of two proofs violate invariant 1 when one proof is enough [F21]", async () => {
    expect(await violatedBy({ ...oneSided, flags: ["--absence-confirmation=0s"] })).toContain(1);
  });
  test("machines that are hidden in large numbers violate invariants 1 and 2 without a mass limit [F22]", async () => {
    const violated = await violatedBy({ ...many, flags: ["--removal-limit=off"] });
    expect(violated).toContain(1);
    expect(violated).toContain(2);
  });
});
