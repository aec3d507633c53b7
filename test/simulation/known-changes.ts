// The changes of the API server that the leader must know: those from before it took the Lease, and those that are older than
// the longest time for which a controller may act on a silent watch.

import type { Service } from "../../src/kube/objects.ts";
import { maxSilence } from "../../src/kube/watch/watch-connection.ts";
import type { Clock } from "../../src/platform/clock.ts";
import type { ApiServer } from "../../src/testing/apiserver/api-server.ts";
import type { StoredChange } from "../../src/testing/apiserver/storage/object-store.ts";

/** The controllers stop at this time after the watch last received something. Their earlier requests arrive within a second. */
const longestUnseen = maxSilence + 10_000 + 1_000;
/** Requests of the previous leader may still arrive after the Lease was taken. */
const handOver = 1_000;

export class KnownChanges {
  readonly #clock: Clock;
  /** The replica whose request is being handled. */
  readonly #sender: () => string | undefined;
  #holder = "";
  /** The time when the Lease was last acquired or released (monotonic). */
  #holderSince = 0;
  /** The part of each Service that decides about its load balancer, and when it last changed, by uid. */
  readonly #wishes = new Map<string, { readonly text: string; readonly at: number }>();

  constructor(server: ApiServer, clock: Clock, sender: () => string | undefined) {
    this.#clock = clock;
    this.#sender = sender;
    server.onWrite((change) => this.#follow(change));
  }

  get holderSince(): number {
    return this.#holderSince;
  }

  /** Whether the leader must know events of this time (monotonic). */
  mustKnow(at: number): boolean {
    const now = this.#clock.monotonic();
    if (now - at > longestUnseen) return true;
    if (at >= this.#holderSince) return false;
    const sender = this.#sender();
    const isFromLeader = sender !== undefined && this.#holder.startsWith(`${sender}_`);
    return isFromLeader || now - this.#holderSince > handOver;
  }

  /** Whether the leader must know type, class and ports of this Service. */
  mustKnowWish({ metadata }: Service): boolean {
    const wish = this.#wishes.get(metadata.uid);
    return wish !== undefined && this.mustKnow(wish.at);
  }

  #follow({ storage, object, type }: StoredChange): void {
    const at = this.#clock.monotonic();
    if (storage === "leases" && object.metadata.name === "cloud-controller-manager") {
      const holder = String(object.spec?.["holderIdentity"] ?? "");
      if (holder === this.#holder) return;
      this.#holder = holder;
      this.#holderSince = at;
    }
    if (storage !== "services") return;
    const { spec, metadata } = object as unknown as Service;
    const text = JSON.stringify([
      type === "DELETED",
      metadata.deletionTimestamp,
      spec.type,
      spec.loadBalancerClass,
      spec.ports,
    ]);
    if (this.#wishes.get(metadata.uid)?.text !== text) this.#wishes.set(metadata.uid, { text, at });
  }
}
