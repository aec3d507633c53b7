// The conformance suite of routes with several tables: one network of the fake cloud, divided by the number of the machine.

import { fake } from "../../providers/fake/index.ts";
import { harness } from "../../providers/fake/simulator/harness.ts";
import { defineProvider, type NamedRoutes, type ObservedRoute } from "../../src/index.ts";
import { routesConformance } from "../../src/testing/conformance/routes-conformance.ts";

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
