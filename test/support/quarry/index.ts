// The provider of Quarry: several regions, jobs, lagging listings, ETags and quota headers with other names.

import { defineProvider } from "#ccm";
import { openRegion } from "./api.ts";
import { jobsOf } from "./jobs.ts";
import { loadBalancers } from "./load-balancers.ts";
import { machineSource } from "./machines.ts";
import { routeTable } from "./routes.ts";
import { annotations, config, reasons } from "./settings.ts";

export const quarryCloud = defineProvider({
  contract: 3,
  name: "quarry",
  schemes: ["quarry://"],
  config,
  annotations: { prefix: "quarry.example/", fields: annotations },
  facts: { pool: { annotation: "quarry.example/pool" } },
  reasons,
  connect: (settings, context) => {
    const regions = settings.regions.map((region) => openRegion(region, settings, context));
    const [first, ...others] = regions;
    // `required` rejects an empty list.
    if (first === undefined) return {};
    return {
      instances: {
        sources: [machineSource(first), ...others.map(machineSource)],
        matchBy: ["name"],
      },
      pending: jobsOf(regions),
      loadBalancers: loadBalancers(regions, context.mark),
      routes: [routeTable(first, context.mark), ...others.map((region) => routeTable(region, context.mark))],
    };
  },
});
