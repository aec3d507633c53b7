// The checker can fail: with our protections switched off by settings, as with the Go managers, it sees what they cost.

import { describe, expect, test } from "bun:test";
import { minutes, seconds } from "../../src/core/brand.ts";
import type { LieWay } from "./lies.ts";
import { World } from "./world.ts";

interface Lie {
  readonly flags: readonly string[];
  readonly way: LieWay;
  /** How many of ten machines. */
  readonly machines: number;
  readonly lasts: number;
}

/** Kubelets fall silent, and then the cloud lies about their machines. */
const brokenBy = async ({ flags, way, machines, lasts }: Lie): Promise<readonly number[]> => {
  const world = new World({ seed: 1, nodes: 10, replicas: 1, flags });
  const { clock, cloud, lies, silent, invariants } = world;
  await clock.advance(minutes(1));
  const chosen = cloud.machines.list().slice(0, machines);
  for (const { name } of chosen) silent.add(name);
  await clock.advance(seconds(49));
  for (const { id } of chosen) lies.report(id, way, lasts);
  await clock.advance(minutes(5));
  for (const replica of [...world.replicas]) world.killReplica(replica);
  world.kubelets.stop();
  return [...new Set(invariants.violations.map(({ invariant }) => invariant))];
};

describe("a lie of the cloud", () => {
  const short = { way: "both", machines: 1, lasts: 25_000 } as const;
  const oneSided = { way: "lookup", machines: 1, lasts: 240_000 } as const;
  const many = { way: "both", machines: 5, lasts: 240_000 } as const;

  test("deletes nobody by default [F21 F22]", async () => {
    for (const lie of [short, oneSided, many]) expect(await brokenBy({ ...lie, flags: [] })).toEqual([]);
  });
  test("that is short is seen where one proof is enough [F21]", async () => {
    expect(await brokenBy({ ...short, flags: ["--node-deletion-proofs=1"] })).toContain(1);
  });
  test("in one of two proofs is seen where one proof is enough [F21]", async () => {
    expect(await brokenBy({ ...oneSided, flags: ["--node-deletion-proofs=1"] })).toContain(1);
  });
  test("about many machines is seen where there is no limit [F22]", async () => {
    const broken = await brokenBy({ ...many, flags: ["--node-deletion-limit=off"] });
    expect(broken).toContain(1);
    expect(broken).toContain(2);
  });
});
