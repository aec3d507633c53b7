// The simulation finds each mutation of src within a few fixed seeds, so that neither its faults nor its checks can stop working
// unnoticed.

import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { runsAllTests } from "../../../src/testing/breadth.ts";
import type { SeedResult } from "../seed-worker.ts";
import { type Mutation, mutate, mutations } from "./mutations.ts";

const root = resolve(import.meta.dir, "../../..");

/** A change of src changes what a seed does, so that the first one need not find it forever. */
const seeds = 12;

/** The result of the first seed that violates an invariant. */
const findWith = async ({ name, seed }: Mutation): Promise<SeedResult | undefined> => {
  const worker = Bun.spawn(
    [
      process.execPath,
      "--preload",
      join(root, "test/simulation/mutations/preload.ts"),
      join(root, "test/simulation/seed-worker.ts"),
    ],
    {
      cwd: root,
      stdin: new TextEncoder().encode(Array.from({ length: seeds }, (_, index) => seed + index).join("\n")),
      stdout: "pipe",
      env: { ...process.env, FAIRLEAD_MUTATION: name },
    },
  );
  let text = "";
  try {
    for await (const chunk of worker.stdout.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      const results = text.split("\n").slice(0, -1);
      const found = results.map((line): SeedResult => JSON.parse(line)).find(isFound);
      if (found !== undefined) return found;
    }
    return undefined;
  } finally {
    worker.kill();
  }
};

const isFound = ({ invariants, failure }: SeedResult): boolean =>
  invariants.length > 0 || failure !== undefined;

describe("a mutation of src", () => {
  // Each runs whole simulations, so `npm test` only proves with the first two that a mutation is applied and found.
  const simulated = runsAllTests ? mutations : mutations.slice(0, 2);
  test.each(simulated.map((mutation) => [mutation.name, mutation] as const))(
    "%s is found by the simulation",
    async (_, mutation) => {
      const { failure, invariants = [] } = (await findWith(mutation)) ?? {};
      expect(failure).toBeUndefined();
      expect(invariants.filter((each) => mutation.invariants.includes(each))).not.toEqual([]);
    },
  );

  test.each(
    mutations.flatMap((mutation) => mutation.edits.map((edit) => [mutation.name, edit, mutation] as const)),
  )(
    "%s changes a file that exists, and fails when its text is not in it",
    (_, { file, replace }, mutation) => {
      const source = readFileSync(join(root, file), "utf8");
      expect(mutate(mutation, file, source)).toContain(replace);
      expect(() => mutate(mutation, file, "")).toThrow("found it 0 times");
    },
  );
});
