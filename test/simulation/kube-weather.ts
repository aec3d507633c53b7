// What an API server and the network before it can do wrong: refuse, break, lose answers, hang, cut watches or let them
// fall silent, forget history, serve no streaming lists, and be slow.

import { milliseconds } from "../../src/core/brand.ts";
import type { FaultOutcome } from "../../src/testing/apiserver/faults.ts";
import type { RequestInfo } from "../../src/testing/apiserver/http/read-request.ts";
import type { Dice, Mishap, Weather } from "./storm.ts";
import type { World } from "./world.ts";

type Target = "all" | "writes" | "watches" | "leases" | "nodes";

interface Spell {
  readonly what: "500" | "503" | "429" | "drop" | "lose-answer" | "hang";
  readonly share: number;
  readonly target: Target;
  readonly until: number;
  /** Only this replica is struck; undefined: all. */
  readonly replica: string | undefined;
}

const concerns = (target: Target, { verb, plural }: RequestInfo): boolean => {
  switch (target) {
    case "all":
      return true;
    case "writes":
      return !["get", "list", "watch"].includes(verb);
    case "watches":
      return verb === "watch" || verb === "list";
    case "leases":
    case "nodes":
      return plural === target;
  }
};

const refusal = (code: number, retryAfter: number | undefined): Response =>
  new Response(JSON.stringify({ kind: "Status", status: "Failure", message: "as ordered", code }), {
    status: code,
    headers: {
      "content-type": "application/json",
      ...(retryAfter !== undefined && { "retry-after": String(retryAfter) }),
    },
  });

export const kubeWeather = (world: World, dice: Dice): Weather => {
  const { server, script, clock, replicas } = world;
  let spells: Spell[] = [];

  server.faults.intercept = (_, info): FaultOutcome => {
    const now = clock.monotonic();
    spells = spells.filter(({ until }) => until > now);
    for (const { what, share, target, replica } of spells) {
      if (replica !== undefined && replica !== script.writer) continue;
      if (!concerns(target, info) || !dice.chance(share)) continue;
      if (what === "500" || what === "503") return refusal(Number(what), undefined);
      return what === "429" ? refusal(429, dice.count(1, 8)) : what;
    }
    return undefined;
  };

  const spell = (): void => {
    const spent: Spell = {
      what: dice.pick(["500", "503", "429", "drop", "lose-answer", "lose-answer", "hang"] as const) ?? "500",
      share: dice.pick([0.1, 0.3, 0.7, 1]) ?? 1,
      target: dice.pick(["all", "writes", "writes", "watches", "leases", "nodes"] as const) ?? "all",
      until: clock.monotonic() + Math.round(dice.between(3_000, 90_000)),
      replica: dice.chance(0.6) ? dice.pick(replicas)?.name : undefined,
    };
    script.say(`api server: ${JSON.stringify(spent)}`);
    spells.push(spent);
  };
  const ofSome = (text: string, strike: (replica: World["replicas"][number]) => void) => (): void => {
    const replica = dice.pick(replicas);
    if (replica === undefined) return;
    script.say(`network: ${text} ${replica.name}`);
    strike(replica);
  };
  const slow = ofSome("slow for", (replica) => {
    replica.pace = { ...replica.pace, kube: Math.round(dice.between(100, 4_000)) };
    clock.after(milliseconds(Math.round(dice.between(5_000, 60_000))), () => {
      replica.pace = { ...replica.pace, kube: 2 };
    });
  });
  const compact = (): void => {
    script.say("api server: forgets history");
    server.watchSettings.goneAs = dice.chance(0.5) ? "event" : "status";
    server.compact();
    if (dice.chance(0.7)) for (const { kube } of replicas) kube.cutStreams();
  };
  const streamingLists = (): void => {
    const mode = dice.pick(["on", "off", "ignored"] as const) ?? "on";
    script.say(`api server: streaming lists ${mode}`);
    server.watchSettings.streamingLists = mode;
  };

  const mishaps: readonly Mishap[] = [
    { weight: 9, strike: spell },
    { weight: 3, strike: ofSome("watches are cut for", ({ kube }) => kube.cutStreams()) },
    { weight: 2, strike: ofSome("watches fall silent for", ({ kube }) => kube.hushStreams()) },
    { weight: 3, strike: slow },
    { weight: 2, strike: compact },
    { weight: 1, strike: streamingLists },
  ];
  return {
    mishaps,
    calm: () => {
      spells = [];
      server.watchSettings.streamingLists = "on";
      for (const replica of replicas) replica.pace = { ...replica.pace, kube: 2 };
    },
  };
};
