// The provider in docs/write-a-hard-provider.md: several regions, jobs, lagging listings, ETags and own quota headers.

import { defineProvider } from "#ccm";
import { openRegion } from "./api.ts";
import { quarryJobs } from "./jobs.ts";
import { loadBalancers } from "./load-balancers.ts";
import { machineSource } from "./machines.ts";
import { routeTable } from "./routes.ts";
import { annotations, config, reasons } from "./settings.ts";

export const quarry = defineProvider({
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
    // `required` refuses an empty list.
    if (first === undefined) return {};
    return {
      instances: {
        sources: [machineSource(first), ...others.map(machineSource)],
        matchBy: ["name"],
      },
      pending: quarryJobs(regions),
      loadBalancers: loadBalancers(regions, context.mark),
      routes: [routeTable(first, context.mark), ...others.map((region) => routeTable(region, context.mark))],
    };
  },
});
