// The clouds of the Helm chart and of the kustomize overlays: every provider of this repository.

import { aws } from "../../providers/aws/index.ts";
import { digitalocean } from "../../providers/digitalocean/index.ts";
import { fake } from "../../providers/fake/index.ts";
import { hetzner } from "../../providers/hetzner/index.ts";
import { openstack } from "../../providers/openstack/index.ts";
import { rancher } from "../../providers/rancher/index.ts";
import { vsphere } from "../../providers/vsphere/index.ts";
import type { Field } from "../../src/core/settings.ts";
import { programOf } from "../../src/provider/program.ts";
import type { AnyProvider } from "../../src/provider/provider.ts";

export interface DeployedCloud {
  /** The name in that of the executable. */
  readonly name: string;
  readonly program: string;
  readonly provider: AnyProvider;
}

const providers: Readonly<Record<string, unknown>> = {
  aws,
  digitalocean,
  fake,
  hetzner,
  openstack,
  rancher,
  vsphere,
};

export const deployedClouds: readonly DeployedCloud[] = Object.entries(providers).map(([name, each]) => {
  const provider = each as AnyProvider;
  return { name, program: programOf(provider), provider };
});

const settingsOf = ({ provider }: DeployedCloud): readonly Field<unknown>[] => Object.values(provider.config);

/** Variables of secret settings. */
export const credentialVariables = (cloud: DeployedCloud): readonly string[] =>
  settingsOf(cloud).flatMap(({ env, isSecret }) => (env !== undefined && isSecret === true ? [env] : []));

/** Variables of all settings. */
export const settingVariables = (cloud: DeployedCloud): readonly string[] =>
  settingsOf(cloud).flatMap(({ env }) => env ?? []);
