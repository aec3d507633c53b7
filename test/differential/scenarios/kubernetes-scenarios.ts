// Nodes and Services that Kubernetes' own controllers and clients also change: kube-controller-manager runs, and kubectl is
// the user.

import type { Batch, Step } from "../rig/scenario.ts";
import type { World } from "../rig/world.ts";
import { act, isGone, joins } from "./node-scenarios.ts";
import { creates, nothing } from "./service-scenarios.ts";

/** Keeps a Node from changing the targets of other scenarios. */
const excluded = "node.kubernetes.io/exclude-from-external-load-balancers";

const manifest = (name: string, note: string): string =>
  JSON.stringify({
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, annotations: { "example.com/shared": note } },
    spec: {
      type: "LoadBalancer",
      selector: { app: name },
      ports: [{ name: "web", port: 80, targetPort: 8080 }],
    },
  });

const applies =
  (client: string, name: string, note: string): Step["act"] =>
  async (world) => {
    const file = world.file(`${name}-${client}.json`, manifest(name, note));
    await world.kubectl(
      "apply",
      "--server-side",
      "--force-conflicts",
      `--field-manager=${client}`,
      `--filename=${file}`,
    );
  };

const serviceIsGone =
  (name: string) =>
  async (world: World): Promise<boolean> =>
    (await world.services()).every(({ metadata }) => metadata.name !== name);

const kubectl = (what: string, ...args: readonly string[]): Step =>
  act(what, (world) => world.kubectl(...args));

const owned =
  (name: string) =>
  async (world: World): Promise<void> => {
    await world.kubectl("create", "configmap", `${name}-owner`);
    const uid = await world.kubectl("get", "configmap", `${name}-owner`, "--output=jsonpath={.metadata.uid}");
    const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: `${name}-owner`, uid }];
    await world.createService(name, {}, { ownerReferences });
  };

const isServed =
  (name: string) =>
  async (world: World): Promise<boolean> =>
    (await world.services()).some(
      ({ metadata, status }) => metadata.name === name && status.loadBalancer?.ingress !== undefined,
    );

const hasTaint =
  (name: string, key: string) =>
  async (world: World): Promise<boolean> =>
    ((await world.node(name))?.spec.taints ?? []).some((taint) => taint.key === key);

/** The Node is initialized, has a route to the range that kube-controller-manager allocated, and no taints. */
const isInService = async (world: World, name: string): Promise<boolean> => {
  const node = await world.node(name);
  const network = node?.status.conditions?.find(({ type }) => type === "NetworkUnavailable");
  return network?.status === "False" && (node?.spec.taints ?? []).length === 0;
};

const joined = ["kube-target", "kube-cordoned", "kube-silent"];

const prepare: Step = act(
  "three Nodes join",
  async (world) => {
    for (const name of joined) await joins(name).act(world);
  },
  async (world) =>
    (await Promise.all(joined.map((name) => isInService(world, name)))).every((isDone) => isDone),
);

export const kubernetes: Batch = [
  {
    name: "kube-target",
    title: "initializes Nodes beside kube-controller-manager, with routes to the ranges that it allocates",
    steps: [prepare],
  },
  {
    name: "kube-cordoned",
    title: "does nothing for kubectl cordon, drain and uncordon",
    steps: [
      nothing,
      kubectl("kubectl cordon", "cordon", "kube-cordoned"),
      kubectl("kubectl drain", "drain", "kube-cordoned", "--ignore-daemonsets", "--force"),
      kubectl("kubectl uncordon", "uncordon", "kube-cordoned"),
    ],
  },
  {
    name: "kube-silent",
    title: "keeps the taints of a Node that Kubernetes calls unreachable",
    steps: [
      nothing,
      act(
        "its machine stops, and its kubelet is silent",
        async (world) => {
          world.cloud.machines.setStatus("kube-silent", "stopped");
          const conditions = (await world.node("kube-silent"))?.status.conditions ?? [];
          const silent = conditions.map((one) =>
            one.type === "Ready" ? { ...one, status: "Unknown" } : one,
          );
          await world.editNodeStatus("kube-silent", { status: { conditions: silent } });
        },
        hasTaint("kube-silent", "node.kubernetes.io/unreachable"),
      ),
    ],
  },
  {
    name: "kube-fight",
    title: "survives two clients that apply one Service in turns",
    steps: [
      nothing,
      act("the first client applies it", applies("one", "kube-fight", "one"), isServed("kube-fight")),
      act("they overwrite each other", async (world) => {
        for (let turn = 0; turn < 5; turn += 1) {
          await applies("two", "kube-fight", `two ${turn}`)(world);
          await applies("one", "kube-fight", `one ${turn}`)(world);
        }
      }),
    ],
  },
  {
    name: "kube-owned",
    title: "deletes the load balancer of a Service that the garbage collector deletes",
    steps: [
      nothing,
      act("a user creates a Service with an owner", owned("kube-owned"), isServed("kube-owned")),
      act(
        "a user deletes the owner",
        (world) => world.kubectl("delete", "configmap", "kube-owned-owner"),
        serviceIsGone("kube-owned"),
      ),
    ],
  },
  {
    name: "kube-foreground",
    title: "deletes the load balancer of a Service that is deleted in the foreground",
    steps: [
      ...creates("kube-foreground"),
      act(
        "a user deletes it",
        (world) =>
          world.kubectl("delete", "service", "kube-foreground", "--cascade=foreground", "--wait=false"),
        serviceIsGone("kube-foreground"),
      ),
    ],
  },
  {
    name: "kube-space",
    title: "deletes the load balancers of a namespace that is deleted",
    steps: [
      nothing,
      act(
        "a user creates a Service in a namespace",
        async (world) => {
          await world.kubectl("create", "namespace", "kube-space");
          const file = world.file("kube-space.json", manifest("kube-space", "none"));
          await world.kubectl("create", "--namespace=kube-space", `--filename=${file}`);
        },
        isServed("kube-space"),
      ),
      act(
        "a user deletes the namespace",
        (world) => world.kubectl("delete", "namespace", "kube-space", "--wait=false"),
        serviceIsGone("kube-space"),
      ),
    ],
  },
  {
    name: "kube-gone",
    title: "leaves a Node deleted that a user deletes while its machine runs",
    steps: [
      nothing,
      {
        ...joins("kube-gone", { labels: { [excluded]: "" } }),
        until: (world) => isInService(world, "kube-gone"),
      },
      act(
        "kubectl delete node",
        (world) => world.kubectl("delete", "node", "kube-gone"),
        isGone("kube-gone"),
      ),
    ],
  },
];
