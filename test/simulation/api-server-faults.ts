// Faults of the API server and its network: errors, lost connections and answers, hanging requests, watches that are cut, go
// silent or fail for minutes, compaction, missing support for streaming lists, and slowness.

import { milliseconds } from "../../src/core/brand.ts";
import type { FaultOutcome } from "../../src/testing/apiserver/api-server.ts";
import type { RequestInfo } from "../../src/testing/apiserver/http/parse-request.ts";
import type { Dice, Disruption, DisruptionSource } from "./disruptions.ts";
import type { World } from "./world.ts";

type Target = "all" | "writes" | "lists" | "streams" | "leases" | "nodes";

/** A kind of failure that hits a share of the matching requests for some time. */
interface Outage {
  readonly kind: "410" | "429" | "500" | "503" | "drop" | "lose-answer" | "hang";
  readonly share: number;
  readonly target: Target;
  readonly until: number;
  /** The affected replica; undefined for all. */
  readonly replica: string | undefined;
}

const matches = (target: Target, { verb, plural }: RequestInfo): boolean => {
  switch (target) {
    case "all":
      return true;
    case "writes":
      return !["get", "list", "watch"].includes(verb);
    case "lists":
      return verb === "watch" || verb === "list";
    case "streams":
      return verb === "watch";
    case "leases":
    case "nodes":
      return plural === target;
  }
};

const refusal = (code: number, retryAfter: number | undefined): Response =>
  new Response(JSON.stringify({ kind: "Status", status: "Failure", message: "injected fault", code }), {
    status: code,
    headers: {
      "content-type": "application/json",
      ...(retryAfter !== undefined && { "retry-after": String(retryAfter) }),
    },
  });

/** The outages that are active, and the faults that they cause. */
class Outages {
  readonly #world: World;
  readonly #dice: Dice;
  #active: Outage[] = [];

  constructor(world: World, dice: Dice) {
    this.#world = world;
    this.#dice = dice;
    world.server.faults.intercept = (_, info) => this.#faultFor(info);
  }

  start(): void {
    const { clock, replicas } = this.#world;
    const dice = this.#dice;
    const outage: Outage = {
      kind: dice.pick(["500", "503", "429", "drop", "lose-answer", "lose-answer", "hang"] as const) ?? "500",
      share: dice.pick([0.1, 0.3, 0.7, 1]) ?? 1,
      target: dice.pick(["all", "writes", "writes", "lists", "leases", "nodes"] as const) ?? "all",
      until: clock.monotonic() + Math.round(dice.between(3_000, 90_000)),
      replica: dice.chance(0.6) ? dice.pick(replicas)?.name : undefined,
    };
    this.#add(outage);
  }

  /** One replica receives nothing for minutes, while it continues to hold or renew its Lease. */
  blind({ name }: { readonly name: string }): void {
    const dice = this.#dice;
    const kind = dice.pick(["500", "429", "410", "drop"] as const) ?? "500";
    const target = kind === "410" || dice.chance(0.5) ? "streams" : "lists";
    const until = this.#world.clock.monotonic() + Math.round(dice.between(60_000, 400_000));
    this.#add({ kind, share: 1, target, until, replica: name });
  }

  #add(outage: Outage): void {
    this.#world.history.log(`api server: ${JSON.stringify(outage)}`);
    this.#active.push(outage);
  }

  end(): void {
    this.#active = [];
  }

  #faultFor(info: RequestInfo): FaultOutcome {
    const { clock, history } = this.#world;
    const now = clock.monotonic();
    this.#active = this.#active.filter(({ until }) => until > now);
    for (const { kind, share, target, replica } of this.#active) {
      if (replica !== undefined && replica !== history.writer) continue;
      if (!matches(target, info) || !this.#dice.chance(share)) continue;
      if (kind === "410" || kind === "500" || kind === "503") return refusal(Number(kind), undefined);
      return kind === "429" ? refusal(429, this.#dice.count(1, 8)) : kind;
    }
    return undefined;
  }
}

export const apiServerFaults = (world: World, dice: Dice): DisruptionSource => {
  const { server, history, clock, replicas } = world;
  const outages = new Outages(world, dice);
  const forSomeReplica = (text: string, apply: (replica: World["replicas"][number]) => void) => (): void => {
    const replica = dice.pick(replicas);
    if (replica === undefined) return;
    history.log(`network: ${text} ${replica.name}`);
    apply(replica);
  };
  /** Usually a standby replica, which may become the leader in the meantime. */
  const blind = (): void => {
    const standby = replicas.filter((replica) => !world.holdsLease(replica));
    const replica = dice.pick(dice.chance(0.8) ? standby : replicas);
    if (replica === undefined) return;
    replica.wasBlind = true;
    if (dice.chance(0.5)) outages.blind(replica);
    else {
      const duration = Math.round(dice.between(60_000, 400_000));
      history.log(`network: watches are silent for ${duration / 1000} s for ${replica.name}`);
      replica.kube.stallStreams(duration);
    }
    if (dice.chance(0.5)) replica.kube.cutStreams();
    const { leader } = world;
    if (leader === undefined || leader === replica || dice.chance(0.3)) return;
    clock.after(milliseconds(Math.round(dice.between(2_000, 100_000))), () => {
      if (!replicas.includes(leader)) return;
      world.killReplica(leader);
      clock.after(milliseconds(60_000), () => world.startReplica());
    });
  };
  const slow = forSomeReplica("slow for", (replica) => {
    replica.latency = { ...replica.latency, kube: Math.round(dice.between(100, 4_000)) };
    clock.after(milliseconds(Math.round(dice.between(5_000, 60_000))), () => {
      replica.latency = { ...replica.latency, kube: 2 };
    });
  });
  const compact = (): void => {
    history.log("api server: compacts its history");
    server.watchSettings.goneAs = dice.chance(0.5) ? "event" : "status";
    server.compact();
    if (dice.chance(0.7)) for (const { kube } of replicas) kube.cutStreams();
  };
  const streamingLists = (): void => {
    const mode = dice.pick(["on", "off", "ignored"] as const) ?? "on";
    history.log(`api server: streaming lists ${mode}`);
    server.watchSettings.streamingLists = mode;
  };

  const disruptions: readonly Disruption[] = [
    { weight: 9, apply: () => outages.start() },
    { weight: 3, apply: forSomeReplica("watches are cut for", ({ kube }) => kube.cutStreams()) },
    { weight: 2, apply: forSomeReplica("watches go silent for", ({ kube }) => kube.stallStreams()) },
    { weight: 3, apply: blind },
    { weight: 3, apply: slow },
    { weight: 2, apply: compact },
    { weight: 1, apply: streamingLists },
  ];
  return {
    disruptions,
    stop: () => {
      outages.end();
      server.watchSettings.streamingLists = "on";
      for (const replica of replicas) {
        replica.latency = { ...replica.latency, kube: 2 };
        replica.kube.stallStreams();
      }
    },
  };
};
