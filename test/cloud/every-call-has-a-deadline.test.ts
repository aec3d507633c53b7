// Every asynchronous call of the provider contract is abandoned when it ignores its cancellation. The tables below list the calls
// by type, so a new call does not compile until it is listed, and fails until it is guarded.

import { describe, expect, test } from "bun:test";
import { type AbandonedCall, withDeadlines } from "../../src/cloud/call-deadlines.ts";
import { seconds } from "../../src/core/brand.ts";
import { Redaction } from "../../src/core/redaction.ts";
import type { Fields } from "../../src/core/settings.ts";
import type { Changes } from "../../src/provider/changes.ts";
import type { InstanceLookup, InstanceSource, Instances } from "../../src/provider/instances.ts";
import type { LoadBalancers, ObservedLoadBalancer } from "../../src/provider/load-balancers.ts";
import type { MachineTags } from "../../src/provider/machine-tags.ts";
import type { NodeFirewall } from "../../src/provider/node-firewall.ts";
import type { Pending, Step } from "../../src/provider/plan.ts";
import type { Cloud } from "../../src/provider/provider.ts";
import type { RoutesAsDocument, RoutesOneByOne } from "../../src/provider/routes.ts";
import type { Volumes } from "../../src/provider/volumes.ts";
import { VirtualClock } from "../../src/testing/virtual-time/virtual-clock.ts";

type AnyCloud = Cloud<Fields, ObservedLoadBalancer, Step, unknown>;
type AnyBalancers = LoadBalancers<Fields, ObservedLoadBalancer, Step, unknown>;

type AsyncFunction = (...args: never[]) => Promise<unknown> | AsyncIterable<unknown>;
/** The members of one part of the contract that are, or may be, asynchronous functions. */
type AsyncMember<T> = {
  [K in keyof T]-?: [Extract<NonNullable<T[K]>, AsyncFunction>] extends [never] ? never : K;
}[keyof T];
type Uses<T> = Record<AsyncMember<T>, (part: T) => Promise<unknown>>;

const stop = new AbortController();
stop.abort();
const call = { signal: stop.signal, urgency: "refresh" } as const;
const firstOf = (pages: AsyncIterable<unknown>): Promise<unknown> => pages[Symbol.asyncIterator]().next();
const given = {} as never;
const changes = { create: [], remove: [] };

const uses = {
  cloud: {
    checkSettings: async (part) => part.checkSettings?.(call),
    close: async (part) => part.close?.(call),
  } satisfies Uses<AnyCloud>,
  source: { list: (part) => firstOf(part.list(call)) } satisfies Uses<InstanceSource>,
  instances: {} satisfies Uses<Instances>,
  lookup: { find: (part) => part.find(["1"], call) } satisfies Uses<InstanceLookup>,
  pending: { check: (part) => part.check(["1"], call) } satisfies Uses<Pending>,
  loadBalancers: {
    list: (part) => firstOf(part.list(call)),
    observe: async (part) => part.observe?.(undefined, undefined, call),
    observeAgain: async (part) => part.observeAgain?.(given, given, given, [], call),
    observeHealth: async (part) => part.observeHealth?.(given, given, call),
    prefetch: async (part) => part.prefetch?.("", call),
    apply: (part) => part.apply({ do: "create" }, call),
  } satisfies Uses<AnyBalancers>,
  nodeFirewall: {
    observe: (part) => part.observe(call),
    apply: (part) => part.apply({ do: "open" }, call),
  } satisfies Uses<NodeFirewall<Fields, Step>>,
  machineTags: {
    add: (part) => part.add(["1"], call),
    remove: (part) => part.remove(["1"], call),
  } satisfies Uses<MachineTags>,
  routes: {
    list: (part) => firstOf(part.list(call)),
    create: (part) => part.create({ destination: "10.0.0.0/24" } as never, call),
    remove: (part) => part.remove({ destination: "10.0.0.0/24" } as never, call),
  } satisfies Uses<RoutesOneByOne>,
  document: {
    read: (part) => part.read(call),
    change: (part) => part.change(changes, given, call),
  } satisfies Uses<RoutesAsDocument>,
  volumes: {
    list: (part) => firstOf(part.list(call)),
    get: (part) => part.get("1", call),
    create: (part) => part.create(given, call),
    remove: (part) => part.remove(given, call),
    attach: (part) => part.attach(given, "1", call),
    detach: (part) => part.detach(given, "1", call),
    expand: (part) => part.expand(given, 1, call),
  } satisfies Uses<Volumes>,
  changes: { follow: (part) => firstOf(part.follow(call)) } satisfies Uses<Changes>,
};

/** Counts its calls in a private member, as a provider may, and never responds. */
class Hanging {
  #calls = 0;
  hang(): Promise<never> {
    this.#calls += 1;
    return new Promise(() => undefined);
  }
  async *list(): AsyncGenerator<never> {
    yield await this.hang();
  }
  get calls(): number {
    return this.#calls;
  }
}
class Lookup extends Hanging {
  readonly limit = 1;
  find(): Promise<never> {
    return this.hang();
  }
}
class Source extends Hanging {
  readonly name = "machines";
  readonly lookups = { id: new Lookup() };
  keyOf(id: string): string {
    return `${id}-${this.calls}`;
  }
}
class Operations extends Hanging {
  readonly limit = 1;
  check(): Promise<never> {
    return this.hang();
  }
}
class Balancers extends Hanging {
  observe(): Promise<never> {
    return this.hang();
  }

  observeHealth(): Promise<never> {
    return this.hang();
  }
  observeAgain(): Promise<never> {
    return this.hang();
  }
  prefetch(): Promise<never> {
    return this.hang();
  }
  apply(): Promise<never> {
    return this.hang();
  }
  plan() {
    return { steps: [] };
  }
  publish() {
    return { kind: "wait", waitingFor: String(this.calls) } as const;
  }
}
class Tags extends Hanging {
  readonly label = { key: "tags", value: "1" };
  readonly limit = 10;
  add(): Promise<never> {
    return this.hang();
  }
  remove(): Promise<never> {
    return this.hang();
  }
}

class Firewall extends Hanging {
  observe(): Promise<never> {
    return this.hang();
  }
  apply(): Promise<never> {
    return this.hang();
  }
  readonly deciding = [];
  rulesOf() {
    return [];
  }
  inUse() {
    return [];
  }
  textOf() {
    return String(this.calls);
  }
  change() {
    return undefined;
  }
}
class Routes extends Hanging {
  readonly style = "one-by-one";
  readonly name = "lan";
  readonly families = ["IPv4"] as const;
  create(): Promise<never> {
    return this.hang();
  }
  remove(): Promise<never> {
    return this.hang();
  }
}
class Document extends Hanging {
  readonly style = "document";
  readonly name = "router";
  readonly families = ["IPv4"] as const;
  read(): Promise<never> {
    return this.hang();
  }
  change(): Promise<never> {
    return this.hang();
  }
}

class Disks extends Hanging {
  get(): Promise<never> {
    return this.hang();
  }
  create(): Promise<never> {
    return this.hang();
  }
  remove(): Promise<never> {
    return this.hang();
  }
  attach(): Promise<never> {
    return this.hang();
  }
  detach(): Promise<never> {
    return this.hang();
  }
  expand(): Promise<never> {
    return this.hang();
  }
}

class Stream extends Hanging {
  readonly maxSilence = seconds(60);
  follow(): AsyncGenerator<never> {
    return this.list();
  }
}

const connected = () => {
  const clock = new VirtualClock();
  const abandoned: AbandonedCall[] = [];
  const options = {
    redaction: new Redaction(),
    clock,
    onAbandoned: (one: AbandonedCall) => abandoned.push(one),
  };
  const [source, balancers] = [new Source(), new Balancers()];
  const parts: { readonly [Part in keyof AnyCloud]-?: NonNullable<AnyCloud[Part]> } = {
    instances: { sources: [source], matchBy: ["name"] },
    pending: new Operations(),
    loadBalancers: balancers,
    nodeFirewall: new Firewall(),
    machineTags: new Tags(),
    routes: [new Routes(), new Document()],
    volumes: new Disks(),
    changes: new Stream(),
    checkSettings: () => balancers.hang(),
    close: () => balancers.hang(),
  };
  const cloud = withDeadlines(parts, options);
  const { instances, pending, loadBalancers, nodeFirewall, machineTags, routes } = cloud;
  const [routesOneByOne, document] = (routes ?? []) as readonly unknown[] as [
    RoutesOneByOne,
    RoutesAsDocument,
  ];
  if (instances === undefined || pending === undefined || loadBalancers === undefined)
    throw new Error("A part is missing.");
  return {
    clock,
    abandoned,
    guarded: {
      cloud,
      source: instances.sources[0],
      instances,
      lookup: instances.sources[0].lookups?.id,
      pending,
      loadBalancers,
      nodeFirewall,
      machineTags,
      routes: routesOneByOne,
      document,
      volumes: cloud.volumes,
      changes: cloud.changes,
    } satisfies Record<keyof typeof uses, unknown>,
  };
};

describe("a cloud whose parts are instances of classes", () => {
  const cases = Object.entries(uses).flatMap(([part, members]) =>
    Object.entries(members).map(([member, use]) => [part, member, use] as const),
  );
  test.each(cases)("abandons a call of %s.%s that ignores its cancellation", async (part, _member, use) => {
    const { clock, abandoned, guarded } = connected();
    const outcome = (use as (part: unknown) => Promise<unknown>)(guarded[part as keyof typeof uses]).catch(
      String,
    );
    await clock.advance(seconds(2));
    expect(await outcome).toContain("did not end within 2s after its cancellation");
    expect(abandoned).toEqual([expect.objectContaining({ why: "cancelled" })]);
    expect(abandoned[0]?.operation).toMatch(
      /^(instances|pending|loadBalancers|nodeFirewall|machineTags|routes|volumes|changes|checkSettings|close)(\.|$)/,
    );
  });

  test("keeps the other functions and the state of class instances", async () => {
    const { clock, guarded } = connected();
    const { source, loadBalancers } = guarded;
    expect([source.keyOf("x"), loadBalancers.publish(given, undefined)]).toEqual([
      "x-0",
      { kind: "wait", waitingFor: "0" },
    ]);
    const lists = [uses.source.list(source), uses.loadBalancers.list(loadBalancers)].map((one) =>
      one.catch(String),
    );
    await clock.advance(seconds(2));
    await Promise.all(lists);
    expect([source.keyOf("x"), loadBalancers.publish(given, undefined)]).toEqual([
      "x-1",
      { kind: "wait", waitingFor: "1" },
    ]);
  });
});
