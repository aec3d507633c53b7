// What really happens to machines and Nodes: switched off and on, removed with and without a word, added, replaced under
// the same name, silent kubelets, foreign nodes, and people who edit.

import { milliseconds } from "../../src/core/brand.ts";
import type { JsonObject } from "../../src/testing/apiserver/objects/json.ts";
import type { KubeObject } from "../../src/testing/apiserver/objects/kube-object.ts";
import type { Dice, Mishap, Weather } from "./storm.ts";
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

const editable = [
  "team.example/owner",
  "node.kubernetes.io/instance-type",
  "topology.kubernetes.io/zone",
  "fake.example/type",
] as const;

export const machineWeather = (world: World, dice: Dice): Weather => {
  const { cloud, clock, silent } = world;
  let made = 0;
  const later = (least: number, most: number, work: () => void): void => {
    clock.after(milliseconds(Math.round(dice.between(least * 1000, most * 1000))), work);
  };
  const anyName = (): string => dice.pick(cloud.machines.list())?.name ?? "nobody";
  const running = (): string =>
    dice.pick(cloud.machines.list().filter(({ status }) => status === "running"))?.name ?? "nobody";

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
      made += 1;
      world.addNode(`new-${made}`);
    }
  };
  const replace = (): void => {
    const name = anyName();
    world.removeMachine(name);
    const isDeleted = dice.chance(0.7);
    later(0, 90, () => {
      if (isDeleted) world.deleteNode(name);
      later(0, 60, () => {
        if (world.machineNamed(name) === undefined) world.addNode(name);
      });
    });
  };
  /** Somebody deletes the Node; its kubelet is started anew and registers again, with another uid. */
  const registerAgain = (): void => {
    const name = running();
    world.deleteNode(name);
    later(0, 20, () => {
      if (world.machineNamed(name)?.status === "running") world.kubelets.join({ name });
    });
  };
  const fallSilent = (): void => {
    const name = running();
    world.script.say(`the kubelet of ${name} falls silent`);
    silent.add(name);
    later(30, 600, () => silent.delete(name));
  };
  const editLabel = (): void => {
    const key = dice.pick(editable) ?? editable[0];
    const value = dice.chance(0.7) ? `by-hand-${dice.count(1, 9)}` : undefined;
    world.edit(anyName(), `${key}=${value ?? ""}`, (node) => labelled(node, key, value));
  };
  const pause = (): void => {
    const name = anyName();
    world.edit(name, "paused", (node) => annotated(node, "fairlead.dev/paused", "true"));
    later(10, 300, () =>
      world.edit(name, "paused no more", (node) => annotated(node, "fairlead.dev/paused", undefined)),
    );
  };
  const keep = (): void =>
    world.edit(anyName(), "to be kept", (node) => annotated(node, "fairlead.dev/node-deletion", "never"));
  const foreign = (): void => {
    made += 1;
    world.script.say(`a foreign node foreign-${made}`);
    world.create({
      metadata: { name: `foreign-${made}` },
      spec: {
        providerID: dice.pick(["other://1", "fake:///zone/1", "hcloud://7"]) ?? "other://1",
        taints: [{ key: "node.cloudprovider.kubernetes.io/uninitialized", effect: "NoSchedule" }],
      },
      status: { conditions: [{ type: "Ready", status: dice.chance(0.5) ? "False" : "Unknown" }] },
    });
  };

  const mishaps: readonly Mishap[] = [
    { weight: 4, strike: restart },
    { weight: 2, strike: () => world.removeMachine(anyName()) },
    { weight: 3, strike: scaleDown },
    { weight: 2, strike: terminating },
    { weight: 4, strike: scaleUp },
    { weight: 3, strike: replace },
    { weight: 2, strike: registerAgain },
    { weight: 5, strike: fallSilent },
    { weight: 4, strike: editLabel },
    {
      weight: 1,
      strike: () => world.edit(anyName(), "own taint", (node) => tainted(node, "team.example/x")),
    },
    { weight: 1, strike: pause },
    { weight: 1, strike: keep },
    { weight: 1, strike: foreign },
  ];
  return {
    mishaps,
    calm: () => {
      for (const { metadata } of [...world.nodes()]) {
        for (const key of ["fairlead.dev/paused", "fairlead.dev/node-deletion"]) {
          if (metadata.annotations?.[key] === undefined) continue;
          world.edit(metadata.name, `no ${key}`, (node) => annotated(node, key, undefined));
        }
      }
    },
  };
};
