// The awkward provider: every difficulty of the provider contract in one place. It is for tests only.

import { defineProvider, jsonApi } from "#ccm";
import { readFault, site } from "./awkward-instances.ts";
import { awkwardJobs } from "./awkward-jobs.ts";
import { annotations, awkwardLoadBalancers } from "./awkward-load-balancers.ts";
import { awkwardRoutes } from "./awkward-routes.ts";

export const awkward = defineProvider({
  contract: 3,
  name: "awkward",
  schemes: ["awk://", "awkold://"],
  config: {},
  annotations: { prefix: "awkward.example/", fields: annotations },
  facts: { balancer: { annotation: "awkward.example/balancer-id" } },
  connect: (_config, context) => {
    const { transport } = context.account({
      name: "network",
      fetch: async () => ({ value: "key" }),
      sign: (request, key) => ({ ...request, headers: { ...request.headers, "x-key": key } }),
    });
    const api = jsonApi({
      base: "https://awkward.example",
      transport,
      readError: readFault,
    });
    return {
      instances: {
        sources: [site("east", context), site("west", context, { listsState: false })],
        matchBy: ["name"],
      },
      pending: awkwardJobs(api),
      loadBalancers: awkwardLoadBalancers(api),
      routes: awkwardRoutes(api),
    };
  },
});
