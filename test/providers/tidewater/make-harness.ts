// The harness of the conformance suites for a provider of this cloud, whatever its settings and keys look like.

import type { Harness, TargetMachine } from "#ccm/testing";
import type { SimulatedMachine } from "./simulator/machines.ts";
import { TidewaterCloud, type ZoneName, zoneNames } from "./simulator/tidewater-cloud.ts";

/** What the provider decides. The key of the cloud is `tide`. `targetOf` returns a machine as the provider identifies it. */
export interface TidewaterHarness extends Pick<Harness, "definition" | "config" | "adoptionAnnotations"> {
  targetOf(zone: ZoneName, machine: Pick<SimulatedMachine, "id" | "label" | "address">): TargetMachine;
}

const pageSize = 3;

/** The zone of the first, second, … machine that a test adds. */
function zoneOf(index: number): ZoneName {
  return (["north", "east", "north", "isle"] as const)[index % 4] ?? "north";
}

function listingRequests(machines: number): number {
  const zones = Array.from({ length: machines }, (_, index) => zoneOf(index));
  const machinesIn = (name: ZoneName) => zones.filter((zone) => zone === name).length;
  return zoneNames.reduce((sum, name) => sum + Math.max(1, Math.ceil(machinesIn(name) / pageSize)), 0);
}

/** Without ids, addresses and stamps, which depend on the order of requests. */
function stateOf({ zones }: TidewaterCloud): unknown {
  const portOf = ({ protocol, port }: { readonly protocol: string; readonly port: number }) =>
    `${protocol} ${port}`;
  return zoneNames.map((name) => ({
    frontends: zones[name].frontends
      .all()
      .map(({ id: _, address, stamp: __, pools, ...frontend }) => ({
        ...frontend,
        isBuilt: address !== null,
        pools: pools
          .map(({ id: ___, members, ...pool }) => ({ ...pool, members: members.toSorted() }))
          .toSorted((one, other) => portOf(one).localeCompare(portOf(other))),
      }))
      .toSorted((one, other) => one.label.localeCompare(other.label)),
    table: zones[name].table.entries.toSorted((one, other) => one.to.localeCompare(other.to)),
  }));
}

export function makeHarness({ targetOf, ...provider }: TidewaterHarness): Harness {
  return {
    ...provider,
    listingRequests,
    unknownKeys: { id: "m-9999" },
    targets: (simulated) => {
      const machines = [
        { id: "m-0001", address: "10.20.0.1" },
        { id: "m-0001", address: "10.21.0.1" },
        { id: "m-0002", address: "10.20.0.2" },
      ] as const;
      const [first, second, third] = machines.map((machine, index) => {
        const label = `target-${index + 1}`;
        simulated.addMachine(label);
        const addresses = [machine.address];
        return { addresses, ...targetOf(zoneOf(index), { ...machine, label }) };
      });
      if (first === undefined || second === undefined || third === undefined)
        throw new Error("Expected three targets.");
      return [first, second, third];
    },
    simulate: (clock) => {
      // The suites do not follow a budget.
      const cloud = new TidewaterCloud({ clock, pageSize, units: { max: 1_000_000, perSecond: 1000 } });
      const zones = Object.values(cloud.zones);
      const { frontends, table } = cloud.zones.north;
      let added = 0;
      const change = (name: string, power: SimulatedMachine["power"]) => {
        for (const { machines } of zones) machines.setPower(name, power);
        show();
      };
      /** As if the change was long ago. */
      const show = () => {
        for (const zone of zones)
          for (const { listing } of [zone.machines, zone.frontends]) listing.catchUp();
      };
      const addFrontend = (label: string, tags: Readonly<Record<string, string>>) =>
        frontends.add({ label, tags, class: "compact", allow: null });
      addFrontend("legacy", { cluster: "another" });
      table.set([{ to: "172.16.0.0/12", hop: "10.20.255.1", note: "office" }], Number.NEGATIVE_INFINITY);
      show();
      return {
        transport: cloud.transport,
        settle: () => cloud.settle(),
        addMachine: (name) => {
          cloud.zones[zoneOf(added++)].machines.add(name);
          show();
        },
        stopMachine: (name) => change(name, "down"),
        terminateMachine: (name) => change(name, "leaving"),
        removeMachine: (name) => {
          for (const { machines } of zones) machines.remove(name);
          show();
        },
        addUnmarkedBalancer: () => {
          const id = addFrontend("by-hand", { team: "web" });
          show();
          return id;
        },
        shortenNextPage: () =>
          cloud.faults.add({ kind: "short-page", zone: "north", operation: "GET /machines" }),
        shortenNextBalancerPage: () =>
          cloud.faults.add({ kind: "short-page", zone: "north", operation: "GET /frontends" }),
        refuseTarget: ({ addresses = [] }) => {
          for (const { machines } of zones)
            for (const address of addresses) machines.quarantined.add(address);
        },
        spendBudget: () => cloud.spendUnits(),
        disturbRoutes: () =>
          table.set([...table.entries, { to: "192.168.0.0/16", hop: "10.20.255.2", note: "office" }]),
        state: () => stateOf(cloud),
      };
    },
  };
}
