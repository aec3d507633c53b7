import { expect, test } from "bun:test";
import { isReady } from "../../../src/controllers/node-facts.ts";
import { milliseconds } from "../../../src/core/brand.ts";
import type { Node } from "../../../src/kube/objects.ts";
import { seededRandom } from "../../../src/platform/random.ts";
import { runsAllTests } from "../../../src/testing/breadth.ts";
import { NodeControllers, uninitialized } from "../../support/node-controllers.ts";
import { machine, outage } from "../../support/scripted-source.ts";

// Seeded random faults for both node controllers: outages of any length, incorrect answers to one kind of proof for
// any time, incorrect answers to both kinds for less than the confirmation time, and Nodes that flap, are deleted,
// and return under their names.

const storm = async (seed: number) => {
  const random = seededRandom(seed);
  const chance = (share: number) => random.fraction() < share;
  const pick = <T>(all: readonly T[]): T => all[Math.floor(random.fraction() * all.length)] as T;
  const names = Array.from({ length: 8 }, (_, index) => `n${index}`);
  const lookups = chance(0.5) ? { lookups: { id: 3 } } : {};
  const script = { takes: milliseconds(1 + random.fraction() * 3000), pageSize: 3, ...lookups };
  // One kind of incorrect answer per run, because two kinds with an outage in between would be two proofs.
  const kind = pick(["both", "listing", "lookup"] as const);
  const oneProof = kind !== "both" && "lookups" in script;
  const w = new NodeControllers({ script, machines: names.map((name) => machine(name)) });
  const wrong: string[] = [];
  w.nodes.server.onWrite(({ storage, type, before }) => {
    if (storage !== "nodes" || type !== "DELETED" || before === undefined || removing) return;
    const { name } = before.metadata;
    if (w.cloud.machines.has(name)) wrong.push(`${name} at ${w.clock.monotonic()}`);
    if (isReady(before as unknown as Node)) wrong.push(`${name} was Ready`);
  });
  let removing = false;
  let liesUntil = 0;
  const exists = (name: string) => w.nodes.get(name) !== undefined;
  const join = (name: string) => {
    const id = chance(0.5) ? { providerID: `fake://${name}` } : {};
    w.nodes.add({
      name,
      uid: random.uuid(),
      spec: { taints: [uninitialized], ...id },
      status: { conditions: [{ type: "Ready", status: chance(0.5) ? "False" : "True" }] },
    });
  };
  for (const name of names) join(name);
  w.start("node", "lifecycle");
  for (let step = 0; step < 60; step += 1) {
    const name = pick(names);
    if (chance(0.3) && exists(name))
      w.nodes.setReady(name, pick(["True", "False", "False", "Unknown"] as const));
    if (oneProof && chance(0.1)) w.cloud.failure = chance(0.5) ? { error: outage() } : undefined;
    if (w.clock.monotonic() >= liesUntil) w.cloud.hidden.clear();
    if (chance(0.3) && w.clock.monotonic() >= liesUntil + 60_000) {
      // Both kinds are incorrect together only for less than the confirmation time, with pauses in between. At most
      // two Nodes are affected, because the mass limit would block more.
      for (const each of [pick(names), pick(names)]) {
        w.cloud.hidden.set(each, kind);
        if (exists(each)) w.nodes.setReady(each, "False");
      }
      liesUntil = w.clock.monotonic() + (oneProof ? 200_000 : 15_000);
    }
    if (chance(0.05)) w.cloud.machines.delete(name);
    if (chance(0.05) && exists(name)) {
      removing = true;
      w.nodes.remove(name);
      removing = false;
      w.cloud.put(machine(name));
      join(name);
    }
    const delay = Math.min(pick([1, 5, 12, 40]), Math.max(1, (liesUntil - w.clock.monotonic()) / 1000 || 40));
    await w.pass(w.cloud.hidden.size > 0 ? delay : pick([1, 5, 12, 40]));
  }
  w.cloud.failure = undefined;
  w.cloud.hidden.clear();
  for (const name of names) if (exists(name) && !w.cloud.machines.has(name)) w.nodes.setReady(name, "False");
  await w.pass(3600);
  const left = names.filter((name) => exists(name) && !w.cloud.machines.has(name));
  const tainted = names.filter(
    (name) => exists(name) && w.cloud.machines.has(name) && w.nodes.node(name).spec.providerID === undefined,
  );
  const calls = w.cloud.calls.length;
  await w.pass(600);
  const idle = w.cloud.calls.length - calls;
  await w.stop();
  return { seed, wrong, left, tainted, idle };
};

test("a run with random faults deletes no Node whose machine exists, and the controllers converge afterwards [F18 F22 F23]", async () => {
  for (let seed = 1; seed <= (runsAllTests ? 20 : 3); seed += 1) {
    const result = await storm(seed);
    const { wrong, tainted, left } = result;
    expect({ seed, wrong, tainted }).toEqual({ seed, wrong: [], tainted: [] });
    // More losses than the mass limit are kept until confirmed; fewer are deleted.
    expect(left.length === 0 || left.length > 2).toBe(true);
    expect(result.idle).toBeLessThan(60);
  }
});
