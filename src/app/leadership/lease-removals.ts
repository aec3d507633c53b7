// Stores the memory of the mass limits on a Lease, and reads there which holds an operator released. Renewals of the Lease
// contain both.

import { type RemovalKind, removalKinds } from "../../controllers/kernel/removal-kinds.ts";
import type { RemovalMemory } from "../../controllers/kernel/removal-memory.ts";
import { decodeRemovals, fitRemovals } from "../../controllers/kernel/removal-text.ts";
import { releaseHoldAnnotation, removalsAnnotation } from "../../controllers/well-known.ts";
import {
  type AnnotationWrite,
  type LeaseAnnotations,
  roomFor,
} from "../../kube/leader-election/lease-annotations.ts";
import type { Lease } from "../../kube/objects.ts";
import type { Clock } from "../../platform/clock.ts";

export interface LeaseRemovalsOptions {
  readonly memory: RemovalMemory;
  /** The kinds of removals that this Lease stores. */
  readonly kinds: () => readonly RemovalKind[];
  readonly clock: Clock;
  /** The identity of this replica, as the holder of the Lease. */
  readonly identity: string;
  /** Called when the holder has removed the annotation with this value, which requests a release. */
  readonly onRelease: (value: string) => void;
  /**
   * Called when the annotation with this value was removed, but another replica has held the Lease since. Nothing is released.
   */
  readonly onDropped?: (value: string) => void;
  /** Called when the removals are stored on the Lease. */
  readonly onStored?: () => void;
  /** Called when annotations of other programs leave no space for this many removals; 0 when the space suffices again. */
  readonly onOmitted?: (count: number) => void;
}

export class LeaseRemovals implements LeaseAnnotations {
  readonly #options: LeaseRemovalsOptions;
  /** The requested release, kept until the write that removes the annotation is known to have succeeded. */
  #release: string | undefined;
  #omitted = 0;

  constructor(options: LeaseRemovalsOptions) {
    this.#options = options;
  }

  /** Ages are relative to the last renewal, because one clock wrote both times. */
  read({ metadata, spec }: Lease): void {
    const { memory, clock, identity } = this.#options;
    const text = metadata.annotations?.[removalsAnnotation];
    if (text === undefined) return;
    const renewed = Date.parse(spec?.renewTime ?? "");
    const by = spec?.holderIdentity === identity ? "this process" : "another";
    memory.load(decodeRemovals(text, Number.isNaN(renewed) ? clock.now() : renewed), by);
  }

  next(before: Lease | undefined, purpose: "hold" | "release"): AnnotationWrite {
    const { memory, kinds, clock, identity, onRelease, onDropped, onStored } = this.#options;
    const removals = memory.removals(kinds());
    const requested = before?.metadata.annotations?.[releaseHoldAnnotation];
    // A release that is read when leadership ends is left to the next leader. A release from before another replica held the
    // Lease is ignored, because different objects may be held now.
    const remembered = before?.spec?.holderIdentity === identity ? this.#release : undefined;
    const dropped =
      purpose === "hold" && requested === undefined && remembered === undefined ? this.#release : undefined;
    if (purpose === "hold") this.#release = requested ?? remembered;
    const release = purpose === "hold" ? this.#release : undefined;
    const room = roomFor(removalsAnnotation, before);
    const { text, omitted } = fitRemovals(removals, clock.now(), room);
    return {
      values: {
        [removalsAnnotation]: text,
        ...(release === undefined || requested === undefined ? {} : { [releaseHoldAnnotation]: undefined }),
      },
      onStored: () => {
        memory.stored(removals, omitted);
        this.#reportOmitted(omitted.length);
        onStored?.();
        if (dropped !== undefined) onDropped?.(dropped);
        if (release === undefined) return;
        this.#release = undefined;
        onRelease(release);
      },
    };
  }

  /** Reports once that space is exhausted, and once when space is available again. */
  #reportOmitted(count: number): void {
    if ((count === 0) !== (this.#omitted === 0)) this.#options.onOmitted?.(count);
    this.#omitted = count;
  }
}

/** The kinds that the annotation names, or undefined if it contains an unknown word. Pure. */
export function releasedKinds(value: string): readonly RemovalKind[] | undefined {
  const words = value.split(",").map((word) => word.trim());
  if (words.includes("all")) return words.length === 1 ? removalKinds : undefined;
  const kinds = removalKinds.filter((kind) => words.includes(kind));
  return words.every((word) => (removalKinds as readonly string[]).includes(word)) ? kinds : undefined;
}
