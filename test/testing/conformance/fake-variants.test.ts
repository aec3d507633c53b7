// The conformance suites pass for variants of the fake cloud: a source without machines, load balancers of other clusters in a listing, and
// several route tables.

import { fake } from "../../../providers/fake/index.ts";
import type { FakeBalancer } from "../../../providers/fake/load-balancers.ts";
import { harness } from "../../../providers/fake/simulator/harness.ts";
import { defineProvider, type NamedRoutes, type ObservedRoute } from "../../../src/index.ts";
import {
  instancesConformance,
  loadBalancersConformance,
  routesConformance,
} from "../../../src/testing/index.ts";

/** The suites read no more of the object than the framework does. */
const unread = { balancer: { id: "other" } as FakeBalancer["balancer"] };

const uneven = defineProvider({
  ...fake,
  connect: (config, context) => {
    const cloud = fake.connect(config, context);
    const { instances, loadBalancers } = cloud;
    if (instances === undefined || loadBalancers === undefined) throw new Error("The fake cloud has both.");
    const [source] = instances.sources;
    return {
      ...cloud,
      instances: {
        ...instances,
        sources: [
          source,
          {
            name: "empty",
            keyOf: () => undefined,
            list: async function* (call) {
              // One request, whose results do not belong to this source.
              await source.lookups?.id?.find(["404"], call);
              yield [];
            },
          },
        ],
      },
      loadBalancers: {
        ...loadBalancers,
        list: async function* (call) {
          yield* loadBalancers.list(call);
          yield [{ name: "other", owners: [], ownership: "foreign", state: "ready", ...unread }];
        },
      },
    };
  },
});

const unevenHarness = {
  ...harness,
  definition: uneven,
  listingRequests: (machines: number) => harness.listingRequests(machines) + 1,
};

instancesConformance("fake cloud with an empty source", unevenHarness);
loadBalancersConformance("fake cloud with load balancers of others", unevenHarness);

// One network, divided by the number of the machine.
const divided = defineProvider({
  ...fake,
  connect: (config, context) => {
    const cloud = fake.connect(config, context);
    const { routes } = cloud;
    if (routes === undefined || !("style" in routes) || routes.style !== "one-by-one")
      throw new Error("The fake cloud has one table.");
    const table = (name: string, remainder: number): NamedRoutes => {
      const isHere = (key: string | undefined): boolean => Number(key) % 2 === remainder;
      const here = ({ targetKey }: ObservedRoute): boolean => isHere(targetKey);
      return {
        ...routes,
        name,
        serves: ({ machine }) => isHere(machine?.key),
        list: async function* (call) {
          for await (const page of routes.list(call)) yield { routes: page.routes.filter(here) };
        },
      };
    };
    return { ...cloud, routes: [table("even", 0), table("odd", 1)] };
  },
});

routesConformance("fake cloud with two route tables", { ...harness, definition: divided });
