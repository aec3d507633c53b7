// The contract of a provider that reports changes: it shows that the connection is open, reports changes, ends when the
// connection breaks or its signal is aborted, and lets the framework reconnect.

import { describe, expect, test } from "bun:test";
import { getEventListeners } from "node:events";
import { minutes } from "../../core/brand.ts";
import type { ChangeHint } from "../../provider/changes.ts";
import { Lab } from "./lab.ts";
import type { Harness } from "./simulated-cloud.ts";

const names = ["node-0", "node-1", "node-2"];

/** Follows the changes of a simulated cloud. */
class Follower {
  readonly lab: Lab;
  readonly hints: ChangeHint[] = [];
  lists = 0;
  hasEnded = false;
  readonly #controller = new AbortController();

  constructor(lab: Lab) {
    this.lab = lab;
    void this.#follow();
  }

  get maxSilence() {
    return this.#changes.maxSilence;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  abort(): void {
    this.#controller.abort(new Error("The test ends it."));
  }

  async until(isReached: () => boolean, what: string): Promise<void> {
    await this.lab.clock.until(isReached, this.maxSilence, what);
  }

  get #changes() {
    const { changes } = this.lab.cloud;
    if (changes === undefined) throw new Error("The provider has no changes.");
    return changes;
  }

  async #follow(): Promise<void> {
    try {
      for await (const hints of this.#changes.follow({ signal: this.signal, urgency: "refresh" })) {
        this.lists += 1;
        this.hints.push(...hints);
      }
    } catch {
      // Both cases end the connection.
    } finally {
      this.hasEnded = true;
    }
  }
}

/** Runs the contract of `changes` as bun tests. Call it at the top level of a test file. */
export function changesConformance(name: string, harness: Harness): void {
  const following = async (): Promise<Follower> => {
    const lab = new Lab(harness);
    for (const machine of names) lab.simulated.addMachine(machine);
    const follower = new Follower(lab);
    await follower.until(() => follower.lists > 0, "the first list");
    return follower;
  };
  /** The machine with this name, as the sources list it. */
  const listed = async (lab: Lab, machine: string): Promise<{ source: string; key: string } | undefined> => {
    for (const source of lab.cloud.instances?.sources ?? []) {
      const all = await lab.list((call) => source.list(call));
      const found = all.find((instance) => instance.names.includes(machine));
      if (found !== undefined) return { source: source.name, key: found.key };
    }
    return undefined;
  };

  describe(`${name}: changes`, () => {
    test("reports an open connection, which stays open while nothing changes", async () => {
      const follower = await following();
      expect(follower.hints).toEqual([]);
      for (let period = 0; period < 3; period += 1) {
        const { lists } = follower;
        await follower.until(() => follower.lists > lists || follower.hasEnded, "a sign of life");
      }
      expect(follower.hasEnded).toBe(false);
      expect(follower.hints).toEqual([]);
      follower.abort();
    });

    test("reports a removed machine, which the next listing does not show", async () => {
      const follower = await following();
      const { lab, hints } = follower;
      const removed = await listed(lab, "node-1");
      if (removed === undefined) throw new Error("The machine is not listed.");
      lab.simulated.removeMachine("node-1");
      const isAbout = (hint: ChangeHint): boolean =>
        hint.of === "instance" &&
        hint.source === removed.source &&
        (hint.key === undefined || hint.key === removed.key);
      await follower.until(() => hints.some(isAbout), "the hint");
      expect(await listed(lab, "node-1")).toBeUndefined();
      follower.abort();
    });

    test("reports an added machine, and hints only at capabilities of the provider", async () => {
      const follower = await following();
      const { lab, hints } = follower;
      lab.simulated.addMachine("node-9");
      await follower.until(() => hints.length > 0, "the hint");
      const sources = (lab.cloud.instances?.sources ?? []).map((source) => source.name);
      // A source that the settings do not have is ignored.
      for (const hint of hints) if (hint.of === "instance") expect(typeof hint.source).toBe("string");
      expect(hints.some((hint) => hint.of === "instance" && sources.includes(hint.source))).toBe(true);
      follower.abort();
    });

    test("ends when the connection breaks, and the next listing shows the missed changes", async () => {
      const follower = await following();
      const { lab } = follower;
      if (lab.simulated.breakChanges === undefined) throw new Error("The harness has no `breakChanges`.");
      lab.simulated.breakChanges();
      lab.simulated.removeMachine("node-1");
      await follower.until(() => follower.hasEnded, "the end");
      const { lists } = follower;
      await lab.clock.advance(minutes(10));
      expect(follower.lists).toBe(lists);
      expect(await listed(lab, "node-1")).toBeUndefined();
    });

    test("ends when its signal is aborted, and leaves no listener on the signal", async () => {
      const follower = await following();
      follower.abort();
      await follower.until(() => follower.hasEnded, "the end");
      expect(getEventListeners(follower.signal, "abort")).toEqual([]);
    });
  });
}
