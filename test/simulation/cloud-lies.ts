// Incorrect responses of the simulated cloud about its balancers, routes and volumes: objects that are missing, old, repeated,
// altered or marked as those of another cluster. The true state does not change, and the invariants use the true state.

import type { SimulatedBalancer } from "../../providers/fake/simulator/balancers.ts";
import type { FakeCloud } from "../../providers/fake/simulator/fake-cloud.ts";
import type { SimulatedRoute } from "../../providers/fake/simulator/routes.ts";
import type { SimulatedSnapshot } from "../../providers/fake/simulator/snapshots.ts";
import type { ReadKind } from "../../providers/fake/simulator/view.ts";
import type { SimulatedVolume } from "../../providers/fake/simulator/volumes.ts";
import type { Clock } from "../../src/platform/clock.ts";
import type { Random } from "../../src/platform/random.ts";

export type Collection = "balancers" | "routes" | "volumes";

/** Without `ids`, a lie is about all objects. */
export type CloudLie =
  | {
      readonly kind: "missing" | "foreign mark";
      readonly ids?: readonly string[];
      readonly from: "both" | ReadKind;
      /**
       * Whether the lie is for the sender of this request; if absent, it is for all. The lie ends when the objects are listed.
       */
      readonly applies?: () => boolean;
    }
  /** Lookups show this object, whatever they request. */
  | { readonly kind: "another"; readonly id: string }
  /** Reads show this object with other fields. */
  | {
      readonly kind: "altered";
      readonly id: string;
      readonly fields: object;
      readonly from: "both" | ReadKind;
    }
  /** Reads show the state of this many milliseconds ago. */
  | { readonly kind: "lagging"; readonly by: number }
  /** Some reads show the state at the beginning of the lie. */
  | { readonly kind: "stale replica" }
  | { readonly kind: "repeated" };

interface Cloudy {
  readonly id: string;
  readonly labels: Readonly<Record<string, string>>;
}

interface ActiveLie {
  readonly lie: CloudLie;
  readonly since: number;
  readonly until: number;
}

/** The time for which past states and lies are kept. */
const history = 60_000;

class CollectionView<T extends Cloudy> {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #existing: () => readonly T[];
  #past: { readonly at: number; readonly objects: readonly T[] }[];
  /** The objects that reads have hidden briefly. A second such lie may look like a second proof. */
  readonly wereHidden = new Set<string>();
  #lies: ActiveLie[] = [];

  constructor(clock: Clock, random: Random, existing: () => readonly T[]) {
    this.#clock = clock;
    this.#random = random;
    this.#existing = existing;
    this.#past = [{ at: Number.NEGATIVE_INFINITY, objects: [] }];
  }

  get isLying(): boolean {
    const now = this.#clock.monotonic();
    return this.#lies.some(({ until }) => until > now);
  }

  add(lie: CloudLie, milliseconds: number): void {
    const since = this.#clock.monotonic();
    this.#lies.push({ lie, since, until: since + milliseconds });
  }

  clear(): void {
    const now = this.#clock.monotonic();
    this.#lies = this.#lies.map((one) => ({ ...one, until: Math.min(one.until, now) }));
  }

  /** The time from which every read shows the state at `moment` or a later one (monotonic). It may be in the future. */
  shownFrom(moment: number): number {
    const ends = this.#lies.map(({ lie, since, until }) => {
      if (lie.kind === "lagging") return since < moment + lie.by ? Math.min(until, moment + lie.by) : moment;
      return lie.kind === "stale replica" && since < moment ? until : moment;
    });
    return Math.max(moment, ...ends);
  }

  /** Records the state. Call this after each change. */
  record(): void {
    const at = this.#clock.monotonic();
    const kept = this.#past.findLastIndex((state) => state.at <= at - history);
    this.#past = [...this.#past.slice(Math.max(0, kept)), { at, objects: this.#existing() }];
  }

  show(existing: readonly T[], read: ReadKind): readonly T[] {
    const now = this.#clock.monotonic();
    this.#lies = this.#lies.filter(
      ({ lie, until }) => until > now - history && !(read === "listing" && "applies" in lie),
    );
    return this.#lies
      .filter(({ until }) => until > now)
      .reduce((shown, lie) => this.#apply(shown, lie, read), existing);
  }

  #apply(shown: readonly T[], { lie, since }: ActiveLie, read: ReadKind): readonly T[] {
    switch (lie.kind) {
      case "missing":
        if (lie.from !== "both" && lie.from !== read) return shown;
        if (lie.applies?.() === false) return shown;
        return shown.filter(({ id }) => lie.ids !== undefined && !lie.ids.includes(id));
      case "foreign mark":
        if (lie.from !== "both" && lie.from !== read) return shown;
        return shown.map((each) =>
          lie.ids === undefined || lie.ids.includes(each.id)
            ? { ...each, labels: { ...each.labels, cluster: "another" } }
            : each,
        );
      case "another":
        return read === "lookup" ? this.#existing().filter(({ id }) => id === lie.id) : shown;
      case "altered":
        if (lie.from !== "both" && lie.from !== read) return shown;
        return shown.map((each) => (each.id === lie.id ? { ...each, ...lie.fields } : each));
      case "lagging":
        return this.#at(this.#clock.monotonic() - lie.by, shown, read);
      case "stale replica":
        return this.#random.fraction() < 0.5 ? this.#at(since, shown, read) : shown;
      case "repeated":
        return read === "listing" ? [...shown, ...shown.slice(0, Math.ceil(shown.length / 2))] : shown;
    }
  }

  /** The state at this time. A lookup names existing objects, so it can lack only newer ones. */
  #at(moment: number, shown: readonly T[], read: ReadKind): readonly T[] {
    const { objects } = this.#past.findLast(({ at }) => at <= moment) ?? { objects: [] };
    if (read === "listing") return objects;
    return shown.flatMap(({ id }) => objects.find((each) => each.id === id) ?? []);
  }
}

export class CloudLies {
  readonly balancers: CollectionView<SimulatedBalancer>;
  readonly routes: CollectionView<SimulatedRoute>;
  readonly volumes: CollectionView<SimulatedVolume>;
  readonly snapshots: CollectionView<SimulatedSnapshot>;

  constructor(cloud: FakeCloud, random: Random) {
    const { clock } = cloud;
    // An old state shows no change in progress, because its end is not recorded.
    const balancers = (): readonly SimulatedBalancer[] =>
      cloud.balancers.list().map((each) => (each.status === "failed" ? each : { ...each, status: "active" }));
    this.balancers = new CollectionView(clock, random, balancers);
    this.routes = new CollectionView(clock, random, () => cloud.routes.list());
    this.volumes = new CollectionView(clock, random, () => cloud.volumes.outcome());
    this.snapshots = new CollectionView(clock, random, () =>
      cloud.snapshots.list().map((each) => ({ ...each, status: "ready" as const })),
    );
    cloud.view = {
      balancers: (existing, read) => this.balancers.show(existing, read),
      routes: (existing, read) => this.routes.show(existing, read),
      volumes: (existing, read) => this.volumes.show(existing, read),
      snapshots: (existing, read) => this.snapshots.show(existing, read),
    };
    recordAfter(cloud.balancers, ["create", "change", "remove", "fail"], () => this.balancers.record());
    recordAfter(cloud.routes, ["create", "remove"], () => this.routes.record());
    recordAfter(cloud.volumes, ["create", "change", "remove"], () => this.volumes.record());
    recordAfter(cloud.snapshots, ["create", "remove"], () => this.snapshots.record());
  }

  clear(): void {
    this.balancers.clear();
    this.routes.clear();
    this.volumes.clear();
    this.snapshots.clear();
  }
}

/** Replaces these methods with ones that call `record` afterwards. */
const recordAfter = <K extends string>(
  target: Record<K, (...args: never[]) => unknown>,
  methods: readonly K[],
  record: () => void,
): void => {
  for (const method of methods) {
    const original = target[method].bind(target);
    target[method] = (...args) => {
      const result = original(...args);
      record();
      return result;
    };
  }
};
