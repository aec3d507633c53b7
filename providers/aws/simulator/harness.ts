// What the conformance suites and `npm run new-provider -- try aws` need: how to make and change a simulated account.

import { asTransport, byName, type Harness, threeTargets } from "#ccm/testing";
import { aws } from "../index.ts";
import { AwsCloud } from "./aws-cloud.ts";

export const clusterID = "prod";
const owned = { [`kubernetes.io/cluster/${clusterID}`]: "owned" };

/** The settings of a manager outside of AWS. */
export const config = {
  region: "us-west-2",
  vpc: "vpc-00000000000000001",
  "subnet-id": "subnet-00000000000000001",
  "kubernetes-cluster-id": clusterID,
  "access-key-id": "AKIDEXAMPLE",
  "secret-access-key": "wJalrXUtnFEMI/K7MDENG",
};

/** An account with a route table of the cluster. */
export function clusterCloud(options: ConstructorParameters<typeof AwsCloud>[0]): AwsCloud {
  const cloud = new AwsCloud(options);
  cloud.keys.set(config["access-key-id"], { secret: config["secret-access-key"] });
  cloud.account.addTable({ name: "cluster", tags: owned });
  return cloud;
}

const pageSize = 500;

export const harness: Harness = {
  definition: aws,
  config,
  listingRequests: (machines) => Math.max(1, Math.ceil(machines / pageSize)) + (machines > 0 ? 1 : 0),
  unknownKeys: { id: "i-0fffffffffffffff0" },
  targets: (simulated) => {
    const { instances } = (simulated as unknown as { readonly cloud: AwsCloud }).cloud.account;
    return threeTargets(simulated, (name) => {
      const { id, interfaces } = instances.existing(name);
      return { source: "instances", key: id, addresses: interfaces[0]?.ipv4 ?? [] };
    });
  },
  simulate: (clock) => {
    const cloud = clusterCloud({ clock });
    const { account } = cloud;
    const simulated = {
      cloud,
      transport: asTransport(cloud),
      addMachine: (name: string) => void account.add(name, { tags: owned }),
      stopMachine: (name: string) => void account.instances.change(name, { state: "stopped" }),
      terminateMachine: (name: string) => void account.instances.change(name, { state: "shutting-down" }),
      removeMachine: (name: string) => account.terminate(account.instances.existing(name).id),
      // Without the source/destination check, which is not switched on again, as in the Go manager.
      state: () => ({
        instances: byName(account.instances.list().map(({ name, tags, state }) => ({ name, tags, state }))),
        tables: account.tables.list().map(({ tags, routes }) => ({
          tags,
          routes: routes.toSorted((one, other) => one.destination.localeCompare(other.destination)),
        })),
      }),
    };
    return simulated;
  },
};
