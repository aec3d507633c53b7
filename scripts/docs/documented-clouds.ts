// The clouds whose settings, annotations and reasons have pages in docs.

import { aws } from "../../providers/aws/index.ts";
import { digitalocean } from "../../providers/digitalocean/index.ts";
import { hetzner } from "../../providers/hetzner/index.ts";
import { openstack } from "../../providers/openstack/index.ts";
import { rancher } from "../../providers/rancher/index.ts";
import { vsphere } from "../../providers/vsphere/index.ts";
import type { DocumentedProvider } from "./cloud-page.ts";

export interface DocumentedCloud {
  readonly title: string;
  /** The name of the folder in `providers`, and of the executable. */
  readonly folder: string;
  readonly provider: DocumentedProvider;
}

export const documentedClouds: readonly DocumentedCloud[] = [
  { title: "AWS", folder: "aws", provider: aws },
  { title: "DigitalOcean", folder: "digitalocean", provider: digitalocean },
  { title: "Hetzner", folder: "hetzner", provider: hetzner },
  { title: "OpenStack", folder: "openstack", provider: openstack },
  { title: "Rancher 1.6", folder: "rancher", provider: rancher },
  { title: "vSphere", folder: "vsphere", provider: vsphere },
];
