// The memory of a process in a replay: the removals of one kind, and the other kinds that may vouch for the account.

import type { Doubt } from "../../src/controllers/kernel/doubt.ts";
import type { RemovalKind } from "../../src/controllers/kernel/removal-kinds.ts";
import { HoldMemory } from "../../src/controllers/kernel/removal-limit.ts";
import { RemovalMemory } from "../../src/controllers/kernel/removal-memory.ts";
import type { VirtualClock } from "../../src/testing/virtual-time/virtual-clock.ts";
import { ids, type Memory, never, stepTime } from "./vocabulary.ts";

export const uidOf = (id: number): string => `uid-${id}`;

export class Process {
  readonly limit = new HoldMemory();
  readonly removals: RemovalMemory;
  readonly #kind: RemovalKind;

  /** `former`: the process whose removals are on the Lease. */
  constructor(clock: VirtualClock, kind: RemovalKind, others: () => string, former?: Process) {
    this.#kind = kind;
    this.removals = new RemovalMemory(clock);
    this.removals.load(former?.removals.removals([kind]) ?? [], "another");
    this.removals.account.follow(() => {
      const other = others();
      return other === "shown" || other === "absent" || other === "unknown" ? other : undefined;
    });
  }

  get memory(): Memory {
    const { totalAtStart = 0, endedAt } = this.limit.state;
    const { account } = this.removals;
    const held = this.removals.held(this.#kind);
    return {
      total: totalAtStart,
      endedAt: endedAt === undefined ? never : endedAt / stepTime,
      held: ids.filter((id) => held.includes(uidOf(id))),
      account: account.doubt ?? "free",
    };
  }

  hold(id: number): void {
    this.removals.hold(this.#kind, uidOf(id), uidOf(id));
  }

  endHold(id: number): void {
    this.removals.endHold(this.#kind, uidOf(id));
  }

  endRelease(id: number): void {
    this.removals.endRelease(this.#kind, uidOf(id));
  }

  isReleased(id: number): boolean {
    return this.removals.isReleased(this.#kind, uidOf(id));
  }

  release(doubt: Doubt): void {
    this.removals.release(this.#kind);
    doubt.invalidate();
  }
}
