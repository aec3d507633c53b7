// An account of AWS, for `npm start` and `npm run cloud`.

import { serveCloud } from "#ccm/testing";
import { aws as provider } from "../../providers/aws/index.ts";
import { AwsCloud, region } from "../../providers/aws/simulator/index.ts";
import type { AnyProvider } from "../../src/provider/provider.ts";
import type { LocalCloud, LocalCloudDefinition, LocalCloudOptions } from "./local-cloud.ts";

const accessKey = "AKIDFAIRLEAD";
const clusterID = "demo";
const owned = { [`kubernetes.io/cluster/${clusterID}`]: "owned" };

function open({ port, token, clock, latency }: LocalCloudOptions): LocalCloud {
  const cloud = new AwsCloud({ clock, latency });
  const { account } = cloud;
  cloud.keys.set(accessKey, { secret: token });
  const table = account.addTable({ tags: owned });
  const served = serveCloud(cloud, port);
  const nameOf = (id: string): string => account.instances.existing(id).id;
  return {
    url: served.url,
    settings: {
      region,
      vpc: account.vpc,
      "subnet-id": String(account.subnets.list()[0]?.id),
      "kubernetes-cluster-id": clusterID,
      "access-key-id": accessKey,
      "secret-access-key": token,
      endpoint: served.url,
    },
    largerType: "m5.xlarge",
    addMachine: (name) => void account.add(name, { tags: owned }),
    machines: () =>
      account.instances
        .list()
        .flatMap(({ name, state }) => (state === "terminated" ? [] : [{ name, state }])),
    machineState: (name) => {
      const state = account.instances.find(name)?.state;
      return state === "terminated" ? undefined : state;
    },
    resize: (name, type) => void account.instances.change(name, { type }),
    stop: (name) => void account.instances.change(name, { state: "stopped" }),
    remove: (name) => account.terminate(nameOf(name)),
    hasLoadBalancerOf: (uid) => {
      const name = `a${uid.replaceAll("-", "")}`.slice(0, 32);
      return [...account.classic.all(), ...account.network.all()].some((one) => one.name === name);
    },
    routeCount: () =>
      account.tables.existing(table.id).routes.filter(({ target }) => target.startsWith("i-")).length,
    targetCounts: () => account.classic.all().map(({ instances }) => instances.length),
    api: cloud,
    addFault: (fault) =>
      cloud.faults.add({ kind: fault.status === undefined ? "reset" : "status", ...fault }),
    [Symbol.asyncDispose]: () => served[Symbol.asyncDispose](),
  };
}

export const aws: LocalCloudDefinition = {
  name: "aws",
  // The contract keeps each provider's own types; the framework only passes its values back to it.
  provider: provider as unknown as AnyProvider,
  defaultPort: 8625,
  defaultActionTime: 3000,
  maxLoadBalancers: 20,
  exampleToken: "s".repeat(40),
  hint: (url) =>
    `The aws command line works with the same key: AWS_ACCESS_KEY_ID=${accessKey} AWS_SECRET_ACCESS_KEY=… aws --endpoint-url ${url} --region ${region} ec2 describe-instances`,
  open,
};
