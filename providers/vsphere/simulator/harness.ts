// The harness for the conformance suites and `npm run new-provider -- try vsphere`: creates and changes a simulated vCenter.

import { asTransport, byName, type Harness } from "#ccm/testing";
import { vsphere } from "../index.ts";
import { VSphereCloud } from "./vsphere-cloud.ts";

export const user = "fairlead@vsphere.local";
export const password = "p".repeat(20);

/** The settings of a cluster with zones. */
export const config = {
  server: "vcenter.example",
  user,
  password,
  "label-zone": "k8s-zone",
  "label-region": "k8s-region",
};

/** A vCenter with a datacenter, whose tags are the region and the zone. */
export function addDatacenter({ inventory, tags }: VSphereCloud, name = "DC0") {
  const categories = [...tags.categories.values()];
  const named = (wanted: string) => categories.find((one) => one.name === wanted) ?? tags.addCategory(wanted);
  const datacenter = inventory.addDatacenter(name);
  tags.attach(tags.addTag(`region-${name}`, named("k8s-region")), datacenter.ref);
  tags.attach(tags.addTag(`zone-${name}`, named("k8s-zone")), datacenter.cluster);
  return datacenter;
}

export const harness: Harness = {
  definition: vsphere,
  config,
  // The requests: login and view, a page, the attached tags, two tags and two categories.
  listingRequests: () => 8,
  // One for the machine and one for its properties.
  lookupRequests: 2,
  simulate: (clock) => {
    const cloud = new VSphereCloud({ clock });
    const { inventory } = cloud;
    cloud.addUser(user, password);
    addDatacenter(cloud);
    return {
      cloud,
      transport: asTransport(cloud),
      addMachine: (name: string) => void inventory.addMachine(name),
      stopMachine: (name: string) => inventory.change(name, { power: "poweredOff" }),
      removeMachine: (name: string) => inventory.remove(name),
      shortenNextPage: () => cloud.faults.add({ kind: "short-page", operation: "RetrievePropertiesEx" }),
      state: () => byName(inventory.machines().map(({ name, uuid }) => ({ name, uuid }))),
    };
  },
};
