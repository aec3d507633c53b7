// The platforms that an executable can be built for.

import { didYouMean } from "../../src/core/did-you-mean.ts";
import { BuildError } from "./provider-module.ts";

/** `baseline` is for processors without AVX2, `musl` for Alpine and other musl distributions. */
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

/** Bun's name for the target. */
export function bunTarget(target: Target): string {
  const [system = "", processor = "", ...rest] = target.split("-");
  const order = ["baseline", "musl"].filter((word) => rest.includes(word));
  return ["bun", system, processor, ...order].join("-");
}

const isTarget = (word: string): word is Target => (targets as readonly string[]).includes(word);

/** Accepts Bun's prefix too: `bun-linux-x64`. */
export function readTarget(given: string): Target {
  const word = given.replace(/^bun-/, "");
  if (isTarget(word)) return word;
  const meant = didYouMean(word, targets);
  const hint = meant === undefined ? "" : ` Did you mean ${meant}?`;
  throw new BuildError(`Unknown target ${given}.${hint} Targets: ${targets.join(", ")}.`);
}
