// The clients of all clouds.

import { awsClients } from "../providers/aws/clients/rig/suite.ts";
import { digitaloceanClients } from "../providers/digitalocean/clients/rig/suite.ts";
import { hetznerClients } from "../providers/hetzner/clients/rig/suite.ts";
import { openstackClients } from "../providers/openstack/clients/rig/suite.ts";
import { rancherClients } from "../providers/rancher/clients/rig/suite.ts";
import { vsphereClients } from "../providers/vsphere/clients/rig/suite.ts";
import { csiSanity, csiSidecars, realDisks } from "./csi/prepare.ts";
import type { ClientSuite } from "./rig/suite.ts";

export const suites: Readonly<Record<string, ClientSuite>> = {
  hetzner: hetznerClients,
  rancher: rancherClients,
  digitalocean: digitaloceanClients,
  openstack: openstackClients,
  aws: awsClients,
  vsphere: vsphereClients,
  fake: {
    clients: { csi: () => csiSanity("fake"), disks: realDisks, sidecars: csiSidecars },
    nightly: ["sidecars"],
    start: async () => ({ env: () => ({}), async [Symbol.asyncDispose]() {} }),
  },
};

export interface NamedClient {
  readonly cloud: string;
  readonly client: string;
}

export const allClients: readonly NamedClient[] = Object.entries(suites).flatMap(([cloud, { clients }]) =>
  Object.keys(clients).map((client) => ({ cloud, client })),
);

/** The clients that a word selects: a cloud, a client, or both as `rancher/go`. */
export const clientsNamed = (word: string): readonly NamedClient[] =>
  allClients.filter(({ cloud, client }) => [cloud, client, `${cloud}/${client}`].includes(word));
