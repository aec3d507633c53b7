// The platforms that an executable can be built for.

import { oneNamed } from "../command-line.ts";

/** `musl` is for Alpine and other musl distributions. The x64 targets run on processors without AVX2 too. */
export const targets = [
  "linux-x64",
  "linux-x64-musl",
  "linux-arm64",
  "linux-arm64-musl",
  "darwin-x64",
  "darwin-arm64",
] as const;

export type Target = (typeof targets)[number];

/** Bun's name for the target. */
export function bunTarget(target: Target): string {
  return `bun-${target}`;
}

/** The npm package with Bun's runtime for the target. */
export function runtimePackage(target: Target): string {
  return `@oven/bun-${target.replace("arm64", "aarch64")}`;
}

/** Accepts Bun's spelling too: `bun-linux-x64`, and `-baseline`, which is the same runtime since Bun 1.4. */
export function readTarget(given: string): Target {
  const word = given.replace(/^bun-/, "").replace("-baseline", "");
  return oneNamed(
    "target",
    word,
    targets.map((name) => ({ name })),
  ).name;
}
