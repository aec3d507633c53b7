// A vCenter with one datacenter, for `npm start` and `npm run cloud`.

import { serveCloud } from "#ccm/testing";
import { vsphere as provider } from "../../providers/vsphere/index.ts";
import { addDatacenter, user } from "../../providers/vsphere/simulator/harness.ts";
import { VSphereCloud } from "../../providers/vsphere/simulator/index.ts";
import type { AnyProvider } from "../../src/provider/provider.ts";
import type { LocalCloud, LocalCloudDefinition, LocalCloudOptions } from "./local-cloud.ts";

/** Processors and memory by the type of an instance. */
const types = [
  { cpus: 2, memoryMB: 4096 },
  { cpus: 8, memoryMB: 16_384 },
];
const typeOf = ({ cpus, memoryMB }: (typeof types)[number]) =>
  `vsphere-vm.cpu-${cpus}.mem-${memoryMB / 1024}gb.os-ubuntu`;

const states = { poweredOn: "running", poweredOff: "stopped", suspended: "suspended" };

function open({ port, token, clock, latency }: LocalCloudOptions): LocalCloud {
  // Two of them can be the vCenters of one manager.
  const cloud = new VSphereCloud({ clock, latency, name: `vcenter-${port}` });
  const { inventory } = cloud;
  cloud.addUser(user, token);
  addDatacenter(cloud);
  const served = serveCloud(cloud, port);
  return {
    url: served.url,
    settings: {
      server: served.url,
      user,
      password: token,
      "label-zone": "k8s-zone",
      "label-region": "k8s-region",
    },
    largerType: typeOf(types[1] ?? { cpus: 0, memoryMB: 0 }),
    addMachine: (name) => void inventory.addMachine(name),
    machines: () => inventory.machines().map(({ name, power }) => ({ name, state: states[power] })),
    machineState: (name) => {
      const power = inventory.find(name)?.power;
      return power && states[power];
    },
    systemUUID: (name) => inventory.find(name)?.uuid,
    resize: (name, type) => inventory.change(name, types.find((one) => typeOf(one) === type) ?? {}),
    stop: (name) => inventory.powerOff(name),
    remove: (name) => inventory.remove(name),
    api: cloud,
    addFault: (fault) =>
      cloud.faults.add({ kind: fault.status === undefined ? "reset" : "status", ...fault }),
    [Symbol.asyncDispose]: () => served[Symbol.asyncDispose](),
  };
}

export const vsphere: LocalCloudDefinition = {
  name: "vsphere",
  // The contract keeps each provider's own types; the framework only passes its values back to it.
  provider: provider as unknown as AnyProvider,
  defaultPort: 8626,
  defaultActionTime: 0,
  hasNoBalancers: true,
  exampleToken: "vcenter-password",
  hint: (url) =>
    `Its datacenter is DC0, with the tag categories k8s-zone and k8s-region. govc works with the same user for what Fairlead reads: GOVC_URL=${url}/sdk GOVC_USERNAME=${user} GOVC_PASSWORD=… govc tags.category.ls`,
  open,
};
