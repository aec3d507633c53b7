// The platforms that an executable can be built for.

import { oneNamed } from "../command-line.ts";

/** `musl` is for Alpine and other musl distributions. The x64 targets also run on processors without AVX2. */
export const targets = [
  "linux-x64",
  "linux-x64-musl",
  "linux-arm64",
  "linux-arm64-musl",
  "darwin-x64",
  "darwin-arm64",
] as const;

/** The targets of kubectl-fairlead, which runs where kubectl runs. */
export const pluginTargets = [
  "linux-x64",
  "linux-arm64",
  "darwin-x64",
  "darwin-arm64",
  "windows-x64",
] as const;

export type Target = (typeof targets | typeof pluginTargets)[number];

/** The ending of programs on the target. */
export const endingOf = (target: Target): string => (target.startsWith("windows") ? ".exe" : "");

/** Bun's name for the target. */
export function bunTarget(target: Target): string {
  return `bun-${target}`;
}

/** The npm package with Bun's runtime for the target. */
export function runtimePackage(target: Target): string {
  return `@oven/bun-${target.replace("arm64", "aarch64")}`;
}

/** Accepts Bun's spelling: `bun-linux-x64`, and `-baseline`, which is the same runtime since Bun 1.4. */
export function readTarget(given: string, known: readonly Target[] = targets): Target {
  const word = given.replace(/^bun-/, "").replace("-baseline", "");
  return oneNamed(
    "target",
    word,
    known.map((name) => ({ name })),
  ).name;
}
