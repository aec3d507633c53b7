// Real changes of machines and Nodes: machines are shut down, started, removed with and without notice, added and replaced
// under the same name; kubelets go silent; other clouds have Nodes; users edit.

import { milliseconds, seconds } from "../../src/core/brand.ts";
import type { JsonObject } from "../../src/testing/apiserver/objects/json.ts";
import type { KubeObject } from "../../src/testing/apiserver/objects/kube-object.ts";
import type { Dice, Disruption, DisruptionSource } from "./disruptions.ts";
import type { World } from "./world.ts";

const annotated = (node: KubeObject, key: string, value: string | undefined): JsonObject => {
  const { [key]: _, ...others } = node.metadata.annotations ?? {};
  const annotations = value === undefined ? others : { ...others, [key]: value };
  return { ...node, metadata: { ...node.metadata, annotations } };
};
const labelled = (node: KubeObject, key: string, value: string | undefined): JsonObject => {
  const { [key]: _, ...others } = node.metadata.labels ?? {};
  const labels = value === undefined ? others : { ...others, [key]: value };
  return { ...node, metadata: { ...node.metadata, labels } };
};
const tainted = (node: KubeObject, key: string): JsonObject => {
  const taints = (node.spec?.["taints"] ?? []) as readonly JsonObject[];
  const others = taints.filter((taint) => taint["key"] !== key);
  return { ...node, spec: { ...node.spec, taints: [...others, { key, effect: "NoSchedule" }] } };
};

const zone = "topology.kubernetes.io/zone";
const editable = [
  "team.example/owner",
  "node.kubernetes.io/instance-type",
  zone,
  "fake.example/type",
] as const;

/** In seconds. No machine is replaced, boots and joins faster. */
const fastestReplacement = 20;

export const nodeChanges = (world: World, dice: Dice): DisruptionSource => {
  const { cloud, clock, silent } = world;
  let created = 0;
  const later = (min: number, max: number, work: () => void): void => {
    clock.after(milliseconds(Math.round(dice.between(min * 1000, max * 1000))), work);
  };
  const anyName = (): string => dice.pick(cloud.machines.list())?.name ?? "no-such-node";
  const running = (): string =>
    dice.pick(cloud.machines.list().filter(({ status }) => status === "running"))?.name ?? "no-such-node";

  const restart = (): void => {
    const name = running();
    world.setMachine(name, "stopped");
    later(60, 500, () => {
      if (world.machineNamed(name)?.status === "stopped") world.setMachine(name, "running");
    });
  };
  const scaleDown = (): void => {
    const name = anyName();
    if (dice.chance(0.5)) {
      world.edit(name, "cordon", (node) => ({ ...node, spec: { ...node.spec, unschedulable: true } }));
    } else {
      world.edit(name, "autoscaler's taint", (node) => tainted(node, "ToBeDeletedByClusterAutoscaler"));
    }
    later(1, 60, () => world.removeMachine(name));
  };
  const terminating = (): void => {
    const name = running();
    world.setMachine(name, "terminating");
    later(5, 200, () => world.removeMachine(name));
  };
  const scaleUp = (): void => {
    for (let count = dice.count(1, 3); count > 0; count -= 1) {
      created += 1;
      world.addNode(`new-${created}`);
    }
  };
  const replace = (): void => {
    const name = anyName();
    world.removeMachine(name);
    const removedAt = clock.monotonic();
    const isDeleted = dice.chance(0.7);
    later(0, 90, () => {
      if (isDeleted) world.deleteNode(name);
      const waitAfter = (at: number): number =>
        Math.max(0, fastestReplacement - (clock.monotonic() - at) / 1000);
      const join = (): void => {
        if (world.machineNamed(name) !== undefined) return;
        // Another disruption may have removed a machine of this name in the meantime.
        const wait = waitAfter(world.removedAt(name));
        if (wait > 0) clock.after(seconds(wait), join);
        else world.addNode(name);
      };
      later(waitAfter(removedAt), 60, join);
    });
  };
  /** A user deletes the Node; its kubelet restarts and registers a Node with another uid. */
  const registerAgain = (): void => {
    const name = running();
    world.deleteNode(name);
    later(0, 20, () => {
      if (world.machineNamed(name)?.status === "running") world.kubelets.join({ name });
    });
  };
  /** Machines are lost one after the other, while managers come and go: each sees fewer losses than the mass limit. */
  const loseMachines = (): void => {
    let at = 0;
    for (const { name } of dice.some(cloud.machines.list(), dice.count(4, 8))) {
      at += dice.between(5, 90);
      later(at, at + 1, () => world.removeMachine(name));
      if (dice.chance(0.4)) later(at + 90, at + 150, replaceLeader);
    }
  };
  const replaceLeader = (): void => {
    const { leader } = world;
    if (leader === undefined) return;
    if (dice.chance(0.5)) world.killReplica(leader);
    else world.terminateReplica(leader);
    later(0, 5, () => world.startReplica());
  };
  const goSilent = (): void => {
    const name = running();
    world.history.log(`the kubelet of ${name} goes silent`);
    silent.add(name);
    later(30, 600, () => silent.delete(name));
  };
  const editLabel = (): void => {
    const key = dice.pick(editable) ?? editable[0];
    const value = dice.chance(0.7) ? `by-hand-${dice.count(1, 9)}` : undefined;
    // The cloud rejects a volume in a zone that it does not have.
    if (key === zone && world.volumes !== undefined) return;
    world.edit(anyName(), `${key}=${value ?? ""}`, (node) => labelled(node, key, value));
  };
  const pause = (): void => {
    const name = anyName();
    world.edit(name, "paused", (node) => annotated(node, "fairlead.dev/paused", "true"));
    later(10, 300, () =>
      world.edit(name, "resumed", (node) => annotated(node, "fairlead.dev/paused", undefined)),
    );
  };
  const protect = (): void =>
    world.edit(anyName(), "protected", (node) => annotated(node, "fairlead.dev/node-deletion", "never"));
  const addForeignNode = (): void => {
    created += 1;
    world.history.log(`a foreign node foreign-${created}`);
    world.create({
      metadata: { name: `foreign-${created}` },
      spec: {
        providerID: dice.pick(["other://1", "fake:///zone/1", "hcloud://7"]) ?? "other://1",
        taints: [{ key: "node.cloudprovider.kubernetes.io/uninitialized", effect: "NoSchedule" }],
      },
      status: { conditions: [{ type: "Ready", status: dice.chance(0.5) ? "False" : "Unknown" }] },
    });
  };

  const disruptions: readonly Disruption[] = [
    { weight: 4, apply: restart },
    { weight: 2, apply: () => world.removeMachine(anyName()) },
    { weight: 2, apply: loseMachines },
    { weight: 3, apply: scaleDown },
    { weight: 2, apply: terminating },
    { weight: 4, apply: scaleUp },
    { weight: 3, apply: replace },
    { weight: 2, apply: registerAgain },
    { weight: 5, apply: goSilent },
    { weight: 4, apply: editLabel },
    {
      weight: 1,
      apply: () => world.edit(anyName(), "own taint", (node) => tainted(node, "team.example/x")),
    },
    { weight: 1, apply: pause },
    { weight: 1, apply: protect },
    { weight: 1, apply: addForeignNode },
  ];
  return {
    disruptions,
    stop: () => {
      for (const { metadata } of [...world.nodes()]) {
        for (const key of ["fairlead.dev/paused", "fairlead.dev/node-deletion"]) {
          if (metadata.annotations?.[key] === undefined) continue;
          world.edit(metadata.name, `no ${key}`, (node) => annotated(node, key, undefined));
        }
      }
    },
  };
};
