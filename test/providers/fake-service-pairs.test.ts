// Changes of Services on the fake cloud, in pairs of specifications.

import { annotations } from "../../providers/fake/settings.ts";
import type { PairCloud } from "../support/service-pairs/oracle.ts";
import { servicePairs } from "../support/service-pairs/suite.ts";
import { ServiceWorld } from "../support/service-world.ts";

const cloud: PairCloud<unknown> = {
  prefix: "balancer.fake.example/",
  fields: annotations,
  values: {},
  left: { adopt: "the id of a load balancer" },
  kept: [],
  open: () => {
    const world = new ServiceWorld({ nodes: 2 });
    const sorted = (all: readonly unknown[]) => all.map((one) => JSON.stringify(one)).toSorted();
    return {
      world,
      start: () => world.start(),
      state: () =>
        world.cloud.balancers
          .list()
          .map(({ id: _, ip, ipv6, listeners, targets, draining, sources, families, ...rest }) => ({
            ...rest,
            listeners: sorted(listeners),
            targets: sorted(targets),
            draining: sorted(draining),
            sources: sorted(sources),
            families: sorted(families),
          })),
      aliases: () =>
        world.cloud.balancers.list().flatMap(
          ({ ip, ipv6 }) =>
            [
              [ip, "ipv4"],
              [ipv6 ?? "", "ipv6"],
            ] as const,
        ),
    };
  },
};

servicePairs(cloud, "./test/providers/fake-service-pairs.test.ts");
