// The harness for the conformance suites and `npm run new-provider -- try aws`: creates and changes a simulated account.

import { asTransport, byName, type Harness, threeTargets } from "#ccm/testing";
import { aws } from "../index.ts";
import { AwsCloud } from "./aws-cloud.ts";

export const clusterID = "prod";
const owned = { [`kubernetes.io/cluster/${clusterID}`]: "owned" };

/** The settings of a manager outside AWS. */
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

type Named = { readonly name: string };

/** Without ids, which depend on the order of requests. */
export function stateOfBalancing({ groups, classic, network }: AwsCloud["account"]) {
  const nameOf = (id: string) => groups.get(id)?.name ?? id;
  const sorted = <T>(all: readonly T[], keyOf: (one: T) => string) =>
    all.toSorted((one, other) => keyOf(one).localeCompare(keyOf(other)));
  const named = <T extends Named>(all: readonly T[]) => sorted(all, ({ name }) => name);
  const rules = (all: ReturnType<typeof groups.list>[number]["rules"]) =>
    all
      .map(({ peer, ipProtocol, fromPort, toPort, description }) =>
        [ipProtocol, fromPort, toPort, nameOf(peer), description].join(" "),
      )
      .toSorted();
  const targetGroup = (arn: string) => network.targetGroups().find((one) => one.arn === arn)?.name;
  return {
    groups: named(groups.list().map(({ id: _, rules: all, ...one }) => ({ ...one, rules: rules(all) }))),
    classic: named(classic.all()).map(({ tags, backends, ...one }) => ({
      ...one,
      tags: [...tags],
      backends: [...backends],
      groups: one.groups.map(nameOf),
      instances: one.instances.toSorted(),
      listeners: sorted(one.listeners, ({ port }) => port),
    })),
    network: named(network.all()).map(({ arn, tags, attributes, ...one }) => {
      const own = network.listeners().filter(({ balancer }) => balancer === arn);
      const listeners = own.map(({ arn: _, balancer: __, group, tags: all, ...listener }) => ({
        ...listener,
        group: targetGroup(group),
        tags: [...all],
      }));
      return {
        ...one,
        tags: [...tags],
        attributes: [...attributes],
        groups: one.groups.map(nameOf),
        listeners: sorted(listeners, ({ port }) => port),
      };
    }),
    targetGroups: named(network.targetGroups()).map(({ arn: _, tags, attributes, targets, ...one }) => ({
      ...one,
      tags: [...tags],
      attributes: [...attributes],
      targets: targets.map(({ id, port }) => `${id}:${port}`).toSorted(),
    })),
  };
}

export const harness: Harness = {
  definition: aws,
  config,
  listingRequests: (machines) => Math.max(1, Math.ceil(machines / pageSize)) + (machines > 0 ? 1 : 0),
  unknownKeys: { id: "i-0fffffffffffffff0" },
  targets: (simulated) => {
    const { instances } = (simulated as unknown as { readonly cloud: AwsCloud }).cloud.account;
    return threeTargets(simulated, (name) => {
      const { id, interfaces, groups } = instances.existing(name);
      const handles = { groups: groups.join(" ") };
      return { source: "instances", key: id, handles, addresses: interfaces[0]?.ipv4 ?? [] };
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
      settle: () => cloud.settle(),
      disks: {
        write: (id: string, data: string) => void account.volumes.change(id, { data }),
        read: (id: string) => account.volumes.withID(id).data,
      },
      refuseTarget: ({ key }: { readonly key: string }) => void account.refused.add(key),
      // Without the source/destination check, which neither Fairlead nor the Go manager switches on again.
      state: () => ({
        balancing: stateOfBalancing(account),
        instances: byName(account.instances.list().map(({ name, tags, state }) => ({ name, tags, state }))),
        // Without the progress of a modification, which only time changes: the new size counts from its second phase on.
        volumes: byName(
          account.volumes.list().map(({ id: _, modification: __, attachments, ...one }) => ({
            ...one,
            attachedTo: attachments.map(({ instance }) => account.instances.get(instance)?.name),
          })),
        ),
        snapshots: byName(
          account.snapshots.list().map(({ id: _, volume: __, startedAt: ___, ...one }) => one),
        ),
        tables: account.tables.list().map(({ tags, routes }) => ({
          tags,
          routes: routes.toSorted((one, other) => one.destination.localeCompare(other.destination)),
        })),
      }),
    };
    return simulated;
  },
};
