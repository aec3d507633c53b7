// The clouds of a release: every provider except the simulated cloud.

import { readdirSync } from "node:fs";
import { resolve } from "node:path";
import { oneNamed } from "../command-line.ts";

const providers = resolve(import.meta.dir, "../../providers");

function allProviders(): readonly string[] {
  return readdirSync(providers).toSorted();
}

export function releasedClouds(): readonly string[] {
  return allProviders().filter((name) => name !== "fake");
}

export function readCloud(given: string): string {
  return oneNamed(
    "cloud",
    given,
    allProviders().map((name) => ({ name })),
  ).name;
}
