// What users, kubelets and the cloud do while the view of a manager is perturbed. Each scenario begins with an empty cluster.

import { isUninitialized } from "../cluster/rig/cluster.ts";
import type { Truth } from "./oracle.ts";

/** Users, kubelets and the cloud. */
export interface Actors extends Truth {
  join(
    name: string,
    changes: { readonly spec: { readonly podCIDR: string; readonly podCIDRs: readonly string[] } },
  ): Promise<void>;
  ready(name: string, isReady: boolean): Promise<void>;
  deleteNode(name: string): Promise<void>;
  createService(name: string, spec?: object): Promise<void>;
  editService(name: string, body: object): Promise<void>;
  deleteService(name: string): Promise<void>;
}

export interface Step {
  readonly what: string;
  /** The precondition of the step, for example a free name. */
  readonly needs?: (actors: Actors) => Promise<boolean>;
  readonly act: (actors: Actors) => Promise<void>;
  /** The effect of the step, which may come after a pause. */
  readonly until: (actors: Actors) => Promise<boolean>;
}

export interface Scenario {
  readonly name: string;
  readonly steps: readonly Step[];
}

const range = (name: string): string => `10.244.${name.charCodeAt(0) - 96}.0/24`;

/** Whether the Node is initialized and has a route to its machine. */
const hasJoined =
  (name: string) =>
  async (actors: Actors): Promise<boolean> => {
    const node = await actors.node(name);
    if (node === undefined || isUninitialized(node)) return false;
    return actors.cloud.routes
      .list()
      .some(
        ({ destination, machine }) =>
          destination === range(name) && node.spec.providerID === `fake://${machine}`,
      );
  };

const isGone =
  (name: string) =>
  async (actors: Actors): Promise<boolean> =>
    (await actors.node(name)) === undefined &&
    actors.cloud.routes.list().every(({ destination }) => destination !== range(name));

const start = async (actors: Actors, name: string): Promise<void> => {
  actors.cloud.machines.add(name);
  await actors.join(name, { spec: { podCIDR: range(name), podCIDRs: [range(name)] } });
};

const joins = (...names: readonly string[]): Step => ({
  what: `${names.join(" and ")} join`,
  needs: async (actors) => (await actors.nodes()).every(({ metadata }) => !names.includes(metadata.name)),
  act: async (actors) => {
    for (const name of names) await start(actors, name);
  },
  until: async (actors) => (await Promise.all(names.map((name) => hasJoined(name)(actors)))).every(Boolean),
});

const losesMachine = (name: string): Step => ({
  what: `the machine of ${name} is removed`,
  act: async (actors) => {
    actors.cloud.machines.remove(name);
    await actors.ready(name, false);
  },
  until: isGone(name),
});

const isDeleted = (name: string): Step => ({
  what: `the machine of ${name} is removed, and an autoscaler deletes its Node`,
  act: async (actors) => {
    actors.cloud.machines.remove(name);
    await actors.ready(name, false);
    await actors.deleteNode(name);
  },
  until: isGone(name),
});

const hasBalancer =
  (port: number) =>
  async (actors: Actors): Promise<boolean> => {
    const [balancer, second] = actors.cloud.balancers.list();
    const ingress = (await actors.service("web"))?.status.loadBalancer?.ingress ?? [];
    return second === undefined && balancer?.listeners[0]?.port === port && ingress[0]?.ip === balancer.ip;
  };
const hasNone = async (actors: Actors): Promise<boolean> => actors.cloud.balancers.list().length === 0;

const creates = (port: number): Step => ({
  what: `a user creates the Service web with port ${port}`,
  needs: async (actors) => (await actors.service("web")) === undefined,
  act: (actors) => actors.createService("web", { ports: [{ name: "web", port, targetPort: 8080 }] }),
  until: hasBalancer(port),
});
const edits = (what: string, spec: object, until: Step["until"]): Step => ({
  what,
  act: (actors) => actors.editService("web", { spec }),
  until,
});
const deletes: Step = {
  what: "the user deletes the Service",
  act: (actors) => actors.deleteService("web"),
  until: async (actors) => (await hasNone(actors)) && (await actors.service("web")) === undefined,
};

export const nodeIsReplaced: Scenario = {
  name: "a Node leaves, and its name joins with another machine",
  steps: [joins("a", "b"), creates(80), losesMachine("b"), joins("b")],
};

export const serviceIsReplaced: Scenario = {
  name: "a Service is deleted and created again under its name",
  steps: [joins("a"), creates(80), deletes, creates(82)],
};

export const scenarios: readonly Scenario[] = [
  { name: "Nodes join and leave", steps: [joins("a", "b"), losesMachine("a"), joins("c")] },
  {
    name: "a Service is created, changed, becomes ClusterIP and LoadBalancer again, and is deleted",
    steps: [
      joins("a"),
      creates(80),
      edits("its port changes", { ports: [{ name: "web", port: 81, targetPort: 8080 }] }, hasBalancer(81)),
      edits("it becomes ClusterIP", { type: "ClusterIP" }, hasNone),
      edits("it becomes LoadBalancer", { type: "LoadBalancer" }, hasBalancer(81)),
      deletes,
    ],
  },
  serviceIsReplaced,
  nodeIsReplaced,
  {
    name: "an autoscaler deletes a Node and its machine, and its name joins with another machine",
    steps: [joins("a", "b"), isDeleted("b"), joins("b")],
  },
];
