// Users of the cloud label machines while leaders are killed: Nodes follow, and no label has another effect.

import { expect, test } from "bun:test";
import { minutes, seconds } from "../../src/core/brand.ts";
import { cloudPrefix } from "./node-invariants.ts";
import { World } from "./world.ts";

const flags = [`--node-labels-from=${cloudPrefix}*`, `--node-taints-from=${cloudPrefix}taint-`];
const candidates: readonly (readonly [string, string])[] = [
  [`${cloudPrefix}rack`, "r1"],
  [`${cloudPrefix}rack`, "r2"],
  [`${cloudPrefix}taint-a`, "x.NoSchedule"],
  [`${cloudPrefix}taint-a`, "y.PreferNoSchedule"],
  [`${cloudPrefix}taint-b`, "NoExecute"],
  [`${cloudPrefix}not valid`, "x"],
  ["kubernetes.io/hostname", "x"],
  ["node.kubernetes.io/unreachable", "NoExecute"],
  ["other", "x"],
];

test.each([1, 2])(
  "Nodes follow the labels of machines, and get no NoExecute (seed %d) [F107 N25]",
  async (seed) => {
    const world = new World({ seed, nodes: 6, replicas: 2, flags });
    const { clock, cloud, random, invariants } = world;
    const pick = <T>(items: readonly T[]): T | undefined =>
      items[Math.floor(random.fraction() * items.length)];
    await clock.advance(minutes(2));
    for (let step = 0; step < 40; step += 1) {
      const { name = "" } = pick(cloud.machines.list()) ?? {};
      cloud.machines.label(name, Object.fromEntries(candidates.filter(() => random.fraction() < 0.4)));
      if (random.fraction() < 0.1 && world.leader !== undefined) {
        world.killReplica(world.leader);
        world.startReplica();
      }
      await clock.advance(seconds(60));
    }
    const [first = "", second = ""] = cloud.machines.list().map(({ name }) => name);
    cloud.machines.label(first, { [`${cloudPrefix}rack`]: "r9", [`${cloudPrefix}taint-b`]: "z.NoSchedule" });
    cloud.machines.label(second, {});
    await clock.advance(minutes(40));
    const shown = (name: string) => {
      const { metadata, spec } = world.node(name) ?? { metadata: { labels: {} }, spec: {} };
      const labels = Object.entries(metadata.labels ?? {}).filter(([key]) => key.startsWith(cloudPrefix));
      const taints = (spec.taints ?? []).filter(({ key }) => key.startsWith(cloudPrefix));
      return { labels: Object.fromEntries(labels), taints };
    };
    expect(shown(first)).toEqual({
      labels: { [`${cloudPrefix}rack`]: "r9", [`${cloudPrefix}taint-b`]: "z.NoSchedule" },
      taints: [{ key: `${cloudPrefix}taint-b`, value: "z", effect: "NoSchedule" }],
    });
    expect(shown(second)).toEqual({ labels: {}, taints: [] });
    for (const replica of [...world.replicas]) world.killReplica(replica);
    world.kubelets.stop();
    expect(invariants.violations).toEqual([]);
  },
);
