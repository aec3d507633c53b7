// The provider of Acme: settings, authentication, instances, load balancers and routes. Remove the features that your cloud
// does not have.

import { bearer, defineProvider } from "#ccm";
import { cloudApi } from "./api.ts";
import { machineSource } from "./instances.ts";
import { loadBalancers } from "./load-balancers.ts";
import { routes } from "./routes.ts";
import { annotations, config } from "./settings.ts";

export const acmeCloud = defineProvider({
  contract: 3,
  name: "acme",
  schemes: ["acme://"],
  config,
  annotations: { prefix: "balancer.acme.example/", fields: annotations },
  connect: (settings, { account, mark }) => {
    const { endpoint, token, "page-size": pageSize } = settings;
    const { transport } = account({
      name: "acme",
      fetch: async () => ({ value: token }),
      sign: bearer,
    });
    const api = cloudApi({ base: endpoint, transport, pageSize });
    return {
      instances: { sources: [machineSource(api)], matchBy: ["name"] },
      loadBalancers: loadBalancers(api, mark),
      routes: routes(api, mark),
    };
  },
});
