// The service controller of a replay: its records, evidence, census and proofs, without the parts that plan and send requests.

import { Doubt, isListingBelieved } from "../../src/controllers/kernel/doubt.ts";
import { unprovedAbsence } from "../../src/controllers/service/observe/balancer-absence.ts";
import { BalancerCensus } from "../../src/controllers/service/observe/balancer-census.ts";
import { EvidenceUpdates } from "../../src/controllers/service/observe/evidence-updates.ts";
import { finalizer, servesWithoutClass } from "../../src/controllers/service/served-classes.ts";
import { serviceDefaults } from "../../src/controllers/service/settings.ts";
import { ServiceRecords } from "../../src/controllers/service/state/service-records.ts";
import { serviceUID } from "../../src/core/brand.ts";
import { type Service, toTime } from "../../src/kube/objects.ts";
import type { VirtualClock } from "../../src/testing/virtual-time/virtual-clock.ts";
import { Process, uidOf } from "./process.ts";
import { ids, type Manager } from "./vocabulary.ts";

const kind = "load-balancers";

interface Listing {
  readonly version: number;
  readonly beganAt: number;
  readonly endedAt: number;
  readonly shown: ReadonlySet<string>;
}

export class BalancerManager implements Manager {
  readonly #clock: VirtualClock;
  readonly #hasLookup: boolean;
  readonly #services = new Map<string, Service>();
  #other = "none";
  #process: Process;
  #records = new ServiceRecords();
  #listing: Listing | undefined;
  #version = 0;
  #session: { readonly updates: EvidenceUpdates; readonly doubt: Doubt; readonly end: () => void };

  constructor(clock: VirtualClock, hasLookup: boolean) {
    this.#clock = clock;
    this.#hasLookup = hasLookup;
    for (const id of ids) this.#put(id, id < 5, false);
    this.#process = new Process(clock, kind, () => this.#other);
    this.#session = this.#begin(true);
  }

  get memory() {
    return this.#process.memory;
  }

  #begin(hasOtherLed: boolean) {
    const { removals, limit } = this.#process;
    const records = this.#records;
    const clock = this.#clock;
    const services = {
      get: (key: string) => this.#services.get(key),
      list: () => [...this.#services.values()],
    };
    const inventory = {
      of: (uid: string) => (this.#listing?.shown.has(uid) === true ? [{}] : []),
      foreignOf: () => [],
    };
    const current = () => this.#listing;
    const listing = {
      get latest() {
        return current();
      },
    };
    const deps = {
      services,
      listing,
      clock,
      settings: serviceDefaults,
      classes: servesWithoutClass,
      facts: {},
      balancers: {},
    };
    for (const service of services.list()) records.manage(service);
    const updates = new EvidenceUpdates(deps as never, records, inventory as never);
    updates.start({ hasOtherLed });
    const census = new BalancerCensus(deps as never, records, inventory as never);
    const doubt = new Doubt({ kind, census, settings: serviceDefaults, removals, clock, memory: limit });
    return { updates, doubt, end: removals.account.follow(updates.witness) };
  }

  #put(id: number, hasAddress: boolean, isPaused: boolean): void {
    const uid = uidOf(id);
    const ingress = hasAddress ? [{ ip: `192.0.2.${id}` }] : [];
    this.#services.set(`default/${uid}`, {
      metadata: {
        name: uid,
        namespace: "default",
        uid,
        resourceVersion: "1",
        creationTimestamp: toTime(this.#clock.now() - 86_400_000),
        finalizers: [finalizer],
        ...(isPaused && { annotations: { "fairlead.dev/paused": "true" } }),
      },
      spec: { type: "LoadBalancer" },
      status: { loadBalancer: { ingress } },
    } as unknown as Service);
  }

  list(shown: ReadonlySet<number>): void {
    const now = this.#clock.monotonic();
    this.#version += 1;
    this.#listing = {
      version: this.#version,
      beganAt: now,
      endedAt: now,
      shown: new Set([...shown].map(uidOf)),
    };
    this.#process.removals.account.note();
    this.#session.updates.update();
    this.#session.doubt.refresh();
  }

  /** As `reconcileOnce`, for a Service whose load balancer is planned to be created if none is observed. */
  async reconcile(id: number, isFound: boolean): Promise<string> {
    const { updates, doubt } = this.#session;
    const state = this.#records.get(serviceUID(uidOf(id)));
    const now = this.#clock.monotonic();
    if (state === undefined || this.#listing === undefined)
      throw new Error("The model lists before it reconciles.");
    const isListed = this.#listing.shown.has(state.uid);
    if (isListed || (this.#hasLookup && isFound)) {
      state.noteShown();
      doubt.invalidate();
      this.#process.endRelease(id);
      this.#process.endHold(id);
      return "present";
    }
    updates.noteAgain(state);
    if (this.#hasLookup) {
      if (this.#listing.beganAt < now) return "wait";
      state.evidence.noteLookup({ beganAt: now, knownAt: now }, serviceDefaults.confirmAfter);
    }
    doubt.invalidate();
    const unproved = unprovedAbsence({
      known: state.evidence,
      restartedAt: doubt.about(state.uid).restartedAt,
      confirmAfter: serviceDefaults.confirmAfter,
      listedAt: this.#listing.endedAt,
    });
    if (unproved !== undefined) {
      if (!(doubt.isHolding && state.evidence.needsProof)) this.#process.endHold(id);
      return "wait";
    }
    const { held } = doubt.about(state.uid);
    if (held !== undefined && !(state.evidence.certainty === "possible" && isListingBelieved(held))) {
      this.#process.hold(id);
      return "held";
    }
    this.#process.endHold(id);
    const isCounted = state.evidence.certainty === "exists";
    if (isCounted && (await doubt.record([state.uid])) === "decide again") return "recorded";
    state.evidence.noteChange(now, "exists");
    state.outdate(now);
    this.#process.endRelease(id);
    this.#put(id, true, false);
    return "acted";
  }

  ask(): void {
    throw new Error("A lookup is part of a reconcile.");
  }

  report(): void {
    throw new Error("Services have no kubelet.");
  }

  leave(id: number): void {
    const { metadata, status } = this.#services.get(`default/${uidOf(id)}`) as Service;
    this.#put(id, (status.loadBalancer?.ingress ?? []).length > 0, metadata.annotations === undefined);
    this.#session.doubt.noteChange(uidOf(id));
  }

  vouch(other: string): void {
    this.#other = other;
    this.#process.removals.account.note();
  }

  release(): void {
    this.#process.release(this.#session.doubt);
  }

  restart(reconnects: boolean): void {
    this.#session.end();
    this.#listing = undefined;
    this.#records.beginSession({ hasOtherLed: false });
    this.#session = this.#begin(false);
    if (reconnects) this.#process.removals.account.restart(this.#clock.monotonic());
  }

  handOver(): void {
    this.#listing = undefined;
    this.#records = new ServiceRecords();
    this.#process = new Process(this.#clock, kind, () => this.#other, this.#process);
    this.#session = this.#begin(true);
  }
}
