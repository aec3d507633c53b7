// Looks up machines in one source, batch by batch, and caches the answers until the next listing. A missing answer is an error; an
// empty answer means that no such machine exists.

import { shortList } from "../../core/text.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Call } from "../../provider/call.ts";
import { CloudError } from "../../provider/errors.ts";
import type { Instance, InstanceSource, MatchKey } from "../../provider/instances.ts";
import { type KeyAnswer, keysOf } from "./instance-index.ts";
import type { Batch } from "./lookup-batches.ts";

export class LookupCache {
  readonly #source: InstanceSource;
  readonly #clock: Clock;
  readonly #answers = new Map<string, KeyAnswer>();

  constructor(source: InstanceSource, clock: Clock) {
    this.#source = source;
    this.#clock = clock;
  }

  answer(by: MatchKey, value: string): KeyAnswer | undefined {
    return this.#answers.get(`${by}:${value}`);
  }

  forgetOlderThan(moment: number): void {
    for (const [key, { asOf }] of this.#answers) if (asOf <= moment) this.#answers.delete(key);
  }

  /** Tries every batch, and then throws the first error. */
  async find(batches: readonly Batch[], call: Call): Promise<void> {
    const failures: unknown[] = [];
    for (const batch of batches) {
      try {
        await this.#findBatch(batch, call);
      } catch (error) {
        call.signal.throwIfAborted();
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }

  async #findBatch({ by, keys }: Batch, call: Call): Promise<void> {
    const asOf = this.#clock.monotonic();
    const found = await this.#query(by, keys, call);
    if (found === "invalid key") {
      const half = Math.ceil(keys.length / 2);
      return this.find(
        [
          { by, keys: keys.slice(0, half) },
          { by, keys: keys.slice(half) },
        ],
        call,
      );
    }
    for (const [key, instances] of found) this.#remember(by, key, instances, asOf);
    const missing = keys.filter((key) => !found.has(key));
    if (missing.length === 0) return;
    // Without an error the caller would wait forever.
    const { name } = this.#source;
    const whether = missing.length === 1 ? "it exists" : "they exist";
    throw new CloudError(
      "unavailable",
      `The lookup by ${by} in ${name} has no answer for ${shortList(missing)}, so Fairlead does not know whether ${whether}. It will retry.`,
      { operation: `look up by ${by} in ${name}` },
    );
  }

  /** The answers by key; keys without an answer are missing. */
  async #query(by: MatchKey, keys: readonly string[], call: Call) {
    try {
      const found = await this.#source.lookups?.[by]?.find(keys, call);
      return new Map(
        keys.flatMap((key) => {
          const instances = found?.get(key);
          return instances === undefined ? [] : [[key, instances] as const];
        }),
      );
    } catch (error) {
      // A single key that the cloud rejects must not hide the other answers.
      if (!CloudError.is(error) || error.kind !== "invalid" || keys.length < 2) throw error;
      return "invalid key" as const;
    }
  }

  #remember(by: MatchKey, key: string, instances: readonly Instance[], asOf: number): void {
    this.#answers.set(`${by}:${key}`, { instances, asOf, proof: "lookup" });
    // A machine that was found by name is looked up by id once the Node has its provider id.
    for (const instance of instances) {
      for (const id of keysOf(instance, "id")) {
        this.#answers.set(`id:${id}`, { instances: [instance], asOf, proof: "lookup" });
      }
    }
  }
}
