// Machines that run, and that the cloud shows as stopped, within the limits of the design: shorter than the confirmation time, in only one of
// the two proofs, or more machines than the mass limit.

import { milliseconds } from "../../src/core/brand.ts";
import type { Dice, DisruptionSource } from "./disruptions.ts";
import type { HiddenFrom } from "./hidden-machines.ts";
import type { World } from "./world.ts";

export const stopFaults = (world: World, dice: Dice): DisruptionSource => {
  const { cloud, clock, history, shownStopped, silent } = world;
  if (!world.tellsStops) return { disruptions: [], stop: () => undefined };
  /** Machines that were shown as stopped once, because two such lies together could exceed the limits of the design. */
  const lied = new Set<string>();
  let manyUntil = 0;

  const running = () =>
    cloud.machines.list().filter(({ id, status }) => status === "running" && !lied.has(id));
  /** The manager does not request the machine of a Ready Node, so the kubelet usually goes silent first. */
  const show = (id: string, name: string, from: HiddenFrom, duration: number): void => {
    lied.add(id);
    if (dice.chance(0.9)) {
      silent.add(name);
      clock.after(milliseconds(Math.round(dice.between(200_000, 700_000))), () => silent.delete(name));
    }
    clock.after(milliseconds(Math.round(dice.between(0, 110_000))), () => {
      history.log(`cloud: shows machine ${id} of ${name} as stopped for ${duration / 1000} s in ${from}`);
      shownStopped.hide(id, from, duration);
    });
  };
  const showOne = (from: HiddenFrom, longest: number): void => {
    const machine = dice.pick(running());
    if (machine === undefined || clock.monotonic() < manyUntil) return;
    show(machine.id, machine.name, from, Math.round(dice.between(2_000, longest)));
  };
  const showMany = (): void => {
    const managed = world.nodes().length;
    // Announced and paused Nodes do not count, and some of these may become such Nodes.
    const min = Math.max(2, Math.floor(managed * 0.2)) + 4;
    const chosen = running();
    if (lied.size > 0 || chosen.length < min || world.isHidingMany) return;
    const duration = Math.round(dice.between(30_000, 600_000));
    manyUntil = clock.monotonic() + duration + 110_000;
    const from = milliseconds(Math.round(dice.between(0, 80_000)));
    for (const { id, name } of chosen) {
      lied.add(id);
      if (dice.chance(0.4)) silent.add(name);
      clock.after(milliseconds(600_000), () => silent.delete(name));
      clock.after(from, () => shownStopped.hide(id, "both", duration));
    }
    history.log(`cloud: shows ${chosen.length} machines as stopped for ${duration / 1000} s`);
  };

  return {
    disruptions: [
      { weight: 6, apply: () => showOne("both", 25_000) },
      { weight: 3, apply: () => showOne("listing", 500_000) },
      { weight: 3, apply: () => showOne("lookup", 500_000) },
      { weight: 3, apply: showMany },
    ],
    stop: () => {
      shownStopped.clear();
      silent.clear();
    },
  };
};
