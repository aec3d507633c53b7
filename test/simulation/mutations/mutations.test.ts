// The simulation finds each mutation of src within a few fixed seeds, so that neither its faults nor its checks can stop working
// unnoticed. A mutation that the simulated cloud cannot reveal names the test that finds it.

import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { runsAllTests } from "../../../src/testing/breadth.ts";
import type { SeedResult } from "../seed-worker.ts";
import { toLine } from "../variants.ts";
import { type FoundBySimulation, type FoundByTest, type Mutation, mutate } from "./mutation.ts";
import { mutations } from "./mutations.ts";

const root = resolve(import.meta.dir, "../../..");

/** A change of src changes the course of a seed, so the first seed need not find a mutation forever. */
const seeds = 12;

const preload = ["--preload", join(root, "test/simulation/mutations/preload.ts")];

/** The named tests of the file that fail with the mutation. */
const failingTests = async ({ name }: Mutation, { file, test: title }: FoundByTest): Promise<string> => {
  const run = Bun.spawn(
    [process.execPath, "test", ...preload, "--timeout=120000", "-t", title, `./${file}`],
    {
      cwd: root,
      stdout: "ignore",
      stderr: "pipe",
      env: { ...process.env, FAIRLEAD_MUTATION: name },
    },
  );
  const lines = (await run.stderr.text()).split("\n");
  return lines.filter((line) => line.startsWith("(fail)")).join("\n");
};

/** The result of the first seed that violates an invariant. */
const findWith = async (
  { name }: Mutation,
  { seed, ...chosen }: FoundBySimulation,
): Promise<SeedResult | undefined> => {
  const lines = Array.from({ length: seeds }, (_, index) => toLine(seed + index, chosen));
  const worker = Bun.spawn([process.execPath, ...preload, join(root, "test/simulation/seed-worker.ts")], {
    cwd: root,
    stdin: new TextEncoder().encode(lines.join("\n")),
    stdout: "pipe",
    env: { ...process.env, FAIRLEAD_MUTATION: name },
  });
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
  // Each mutation runs whole simulations, so `npm test` proves only with the first that a mutation is applied and found.
  const all = mutations.flatMap((mutation) =>
    "seed" in mutation.foundBy ? [[mutation.name, mutation, mutation.foundBy] as const] : [],
  );
  const simulated = runsAllTests ? all : all.slice(0, 1);
  test.each(simulated)("%s is found by the simulation", async (_, mutation, foundBy) => {
    const { failure, invariants = [] } = (await findWith(mutation, foundBy)) ?? {};
    expect(failure).toBeUndefined();
    expect(invariants.filter((each) => foundBy.invariants.includes(each))).not.toEqual([]);
  });

  const named = mutations.flatMap((mutation) =>
    "test" in mutation.foundBy ? [[mutation.name, mutation, mutation.foundBy] as const] : [],
  );
  test.each(runsAllTests ? named : named.slice(0, 1))(
    "%s is found by the test that it names",
    async (_, mutation, foundBy) => {
      expect(await failingTests(mutation, foundBy)).toContain(foundBy.test);
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
