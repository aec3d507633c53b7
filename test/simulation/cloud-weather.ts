// What a cloud can do wrong: refuse, break, delay, shorten, and lie within the limits that the design sets: for a shorter
// time than the confirmation, in one of the two proofs only, or about more machines than the mass limit.

import { milliseconds, seconds } from "../../src/core/brand.ts";
import type { LieWay } from "./lies.ts";
import type { Dice, Mishap, Weather } from "./storm.ts";
import type { World } from "./world.ts";

export const cloudWeather = (world: World, dice: Dice): Weather => {
  const { cloud, lies, script, clock, silent } = world;
  /** Two lies about one machine could add up to what no proof can stand against. */
  const liedAbout = new Map<string, LieWay>();

  const fault = (text: string, planned: Parameters<typeof cloud.faults.add>[0]): void => {
    script.say(`cloud: ${text} ${JSON.stringify(planned)}`);
    cloud.faults.add(planned);
  };
  const silence = (name: string, duration: number): void => {
    silent.add(name);
    clock.after(milliseconds(duration), () => silent.delete(name));
  };
  const honest = () => cloud.machines.list().filter(({ id }) => !liedAbout.has(id));
  const lie = (id: string, name: string, way: LieWay, duration: number): void => {
    script.say(`cloud: lies for ${duration / 1000} s about machine ${id} of ${name} in ${way}`);
    lies.report(id, way, duration);
  };
  /** A Node that is Ready is not asked about: mostly the kubelet falls silent before. */
  const afterSilence = (name: string, report: () => void): void => {
    if (dice.chance(0.8)) silence(name, Math.round(dice.between(120_000, 400_000)));
    clock.after(milliseconds(Math.round(dice.between(0, 110_000))), report);
  };

  const shortLie = (): void => {
    const machine = dice.pick(honest());
    if (machine === undefined) return;
    liedAbout.set(machine.id, "both");
    const duration = Math.round(dice.between(2_000, 29_000));
    afterSilence(machine.name, () => lie(machine.id, machine.name, "both", duration));
  };
  const oneSidedLie = (): void => {
    const way = dice.chance(0.5) ? "listing" : "lookup";
    const machine = dice.pick(
      cloud.machines.list().filter(({ id }) => (liedAbout.get(id) ?? way) === way && hasID(id)),
    );
    if (machine === undefined) return;
    liedAbout.set(machine.id, way);
    const duration = Math.round(dice.between(10_000, 500_000));
    afterSilence(machine.name, () => lie(machine.id, machine.name, way, duration));
  };
  /** One proof is all there is of a machine whose Node has no id yet. */
  const hasID = (id: string): boolean => world.nodes().some(({ spec }) => spec.providerID === `fake://${id}`);
  const massLie = (): void => {
    const managed = world.nodes().length;
    // Announced and kept Nodes do not count against the limit, and some of these may become so meanwhile.
    const least = Math.max(2, Math.floor(managed * 0.2)) + 4;
    const chosen = dice.some(honest(), dice.count(least, managed));
    if (chosen.length < least || [...liedAbout.values()].includes("both")) return;
    const duration = Math.round(dice.between(30_000, 600_000));
    for (const { id } of chosen) liedAbout.set(id, "both");
    for (const { name } of dice.some(chosen, dice.count(0, chosen.length))) silence(name, 300_000);
    clock.after(milliseconds(Math.round(dice.between(0, 80_000))), () => {
      for (const { id, name } of chosen) lie(id, name, "both", duration);
    });
  };

  const mishaps: readonly Mishap[] = [
    { weight: 3, strike: () => fault("fails", { kind: "status", status: 500, calls: dice.count(1, 12) }) },
    { weight: 2, strike: () => fault("throttles", { kind: "status", status: 429, calls: dice.count(1, 3) }) },
    { weight: 1, strike: () => fault("is away", { kind: "status", status: 503, calls: dice.count(5, 40) }) },
    { weight: 1, strike: () => fault("resets", { kind: "reset", calls: dice.count(1, 5) }) },
    { weight: 1, strike: () => fault("loses answers", { kind: "lost-answer", calls: dice.count(1, 3) }) },
    { weight: 1, strike: () => fault("hangs", { kind: "hang", calls: dice.count(1, 3) }) },
    { weight: 1, strike: () => fault("cuts", { kind: "cut", calls: dice.count(1, 3) }) },
    { weight: 2, strike: () => fault("shortens a page", { kind: "short-page", calls: dice.count(1, 4) }) },
    {
      weight: 2,
      strike: () =>
        fault("slows down", {
          kind: "slow",
          milliseconds: Math.round(dice.between(1_000, 40_000)),
          calls: dice.count(1, 5),
        }),
    },
    { weight: 4, strike: shortLie },
    { weight: 4, strike: oneSidedLie },
    { weight: 2, strike: massLie },
  ];
  return {
    mishaps,
    calm: () => {
      cloud.faults.clear();
      lies.clear();
      silent.clear();
      cloud.latency = seconds(0);
    },
  };
};
