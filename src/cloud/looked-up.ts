// Lookups in one source, batch by batch, and what they answered since the last listing. No answer is an error; an empty
// answer is one.

import type { Clock } from "../platform/clock.ts";
import type { Call } from "../provider/call.ts";
import { CloudError } from "../provider/errors.ts";
import type { Instance, InstanceSource, MatchKey } from "../provider/instances.ts";
import { keysOf } from "./instance-index.ts";
import type { KeyAnswer } from "./key-answer.ts";
import type { Batch } from "./lookup-or-list.ts";

export class LookedUp {
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

  /** Every batch is tried; what went wrong with one is told when all have been. */
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
    const found = await this.#ask(by, keys, call);
    if (found === "one is refused") {
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
    const missing = keys.length - found.size;
    if (missing === 0) return;
    // Whoever asked must learn that there is no answer, or would wait for one for ever.
    const { name } = this.#source;
    throw new CloudError("unavailable", `${name} did not answer for ${missing} of the machines asked for.`, {
      operation: `look up in ${name}`,
    });
  }

  /** Of the keys asked for, those that were answered. */
  async #ask(by: MatchKey, keys: readonly string[], call: Call) {
    try {
      const found = await this.#source.lookups?.[by]?.find(keys, call);
      return new Map(
        keys.flatMap((key) => {
          const instances = found?.get(key);
          return instances === undefined ? [] : [[key, instances] as const];
        }),
      );
    } catch (error) {
      // One key that the cloud will not have must not hide the others.
      if (!CloudError.is(error) || error.kind !== "invalid" || keys.length < 2) throw error;
      return "one is refused" as const;
    }
  }

  #remember(by: MatchKey, key: string, instances: readonly Instance[], asOf: number): void {
    this.#answers.set(`${by}:${key}`, { instances, asOf, proof: "lookup" });
    // What was found under a name is asked for by its id next, once the Node has it.
    for (const instance of instances) {
      for (const id of keysOf(instance, "id")) {
        this.#answers.set(`id:${id}`, { instances: [instance], asOf, proof: "lookup" });
      }
    }
  }
}
