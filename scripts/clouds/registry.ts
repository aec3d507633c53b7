// The simulated clouds that can be named on a command line. The first one is the default.

import { didYouMean } from "../../src/core/did-you-mean.ts";
import { digitalocean } from "./digitalocean.ts";
import { fake } from "./fake.ts";
import { hetzner } from "./hetzner.ts";
import type { LocalCloudDefinition } from "./local-cloud.ts";
import { rancher } from "./rancher.ts";

export const localClouds = [
  fake,
  hetzner,
  rancher,
  digitalocean,
] as const satisfies readonly LocalCloudDefinition[];

export const cloudNames: readonly string[] = localClouds.map(({ name }) => name);

/** Such as "fake, hetzner, or digitalocean". */
export const cloudChoices: string = new Intl.ListFormat("en", { type: "disjunction" }).format(cloudNames);

/** The cloud with this name, or a message for an unknown one. */
export function findLocalCloud(name: string): LocalCloudDefinition | string {
  const found = localClouds.find((each) => each.name === name);
  if (found !== undefined) return found;
  const meant = didYouMean(name, cloudNames);
  const hint = meant === undefined ? `Simulated clouds: ${cloudNames.join(", ")}.` : `Did you mean ${meant}?`;
  return `Unknown cloud ${JSON.stringify(name)}. ${hint}`;
}
