// The simulated clouds that can be named on a command line. The first one is the default.

import { aws } from "./aws.ts";
import { digitalocean } from "./digitalocean.ts";
import { fake } from "./fake.ts";
import { hetzner } from "./hetzner.ts";
import type { LocalCloudDefinition } from "./local-cloud.ts";
import { openstack } from "./openstack.ts";
import { rancher } from "./rancher.ts";
import { vsphere } from "./vsphere.ts";

export const localClouds = [
  fake,
  hetzner,
  rancher,
  digitalocean,
  openstack,
  aws,
  vsphere,
] as const satisfies readonly LocalCloudDefinition[];

export const cloudsWithBalancers: readonly LocalCloudDefinition[] = localClouds.filter(
  ({ hasNoBalancers }) => hasNoBalancers !== true,
);

const cloudNames: readonly string[] = localClouds.map(({ name }) => name);

/** For example "fake, hetzner, or digitalocean". */
export const cloudChoices: string = new Intl.ListFormat("en", { type: "disjunction" }).format(cloudNames);
