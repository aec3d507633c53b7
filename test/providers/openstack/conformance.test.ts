import {
  type Harness,
  handlesConformance,
  instancesConformance,
  loadBalancersConformance,
  routesConformance,
  VirtualClock,
  volumesConformance,
} from "#ccm/testing";
import { harness, volumesHarness } from "../../../providers/openstack/simulator/harness.ts";
import {
  addServer,
  ensureSubnet,
  type OpenStackCloud,
  removeServer,
} from "../../../providers/openstack/simulator/index.ts";
import { besideCloud } from "./openstack-lab.ts";

/** Every second machine is in another region. */
const twoRegions: Harness = {
  ...harness,
  config: {
    ...harness.config,
    "regional-provider-ids": "true",
    scopes: JSON.stringify([{ name: "two", region: "RegionTwo" }]),
  },
  listingRequests: (machines) =>
    harness.listingRequests(Math.ceil(machines / 2)) +
    2 +
    2 * Math.max(1, Math.ceil(Math.floor(machines / 2) / 3)),
  simulate: (clock) => {
    const near = harness.simulate(clock);
    const { cloud } = near as unknown as { readonly cloud: OpenStackCloud };
    const { cloud: far, transport } = besideCloud(cloud, clock, { pageSize: 3 });
    const projectOf = (name: string) => (/[13579]$/.test(name) ? far : cloud).project;
    return {
      ...near,
      transport,
      addMachine: (name) => void addServer(projectOf(name), name),
      stopMachine: (name) => void projectOf(name).servers.change(name, { status: "SHUTOFF" }),
      terminateMachine: (name) =>
        void projectOf(name).servers.change(name, { "OS-EXT-STS:task_state": "deleting" }),
      removeMachine: (name) => removeServer(projectOf(name), name),
    };
  },
};

instancesConformance("openstack", harness);
instancesConformance("openstack with two regions", twoRegions);
loadBalancersConformance("openstack", harness);
routesConformance("openstack", harness);
volumesConformance("openstack", volumesHarness);

/** The subnet of the machines in each simulated project. */
const subnet = () => {
  const { cloud } = harness.simulate(new VirtualClock()) as unknown as { readonly cloud: OpenStackCloud };
  return ensureSubnet(cloud.project, "nodes", "10.1.0.0/16").id;
};
handlesConformance("openstack [F75]", { ...harness, config: { ...harness.config, "subnet-id": subnet() } });
