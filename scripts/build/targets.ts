// The machines an executable can be made for, by the names that stand in file names; what Bun calls them is an affair of
// the build alone.

import { didYouMean } from "../../src/core/did-you-mean.ts";
import { BuildError } from "./provider-module.ts";

/** `baseline` is for processors without AVX2, `musl` for Alpine and its kind. */
export const targets = [
  "linux-x64",
  "linux-x64-baseline",
  "linux-x64-musl",
  "linux-x64-musl-baseline",
  "linux-arm64",
  "linux-arm64-musl",
  "darwin-x64",
  "darwin-arm64",
] as const;

export type Target = (typeof targets)[number];

/** As Bun calls it: the words in another order. */
export function bunTarget(target: Target): string {
  const [system = "", processor = "", ...rest] = target.split("-");
  const order = ["baseline", "musl"].filter((word) => rest.includes(word));
  return ["bun", system, processor, ...order].join("-");
}

const isTarget = (word: string): word is Target => (targets as readonly string[]).includes(word);

/** `bun-linux-x64` is taken too: it is what Bun's own manual says. */
export function readTarget(given: string): Target {
  const word = given.replace(/^bun-/, "");
  if (isTarget(word)) return word;
  const meant = didYouMean(word, targets);
  const hint = meant === undefined ? "" : ` Did you mean ${meant}?`;
  throw new BuildError(`There is no target ${given}.${hint} There are ${targets.join(", ")}.`);
}
