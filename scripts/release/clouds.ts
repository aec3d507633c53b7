// The programs of a release: every provider except the simulated cloud, and the kubectl plugin.

import { readdirSync } from "node:fs";
import { resolve } from "node:path";
import { plugin } from "../build/plugin.ts";
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
    [...allProviders(), plugin].map((name) => ({ name })),
  ).name;
}
