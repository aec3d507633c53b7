// Doubt about one kind of object: Nodes, load balancers, routes or volumes. Counts objects that are missing in the cloud although Kubernetes or
// this process records them, and objects that vanished from Kubernetes unseen. If that exceeds the limit, nothing that follows from absence is done,
// whatever the proof; nor as long as the account is not vouched for, or Kubernetes contradicts the cloud.

import type { Clock } from "../../platform/clock.ts";
import type { RemovalKind } from "./removal-kinds.ts";
import { decideHold, type HoldMemory, type RemovalLimitSetting } from "./removal-limit.ts";
import type { RemovalMemory } from "./removal-memory.ts";
import { Tally } from "./tally.ts";

/** True if the listing behind a hold can be trusted: it contains every recorded object. */
export const isListingBelieved = ({ absent, account }: Pick<Held, "absent" | "account">): boolean =>
  absent === 0 && account === undefined;

/**
 * How one recorded object counts. `absent`: the cloud lacks it. `contradicted`: as `absent`, and Kubernetes shows that it works. `explained`: the cloud lacks it, and a deletion may be why, so it counts only
 * beside others, as part of the same lie. `announced`: the cloud lacks it, as an announcement said before; it counts, beside others, only if the present
 * hold has counted it before that. `vanished`: what needs it is missing from Kubernetes, and its deletion was not seen.
 */
export type Standing = "present" | "absent" | "contradicted" | "explained" | "announced" | "vanished";

export interface Counted {
  /** The id in the history of removals. */
  readonly id: string;
  readonly standing: Standing;
}

/** Where the objects of a kind are counted. */
export interface Census {
  keys(): Iterable<string>;
  /** Undefined for an object that is gone or not recorded. */
  of(key: string): Counted | undefined;
}

/** The basis of a hold, or of its absence. */
export interface Counts {
  /** All recorded objects, including those that were removed or recreated within the window. */
  readonly total: number;
  /** Absent now. Includes objects that a deletion may explain, if others are absent too. */
  readonly absent: number;
  readonly vanished: number;
  /** Removed or recreated within the window. */
  readonly recent: number;
}

export interface Held extends Counts {
  /** So many may be absent, vanished or recent. */
  readonly allowed: number;
  /** Doubt about the account, which holds everything from the first object on. */
  readonly account: RemovalMemory["account"]["doubt"];
  /** The key of an absent object that works, as Kubernetes shows, if nothing else holds the others. */
  readonly contradictedBy: string | undefined;
  /** The command "kubectl …", for the end of a message. */
  readonly howToRelease: string;
}

/**
 * Whether to say nothing about a hold before the proof is complete: the cloud has not answered yet, or Kubernetes notices a moment later
 * that an object no longer works.
 */
export const isEarly = (held: Held | undefined, isProved: boolean): boolean =>
  !isProved && (held?.account === "unanswered" || held?.contradictedBy !== undefined);

/** Why objects are held, for a message that has named what is absent. */
export const whyHeld = ({ allowed, account }: Pick<Held, "allowed" | "account">, fault: string): string =>
  account === undefined
    ? `. More than ${allowed} at once is treated as ${fault}`
    : ", and the cloud shows nothing that this cluster records: its credentials may belong to another project (if so, correct them)";

export interface Verdict {
  /** Undefined: what follows from absence may be done. */
  readonly held: Held | undefined;
  /**
   * When the last hold ended, monotonic: the proofs that it concerned start again then. Objects that an operator released need no
   * new proof.
   */
  readonly restartedAt: number | undefined;
}

export interface DoubtOptions {
  readonly kind: RemovalKind;
  readonly census: Census;
  readonly settings: { readonly removalLimit: RemovalLimitSetting };
  readonly removals: RemovalMemory;
  readonly clock: Clock;
  readonly memory: HoldMemory;
  /** How many removals of this kind count. Absent: all. */
  readonly recent?: () => number;
  /** If anything vanished, never more than this share of all, however small the total is. */
  readonly mostVanished?: number;
  /** A hold begins, or ends. */
  readonly onHold?: (held: Held | undefined) => void;
}

export class Doubt {
  readonly #options: DoubtOptions;
  /** `kept`: counts as recent, because its removal was recorded, but Kubernetes shows that it works. */
  readonly #tally: Tally<Standing | "kept">;

  constructor(options: DoubtOptions) {
    this.#options = options;
    const { clock, census } = options;
    this.#tally = new Tally({
      clock,
      keys: () => [...census.keys(), ...options.memory.counted.keys()],
      labelOf: (key) => this.#standingOf(key),
    });
  }

  /** Whether the last verdict was a hold. */
  get isHolding(): boolean {
    return this.#options.memory.state.totalAtStart !== undefined;
  }

  /** Whether the present hold has counted the object with this key and id as absent. */
  hasCounted(key: string, id: string): boolean {
    return this.#options.memory.counted.get(key) === id;
  }

  /** Everything is counted again at the next verdict. */
  invalidate(): void {
    this.#tally.invalidate();
  }

  /** Called when the object, or the knowledge about it, may have changed. */
  noteChange(key: string): void {
    this.#tally.noteChange(key);
  }

  /** After a listing: a hold may begin or end even if no object asks. */
  refresh(): void {
    this.invalidate();
    this.verdict();
  }

  get counts(): Counts {
    const { removals, kind } = this.#options;
    const count = (standing: Standing): number => this.#tally.count(standing);
    const [explained, vanished] = [count("explained"), count("vanished")];
    const absent = count("absent") + count("contradicted");
    const recent = this.#options.recent?.() ?? removals.count(kind);
    return {
      total: count("present") + absent + explained + vanished + recent,
      absent: absent > 0 ? absent + explained : 0,
      vanished,
      recent,
    };
  }

  /** The verdict on the current counts. It may end a hold. */
  verdict(): Verdict {
    const { settings, clock, removals, memory, kind, onHold } = this.#options;
    const isOff = settings.removalLimit === "off";
    const account = isOff ? undefined : removals.account.doubt;
    const { counts, isHolding: wasHolding } = this;
    const howToRelease = removals.howToRelease(kind);
    const contradiction = isOff ? undefined : this.#contradiction;
    const { isHeld, allowed, state } = decideHold(
      {
        ...counts,
        isContradicted: contradiction !== undefined,
        most: account === undefined ? this.#mostOf(counts) : 0,
      },
      settings.removalLimit,
      memory.state,
      clock.monotonic(),
    );
    // Without an answer, a hold may begin, but does not end.
    if (account !== "unanswered" || state.totalAtStart !== undefined) memory.state = state;
    const isOtherwise = isHeld || account !== undefined;
    const contradictedBy = isOtherwise ? undefined : contradiction;
    const held =
      isOtherwise || contradictedBy !== undefined
        ? { ...counts, allowed, account, contradictedBy, howToRelease }
        : undefined;
    if (this.isHolding !== wasHolding) {
      this.invalidate();
      memory.counted.clear();
      // Remembers what is absent now, before it is announced.
      if (this.isHolding) this.#tally.count("absent");
    }
    // Until the cloud has answered, it is too early for a report.
    const isReported = this.isHolding && account !== "unanswered";
    if (isReported !== memory.isReported) onHold?.(isReported ? held : undefined);
    memory.isReported = isReported;
    return { held, restartedAt: memory.state.endedAt };
  }

  /** Nothing is held of what an operator released, and its proof does not start again. */
  about(id: string): Verdict {
    const { removals, kind } = this.#options;
    return removals.isReleased(kind, id) ? { held: undefined, restartedAt: undefined } : this.verdict();
  }

  /** As `about`. Held objects can be released under this name; other objects no longer need a release. */
  hold(id: string, name: string): Held | undefined {
    const { removals, kind } = this.#options;
    const { held } = this.about(id);
    if (held === undefined) removals.endHold(kind, id);
    else removals.hold(kind, id, name);
    return held;
  }

  /**
   * Counts these ids before they are removed or recreated, and stores them for the next leader. If that took time, everything must
   * be decided again. If it rejects, they must stay as they are. `keys`: the objects' keys in the census, if they differ from the ids.
   */
  async record(ids: readonly string[], keys = ids): Promise<"recorded" | "decide again"> {
    const { removals, kind, settings } = this.#options;
    if (settings.removalLimit === "off") return "recorded";
    const counted = ids.filter((id) => !removals.isReleased(kind, id));
    const stored = counted.filter((id) => removals.isStored(kind, id));
    // They count from now, because the change may have failed since they were recorded.
    removals.note(kind, stored);
    if (stored.length === counted.length) return "recorded";
    const storing = removals.record(kind, counted);
    // They count as recent immediately. A verdict during the write must not count them as absent too, which could be a hold.
    for (const key of keys) this.noteChange(key);
    await storing;
    return "decide again";
  }

  /** The key of an absent object that works. */
  get #contradiction(): string | undefined {
    return this.#tally.example("contradicted") ?? this.#tally.example("kept");
  }

  #mostOf({ total, vanished }: Counts): number | undefined {
    const { mostVanished } = this.#options;
    return mostVanished === undefined || vanished === 0 ? undefined : Math.floor(total * mostVanished);
  }

  #standingOf(key: string): Standing | "kept" | undefined {
    const { census, removals, kind, memory } = this.#options;
    const counted = census.of(key);
    const id = counted?.id ?? memory.counted.get(key);
    if (id === undefined) return undefined;
    const isReleased = removals.isReleased(kind, id);
    // It counts as recent, or was released, and no longer if it is gone.
    if (counted === undefined && (isReleased || removals.has(kind, id))) memory.counted.delete(key);
    if (removals.has(kind, id)) return counted?.standing === "contradicted" ? "kept" : undefined;
    const isKnown = this.hasCounted(key, id);
    // Objects that were deleted during the hold were not shown before.
    const standing = counted === undefined ? "announced" : counted.standing;
    if (isReleased) return counted && "present";
    if ((standing === "absent" || standing === "contradicted") && this.isHolding) memory.counted.set(key, id);
    if (standing === "present") memory.counted.delete(key);
    if (standing !== "announced") return standing;
    return isKnown ? "explained" : "present";
  }
}
