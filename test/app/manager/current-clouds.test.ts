import { describe, expect, test } from "bun:test";
import type { ConnectedCloud } from "../../../src/app/connect-cloud.ts";
import type { ReadFlags } from "../../../src/app/flags/read-flags.ts";
import { readFlags } from "../../../src/app/flags/read-flags.ts";
import { LiveSettings } from "../../../src/app/manager/controller-context.ts";
import { CurrentCloud, CurrentClouds, changedShape } from "../../../src/app/manager/current-clouds.ts";
import type { Generation } from "../../../src/app/manager/open-clouds.ts";
import type { InstanceSource } from "../../../src/provider/instances.ts";
import type { AnyCloud } from "../../../src/provider/provider.ts";
import { tableNameProblems, tablesOf } from "../../../src/provider/route-tables.ts";
import type { RouteTables } from "../../../src/provider/routes.ts";

/** A provider may use classes with private members. */
class Balancers {
  readonly #name: string;
  readonly drains = true;

  constructor(name: string) {
    this.#name = name;
  }

  targetLimit(): string {
    return this.#name;
  }
}

const source = (name: string) => ({ name }) as InstanceSource;

const setUp = () => {
  const generations: Generation[] = [];
  let next = { balancers: "first", source: "east", hasRoutes: false };
  const open = (_: ReadFlags, generation: Generation) => {
    generations.push(generation);
    const instances = { sources: [source(next.source)], matchBy: ["name"] } as const;
    const cloud = {
      instances,
      loadBalancers: new Balancers(next.balancers),
      volumes: { snapshots: new Balancers(next.balancers) },
      ...(next.hasRoutes && { routes: {} }),
    } as unknown as AnyCloud;
    const main: ConnectedCloud = { cloud, accounts: [], origins: [] };
    return { main, migrated: main, instances };
  };
  const settings = readFlags([]);
  const clouds = new CurrentClouds(open, settings);
  const balancers = clouds.main.cloud.loadBalancers as unknown as Balancers;
  const prepare = (changes: Partial<typeof next>) => {
    next = { ...next, ...changes };
    return clouds.prepare(settings);
  };
  return { clouds, balancers, generations, prepare };
};

describe("the current connection to the cloud", () => {
  test("replaces the connection to the cloud only when the prepared one is used, behind the same object", () => {
    const { balancers, prepare } = setUp();
    const use = prepare({ balancers: "second" });
    expect(balancers.targetLimit()).toBe("first");
    use();
    expect(balancers.targetLimit()).toBe("second");
    expect([balancers.drains, "drains" in balancers, "releases" in balancers]).toEqual([true, true, false]);
  });

  test("replaces the snapshots of volumes behind the same object", () => {
    const { clouds, prepare } = setUp();
    const snapshots = clouds.main.cloud.volumes?.snapshots as unknown as Balancers;
    prepare({ balancers: "second" })();
    expect(snapshots.targetLimit()).toBe("second");
  });

  test("closes the gate of a connection when the next one is used", () => {
    const { generations, prepare } = setUp();
    const use = prepare({ balancers: "second" });
    const open = () => generations.map(({ isCurrent }) => isCurrent());
    expect(open()).toEqual([true, false]);
    use();
    expect(open()).toEqual([false, true]);
    prepare({ balancers: "third" });
    expect(open()).toEqual([false, true, false]);
  });

  test.each([
    [{ source: "west" }, "the sources of instances"],
    [{ hasRoutes: true }, "routes"],
  ])(
    "keeps the connection when the next one differs in what the controllers rely on: %p",
    (changes, part) => {
      const { balancers, generations, prepare } = setUp();
      expect(() => prepare(changes)).toThrow(`change ${part}, which needs a restart`);
      expect(balancers.targetLimit()).toBe("first");
      expect(generations[0]?.isCurrent()).toBe(true);
    },
  );
});

test("live settings keep their identity, and report which sections have changed", () => {
  const live = new LiveSettings(readFlags(["--node-address-networks=a", "--node-deletion=off"]));
  const { current } = live;
  const { flags, nodes, lifecycle } = current;
  expect(live.replace(readFlags(["--node-deletion=off"]))).toEqual(["nodes"]);
  expect(nodes.addresses.networks).toEqual([]);
  expect(Object.hasOwn(flags, "node-address-networks")).toBe(false);
  expect(live.replace(readFlags(["--node-deletion=observe", "--v=3"]))).toEqual(["lifecycle"]);
  expect([lifecycle.deletion, flags.v]).toEqual(["observe", 3]);
  expect(live.replace(readFlags(["--node-deletion=observe", "--v=3"]))).toEqual([]);
  expect([current.flags, current.nodes, current.lifecycle]).toEqual([flags, nodes, lifecycle]);
  expect(live.current === current && current.nodes === nodes).toBe(true);
});

describe("several route tables", () => {
  const connected = (...tables: readonly (readonly [name: string, limit: number])[]): ConnectedCloud => {
    const routes = tables.map(([name, limit]) => ({ name, limit, serves: () => limit > 1 }));
    return { cloud: { routes } as unknown as AnyCloud, accounts: [], origins: [] };
  };

  test("replaces each route table by the one with the same name, in whatever order", () => {
    const current = new CurrentCloud(connected(["west", 1], ["east", 1]));
    const tables = tablesOf(current.cloud.routes as RouteTables);
    current.replace(connected(["east", 20], ["west", 10]));
    expect(tables.map(({ name, routes }) => [name, routes.limit])).toEqual([
      ["west", 10],
      ["east", 20],
    ]);
    expect(tables.map(({ serves }) => serves({} as never))).toEqual([true, true]);
  });

  test("requires a restart for route tables with other names, and refuses repeated names", () => {
    const [before, renamed] = [connected(["west", 1]), connected(["north", 1])];
    expect(changedShape(before.cloud, renamed.cloud)).toBe("routes");
    expect(changedShape(before.cloud, connected(["west", 9]).cloud)).toBeUndefined();
    const { routes } = connected(["west", 1], ["west", 2]).cloud;
    expect(tableNameProblems(routes).map(({ text }) => text)).toEqual([
      'Two route tables of the cloud have the name "west", so none can be managed. Give each network or region of the configuration its own name.',
    ]);
  });
});
