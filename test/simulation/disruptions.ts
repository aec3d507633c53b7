// Plans the disruptions of a run from its seed: the kind, the time and the object of each. The *-faults.ts and *-changes.ts
// files apply them.

import { type Milliseconds, milliseconds } from "../../src/core/brand.ts";
import { type Random, seededRandom } from "../../src/platform/random.ts";
import { apiServerFaults } from "./api-server-faults.ts";
import { balancerFaults } from "./balancer-faults.ts";
import { cloudFaults } from "./cloud-faults.ts";
import { lookupFaults } from "./lookup-faults.ts";
import { neighbours } from "./neighbours.ts";
import { nodeChanges } from "./node-changes.ts";
import { processFaults } from "./process-faults.ts";
import { restoredServer } from "./restored-server.ts";
import { routeOperationFaults } from "./route-operation-faults.ts";
import { serviceChanges } from "./service-changes.ts";
import { stopFaults } from "./stop-faults.ts";
import { unstoredRemovals } from "./unstored-removals.ts";
import { vanishingObjects } from "./vanishing-objects.ts";
import { volumeChanges } from "./volume-changes.ts";
import { volumeControllerAlone } from "./volume-controller-alone.ts";
import { volumeFaults } from "./volume-faults.ts";
import type { World } from "./world.ts";
import { wrongProject } from "./wrong-project.ts";

export class Dice {
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  chance(probability: number): boolean {
    return this.#random.fraction() < probability;
  }

  between(min: number, max: number): number {
    return min + this.#random.fraction() * (max - min);
  }

  count(min: number, max: number): number {
    return Math.floor(this.between(min, max + 1));
  }

  pick<T>(from: readonly T[]): T | undefined {
    return from[Math.floor(this.#random.fraction() * from.length)];
  }

  some<T>(from: readonly T[], count: number): readonly T[] {
    const left = [...from];
    const chosen: T[] = [];
    while (chosen.length < count && left.length > 0) {
      chosen.push(...left.splice(Math.floor(this.#random.fraction() * left.length), 1));
    }
    return chosen;
  }

  weighted<T extends { readonly weight: number }>(from: readonly T[]): T | undefined {
    let roll = this.between(
      0,
      from.reduce((sum, { weight }) => sum + weight, 0),
    );
    return from.find(({ weight }) => {
      roll -= weight;
      return roll < 0;
    });
  }
}

/**
 * Kinds that only a share of the seeds have, once or twice. Each uses its own random numbers, so that a new one changes no other
 * disruption of a seed.
 */
const rare: readonly (readonly [
  salt: number,
  share: number,
  make: (world: World, dice: Dice) => DisruptionSource,
])[] = [
  [0x7a77, 0.25, wrongProject],
  [0x701e, 0.7, volumeFaults],
  [0xa10e, 0.3, volumeControllerAlone],
];

/** A fault or a change, which logs itself to the history. */
export interface Disruption {
  /** The relative frequency. */
  readonly weight: number;
  readonly apply: () => void;
}

export interface DisruptionSource {
  readonly disruptions: readonly Disruption[];
  /** Ends faults that are still active. */
  readonly stop: () => void;
}

export interface ScheduleOptions {
  readonly seed: number;
  readonly duration: Milliseconds;
  readonly disruptions: number;
}

/** Schedules the disruptions on the world's clock; returns a function that ends them. */
export const scheduleDisruptions = (
  world: World,
  { seed, duration, disruptions }: ScheduleOptions,
): (() => void) => {
  const dice = new Dice(seededRandom(seed ^ 0x57042));
  const sources = [
    cloudFaults,
    balancerFaults,
    apiServerFaults,
    vanishingObjects,
    restoredServer,
    neighbours,
    unstoredRemovals,
    processFaults,
    nodeChanges,
    serviceChanges,
  ].map((make) => make(world, dice));
  const known = sources.flatMap((source) => source.disruptions);
  // Half of the seeds use few kinds often: where everything happens, one fault prevents the consequences of another.
  const chosen = dice.chance(0.5) ? known : dice.some(known, dice.count(3, Math.round(known.length / 3)));
  // All kinds that only runs with their variant have.
  const ofVariants = [
    volumeChanges(world, dice),
    lookupFaults(world, new Dice(seededRandom(seed ^ 0x100c))),
    stopFaults(world, new Dice(seededRandom(seed ^ 0x57095))),
    routeOperationFaults(world, new Dice(seededRandom(seed ^ 0x0bec))),
  ];
  const scheduleOne = (disruption: Disruption | undefined, at: number): void => {
    world.clock.after(milliseconds(Math.round(at)), () => {
      if (isOver) return;
      world.disruptions += 1;
      disruption?.apply();
    });
  };
  const all = [...chosen, ...ofVariants.flatMap((source) => source.disruptions)];
  let isOver = false;
  for (let index = 0; index < disruptions; index += 1)
    scheduleOne(dice.weighted(all), dice.between(0, duration));
  const ofSomeSeeds = rare.flatMap(([salt, share, make]) => {
    const own = new Dice(seededRandom(seed ^ salt));
    if (!own.chance(share)) return [];
    const source = make(world, own);
    for (let count = own.count(1, 2); count > 0; count -= 1)
      scheduleOne(own.weighted(source.disruptions), own.between(0, duration));
    return source;
  });
  return () => {
    isOver = true;
    world.history.log("the disruptions are over");
    for (const { stop } of [...sources, ...ofVariants, ...ofSomeSeeds]) stop();
  };
};
