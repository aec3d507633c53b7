// The provider of the fake cloud: the model for provider authors, and the cloud of the tests. The simulated cloud itself is in
// `simulator/`; the provider only uses its API.

import { bearer, defineProvider } from "#ccm";
import { AnyNodeSource } from "./any-node.ts";
import { fakeApi } from "./api.ts";
import { readConfigFile } from "./config-file.ts";
import { machineSource } from "./instances.ts";
import { fakeLoadBalancers } from "./load-balancers.ts";
import { fakeRoutes } from "./routes.ts";
import { annotations, config } from "./settings.ts";
import { fakeVolumes, volumeDriver } from "./volumes.ts";

export const fake = defineProvider({
  contract: 3,
  name: "fake",
  schemes: ["fake://"],
  config,
  annotations: { prefix: "balancer.fake.example/", fields: annotations },
  readConfigFile,
  volumeDriver,
  connect: (settings, { account, mark }) => {
    const limit = settings["lookup-limit"];
    if (settings["answer-any-node"]) {
      return { instances: { sources: [new AnyNodeSource(limit)], matchBy: ["name"] } };
    }
    const { transport } = account({
      name: "fake",
      fetch: async () => ({ value: settings.token }),
      sign: bearer,
    });
    const api = fakeApi({
      base: settings.endpoint,
      transport,
      pageSize: settings["page-size"],
    });
    return {
      instances: {
        sources: [machineSource(api, limit)],
        matchBy: ["name"],
        labelPrefixes: ["fake.example/"],
      },
      loadBalancers: fakeLoadBalancers(api, mark, settings["target-limit"]),
      routes: fakeRoutes(api, mark),
      volumes: fakeVolumes(api, mark),
    };
  },
});
