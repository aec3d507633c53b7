// Limits repeated log lines: each message is logged once in five minutes, and the number of different messages in that time is
// limited.

import { minutes } from "../../core/brand.ts";
import type { Clock } from "../../platform/clock.ts";

export const repeatAfter = minutes(5);

export class RepeatedMessages {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #capacity: number;
  readonly #loggedAt = new Map<string, number>();

  constructor(clock: Pick<Clock, "monotonic">, capacity: number) {
    this.#clock = clock;
    this.#capacity = capacity;
  }

  /** Whether to log this message, and whether it was logged earlier. */
  next(message: string): "first" | "again" | "not now" {
    const now = this.#clock.monotonic();
    const last = this.#loggedAt.get(message);
    if (last !== undefined && now - last < repeatAfter) return "not now";
    if (last === undefined && this.#loggedAt.size >= this.#capacity) {
      for (const [text, at] of this.#loggedAt) if (now - at >= repeatAfter) this.#loggedAt.delete(text);
      if (this.#loggedAt.size >= this.#capacity) return "not now";
    }
    this.#loggedAt.set(message, now);
    return last === undefined ? "first" : "again";
  }
}
