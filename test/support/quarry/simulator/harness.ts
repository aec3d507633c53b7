// The parts that the conformance suites need to run the provider against two simulated regions.

import type { Transport } from "#ccm";
import type { Clock, Harness } from "#ccm/testing";
import { quarryCloud } from "../index.ts";
import { RegionCloud } from "./cloud.ts";

export const regionNames = ["east", "west"] as const;

export const simulatedConfig = {
  token: "t",
  regions: JSON.stringify(
    regionNames.map((name) => ({ name, endpoint: `https://${name}.quarry.example`, network: `n-${name}` })),
  ),
};

export function simulateRegions(clock: Clock) {
  const east = new RegionCloud(clock);
  const west = new RegionCloud(clock);
  const transport: Transport = async ({ method, url, headers, body }, signal) => {
    signal.throwIfAborted();
    const parsed = new URL(url);
    const region = parsed.hostname.startsWith("east.") ? east : west;
    return region.handle(method, parsed, headers ?? {}, typeof body === "string" ? body : "");
  };
  return { east, west, transport };
}

const pagesOf = (machines: number): number => Math.max(1, Math.ceil(machines / 3));

export const harness: Harness = {
  definition: quarryCloud,
  config: simulatedConfig,
  listingRequests: (machines) => pagesOf(Math.ceil(machines / 2)) + pagesOf(Math.floor(machines / 2)),
  simulate: (clock) => {
    const { east, west, transport } = simulateRegions(clock);
    let count = 0;
    return {
      transport,
      addMachine: (name) => {
        count += 1;
        const region = count % 2 === 1 ? east : west;
        region.machines.push({ id: `m${count}`, name, ip: `10.0.0.${count}` });
      },
      removeMachine: (name) => {
        for (const { machines } of [east, west]) {
          const at = machines.findIndex((machine) => machine.name === name);
          if (at >= 0) machines.splice(at, 1);
        }
      },
      refuseTarget: ({ key }) => {
        for (const region of [east, west]) region.rejects = (machine) => machine === key;
      },
      spendBudget: () => {
        for (const region of [east, west]) region.quota.drain();
      },
      disturbRoutes: () => {
        east.routes = [...east.routes, { to: "10.8.0.0/16", machine: "gateway", note: "by hand" }];
        east.revision += 1;
      },
      state: () =>
        [east, west].map(({ pools, routes }) => ({
          // Sorted, because a retried creation may come last.
          pools: [...pools.values()]
            .map(({ labels, spec, members, front }) => ({ labels, spec, members, hasFront: front !== null }))
            .toSorted((one, other) => JSON.stringify(one.labels).localeCompare(JSON.stringify(other.labels))),
          routes,
        })),
    };
  },
};
