// A storm from one seed: what goes wrong, when, with whom. It only decides; cloud-weather, kube-weather, process-weather,
// machine-weather and service-weather carry it out.

import { type Milliseconds, milliseconds } from "../../src/core/brand.ts";
import { type Random, seededRandom } from "../../src/platform/random.ts";
import { cloudWeather } from "./cloud-weather.ts";
import { kubeWeather } from "./kube-weather.ts";
import { machineWeather } from "./machine-weather.ts";
import { processWeather } from "./process-weather.ts";
import { serviceWeather } from "./service-weather.ts";
import type { World } from "./world.ts";

export class Dice {
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  chance(probability: number): boolean {
    return this.#random.fraction() < probability;
  }

  between(least: number, most: number): number {
    return least + this.#random.fraction() * (most - least);
  }

  count(least: number, most: number): number {
    return Math.floor(this.between(least, most + 1));
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
}

/** Something that can go wrong; it says itself to the script. */
export interface Mishap {
  /** How often, against the others. */
  readonly weight: number;
  readonly strike: () => void;
}

export interface Weather {
  readonly mishaps: readonly Mishap[];
  /** Ends whatever lasts. */
  readonly calm: () => void;
}

export interface StormOptions {
  readonly seed: number;
  readonly lasts: Milliseconds;
  readonly mishaps: number;
}

/** Plans the storm on the world's clock; returns what ends it. */
export const brew = (world: World, { seed, lasts, mishaps }: StormOptions): (() => void) => {
  const dice = new Dice(seededRandom(seed ^ 0x57042));
  const weathers = [cloudWeather, kubeWeather, processWeather, machineWeather, serviceWeather].map((make) =>
    make(world, dice),
  );
  const all = weathers.flatMap((weather) => weather.mishaps);
  const total = all.reduce((sum, { weight }) => sum + weight, 0);
  let isOver = false;
  for (let index = 0; index < mishaps; index += 1) {
    let roll = dice.between(0, total);
    const mishap = all.find(({ weight }) => {
      roll -= weight;
      return roll < 0;
    });
    world.clock.after(milliseconds(Math.round(dice.between(0, lasts))), () => {
      if (!isOver) mishap?.strike();
    });
  }
  return () => {
    isOver = true;
    world.script.say("the storm is over");
    for (const { calm } of weathers) calm();
  };
};
