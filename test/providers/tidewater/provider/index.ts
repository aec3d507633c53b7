// The provider of Tidewater: machines, load balancers and routes in three zones.

import { defineProvider } from "#ccm";
import { zoneApi } from "./api.ts";
import { loadBalancers } from "./load-balancers.ts";
import { machinesOf } from "./machines.ts";
import { routeTable } from "./routes.ts";
import { annotations, config, reasons } from "./settings.ts";
import { pendingTickets } from "./tickets.ts";

export const tidewater = defineProvider({
  contract: 2,
  name: "tidewater",
  schemes: ["tidewater://"],
  config,
  reasons,
  annotations: { prefix: "balancer.tidewater.example/", fields: annotations },
  connect: ({ key }, context) => {
    const north = zoneApi("north", key, context);
    const east = zoneApi("east", key, context);
    const isle = zoneApi("isle", key, context);
    const apis = { north, east, isle };
    const { mark } = context;
    return {
      pending: pendingTickets(apis),
      instances: { sources: [machinesOf(north), machinesOf(east), machinesOf(isle)], matchBy: ["name"] },
      loadBalancers: loadBalancers(apis, mark),
      routes: [routeTable(north, mark), routeTable(east, mark), routeTable(isle, mark)],
    };
  },
});
