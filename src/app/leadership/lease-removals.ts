// Keeps the memory of the mass limits on a Lease, and reads there which holds an operator has released. Both travel with the
// renewals of the Lease.

import { type RemovalKind, removalKinds } from "../../controllers/removal-history.ts";
import type { RemovalMemory } from "../../controllers/removal-memory.ts";
import { decodeRemovals, encodeRemovals } from "../../controllers/removal-text.ts";
import { releaseHoldAnnotation, removalsAnnotation } from "../../controllers/well-known.ts";
import type { AnnotationWrite, LeaseAnnotations } from "../../kube/leader-election/lease-annotations.ts";
import type { Lease } from "../../kube/objects.ts";
import type { Clock } from "../../platform/clock.ts";

export interface LeaseRemovalsOptions {
  readonly memory: RemovalMemory;
  /** Of the controllers that run under this Lease. */
  readonly kinds: readonly RemovalKind[];
  readonly clock: Clock;
  /** Of this replica, as holder of the Lease. */
  readonly identity: string;
  /** The holder has removed the annotation with this value, which asks for a release. */
  readonly onRelease: (value: string) => void;
}

export class LeaseRemovals implements LeaseAnnotations {
  readonly #options: LeaseRemovalsOptions;
  /** Requested, but the write that removes the annotation is not known to have succeeded. */
  #release: string | undefined;

  constructor(options: LeaseRemovalsOptions) {
    this.#options = options;
  }

  /** The ages count from the last renewal, because the clock of its sender wrote both times. */
  read({ metadata, spec }: Lease): void {
    const { memory, clock } = this.#options;
    const text = metadata.annotations?.[removalsAnnotation];
    if (text === undefined) return;
    const renewed = Date.parse(spec?.renewTime ?? "");
    memory.load(decodeRemovals(text, Number.isNaN(renewed) ? clock.now() : renewed));
  }

  next(before: Lease | undefined, purpose: "hold" | "release"): AnnotationWrite {
    const { memory, kinds, clock, identity, onRelease } = this.#options;
    const removals = memory.removals(kinds);
    const requested = before?.metadata.annotations?.[releaseHoldAnnotation];
    // A release that comes with the end of leadership is left to the next leader.
    // One from before another replica held the Lease is too old: something else may be held now.
    const remembered = before?.spec?.holderIdentity === identity ? this.#release : undefined;
    if (purpose === "hold") this.#release = requested ?? remembered;
    const release = purpose === "hold" ? this.#release : undefined;
    return {
      values: {
        [removalsAnnotation]: encodeRemovals(removals, clock.now()),
        ...(release === undefined || requested === undefined ? {} : { [releaseHoldAnnotation]: undefined }),
      },
      onStored: () => {
        memory.stored(removals);
        if (release === undefined) return;
        this.#release = undefined;
        onRelease(release);
      },
    };
  }
}

/** The kinds that the annotation names, or undefined if a word in it is unknown. Pure. */
export function releasedKinds(value: string): readonly RemovalKind[] | undefined {
  const words = value.split(",").map((word) => word.trim());
  if (words.includes("all")) return words.length === 1 ? removalKinds : undefined;
  const kinds = removalKinds.filter((kind) => words.includes(kind));
  return words.every((word) => (removalKinds as readonly string[]).includes(word)) ? kinds : undefined;
}
