// A provider that lists load balancers in two parts, of which one does not answer during the disruptions and has none. Checks that
// every invariant holds as in a cloud with one part: no second load balancer, no lost one, and no Service that waits for the other part.

import { expect, test } from "bun:test";
import { asTransport } from "#ccm/testing";
import { fakeApi } from "../../providers/fake/api.ts";
import { fake } from "../../providers/fake/index.ts";
import { fakeLoadBalancers } from "../../providers/fake/load-balancers.ts";
import { FakeCloud } from "../../providers/fake/simulator/fake-cloud.ts";
import type { AnyProvider } from "../../src/app/connect-cloud.ts";
import { minutes } from "../../src/core/brand.ts";
import { defineProvider } from "../../src/index.ts";
import { isPartList } from "../../src/provider/listing-parts.ts";
import { runsAllTests } from "../../src/testing/breadth.ts";
import { report, runSimulation } from "./run-simulation.ts";

const otherPart = "http://other-part";

const twoParts = defineProvider({
  ...fake,
  connect: (settings, context) => {
    const cloud = fake.connect(settings, context);
    const { loadBalancers } = cloud;
    if (loadBalancers === undefined || isPartList(loadBalancers.list))
      throw new Error("The fake cloud has one part.");
    const { transport } = context.account({
      name: "far",
      fetch: async () => ({ value: settings.token }),
      sign: (request) => request,
    });
    const api = fakeApi({ base: otherPart, transport, pageSize: 5 });
    const far = fakeLoadBalancers(api, context.mark, undefined).list;
    if (isPartList(far)) throw new Error("The fake cloud has one part.");
    return {
      ...cloud,
      loadBalancers: {
        ...loadBalancers,
        list: [
          { name: "near", list: loadBalancers.list },
          { name: "far", list: far },
        ],
        partOf: () => "near",
      },
    };
  },
});

const kinds = ["status", "hang", "empty"] as const;

for (const [index, kind] of kinds.entries()) {
  // Each runs a whole simulation.
  test.if(runsAllTests)(
    `violates no invariant while one of two parts ${kind === "empty" ? "is empty" : `fails with ${kind}`}`,
    async () => {
      let far: FakeCloud | undefined;
      const outcome = await runSimulation({
        seed: index + 11,
        duration: minutes(20),
        disruptions: 60,
        provider: twoParts as unknown as AnyProvider,
        divert: (request, signal) => {
          if (far === undefined || !request.url.startsWith(otherPart)) return undefined;
          return asTransport(far)(request, signal);
        },
        beforeReplicas: (clock) => {
          const cloud = new FakeCloud({ clock });
          if (kind !== "empty") cloud.faults.add({ kind, calls: 1e9, status: 503 });
          clock.after(minutes(23), () => cloud.faults.clear());
          far = cloud;
        },
      });
      expect(outcome.violations, report(outcome)).toEqual([]);
      expect(outcome.serviceWrites).toBeGreaterThan(0);
    },
  );
}
