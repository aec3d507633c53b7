// Faults of the cloud: it rejects requests, breaks connections, delays responses, truncates pages, and hides machines within the
// limits of the design: shorter than the confirmation time, in only one of the two proofs, or more machines than the mass limit.

import { milliseconds, seconds } from "../../src/core/brand.ts";
import type { Dice, Disruption, DisruptionSource } from "./disruptions.ts";
import type { HiddenFrom } from "./hidden-machines.ts";
import type { World } from "./world.ts";

export const cloudFaults = (world: World, dice: Dice): DisruptionSource => {
  const { cloud, hiddenMachines, history, clock, silent } = world;
  /** A machine is hidden only once, because two such faults together could exceed the limits of the design. */
  const alreadyHidden = new Map<string, HiddenFrom>();

  const fault = (text: string, planned: Parameters<typeof cloud.faults.add>[0]): void => {
    history.log(`cloud: ${text} ${JSON.stringify(planned)}`);
    cloud.faults.add(planned);
  };
  const silenceKubelet = (name: string, duration: number): void => {
    silent.add(name);
    clock.after(milliseconds(duration), () => silent.delete(name));
  };
  const neverHidden = () => cloud.machines.list().filter(({ id }) => !alreadyHidden.has(id));
  const hide = (id: string, name: string, from: HiddenFrom, duration: number): void => {
    history.log(`cloud: hides machine ${id} of ${name} for ${duration / 1000} s from ${from}`);
    hiddenMachines.hide(id, from, duration);
  };
  /** The instance of a Ready Node is not looked up, so the kubelet usually goes silent first. */
  const afterSilence = (name: string, start: () => void): void => {
    if (dice.chance(0.8)) silenceKubelet(name, Math.round(dice.between(120_000, 400_000)));
    clock.after(milliseconds(Math.round(dice.between(0, 110_000))), start);
  };

  const hideShortly = (): void => {
    const machine = dice.pick(neverHidden());
    if (machine === undefined) return;
    alreadyHidden.set(machine.id, "both");
    const duration = Math.round(dice.between(2_000, 29_000));
    afterSilence(machine.name, () => hide(machine.id, machine.name, "both", duration));
  };
  const hideFromOneProof = (): void => {
    const from = dice.chance(0.5) ? "listing" : "lookup";
    const machine = dice.pick(
      cloud.machines.list().filter(({ id }) => (alreadyHidden.get(id) ?? from) === from && hasID(id)),
    );
    if (machine === undefined) return;
    alreadyHidden.set(machine.id, from);
    const duration = Math.round(dice.between(10_000, 500_000));
    afterSilence(machine.name, () => hide(machine.id, machine.name, from, duration));
  };
  /** For a Node without a provider id, there is only one proof. */
  const hasID = (id: string): boolean => world.nodes().some(({ spec }) => spec.providerID === `fake://${id}`);
  const hideMany = (): void => {
    const managed = world.nodes().length;
    // Announced and protected Nodes do not count against the limit, and some of these Nodes may become such Nodes.
    const min = Math.max(2, Math.floor(managed * 0.2)) + 4;
    const chosen = dice.some(neverHidden(), dice.count(min, managed));
    if (chosen.length < min || [...alreadyHidden.values()].includes("both") || world.isHidingMany) return;
    const duration = Math.round(dice.between(30_000, 600_000));
    world.hidesMany(duration + 80_000);
    for (const { id } of chosen) alreadyHidden.set(id, "both");
    for (const { name } of dice.some(chosen, dice.count(0, chosen.length))) silenceKubelet(name, 300_000);
    clock.after(milliseconds(Math.round(dice.between(0, 80_000))), () => {
      for (const { id, name } of chosen) hide(id, name, "both", duration);
    });
  };

  const disruptions: readonly Disruption[] = [
    { weight: 3, apply: () => fault("fails", { kind: "status", status: 500, calls: dice.count(1, 12) }) },
    { weight: 2, apply: () => fault("throttles", { kind: "status", status: 429, calls: dice.count(1, 3) }) },
    { weight: 1, apply: () => fault("is away", { kind: "status", status: 503, calls: dice.count(5, 40) }) },
    { weight: 1, apply: () => fault("resets", { kind: "reset", calls: dice.count(1, 5) }) },
    { weight: 1, apply: () => fault("loses answers", { kind: "lost-answer", calls: dice.count(1, 3) }) },
    { weight: 1, apply: () => fault("hangs", { kind: "hang", calls: dice.count(1, 3) }) },
    { weight: 1, apply: () => fault("cuts", { kind: "cut", calls: dice.count(1, 3) }) },
    { weight: 2, apply: () => fault("shortens a page", { kind: "short-page", calls: dice.count(1, 4) }) },
    {
      weight: 2,
      apply: () =>
        fault("slows down", {
          kind: "slow",
          milliseconds: Math.round(dice.between(1_000, 40_000)),
          calls: dice.count(1, 5),
        }),
    },
    { weight: 4, apply: hideShortly },
    { weight: 4, apply: hideFromOneProof },
    { weight: 2, apply: hideMany },
  ];
  return {
    disruptions,
    stop: () => {
      cloud.faults.clear();
      hiddenMachines.clear();
      silent.clear();
      cloud.latency = seconds(0);
    },
  };
};
