// The clouds of a release: every provider except the simulated cloud.

import { readdirSync } from "node:fs";
import { resolve } from "node:path";
import { didYouMean } from "../../src/core/did-you-mean.ts";
import { BuildError } from "../build/provider-module.ts";

const providers = resolve(import.meta.dir, "../../providers");

function allProviders(): readonly string[] {
  return readdirSync(providers).toSorted();
}

export function releasedClouds(): readonly string[] {
  return allProviders().filter((name) => name !== "fake");
}

export function readCloud(name: string): string {
  const names = allProviders();
  if (names.includes(name)) return name;
  const meant = didYouMean(name, names);
  const hint = meant === undefined ? "" : ` Did you mean ${meant}?`;
  throw new BuildError(`Unknown cloud ${name}.${hint} Clouds: ${names.join(", ")}.`);
}
