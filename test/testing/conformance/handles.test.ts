// The conformance check of `needsHandles` finds providers that declare it and use handles, or list instances.

import { expect, test } from "bun:test";
import { hetzner } from "../../../providers/hetzner/index.ts";
import { harness } from "../../../providers/hetzner/simulator/harness.ts";
import { collect, defineProvider, waitFor } from "../../../src/index.ts";
import { deviationsWithoutHandles } from "../../../src/testing/conformance/handles-conformance.ts";
import type { AnyCloud, Harness } from "../../../src/testing/index.ts";

type Balancers = NonNullable<AnyCloud["loadBalancers"]>;

/** Hetzner, which declares that it needs no handles, with these members instead. */
function withMembers(members: (balancers: Balancers, cloud: AnyCloud) => Partial<Balancers>): Harness {
  const definition = defineProvider({
    ...hetzner,
    connect: (config, context) => {
      const cloud: AnyCloud = hetzner.connect(config, context);
      const { loadBalancers } = cloud;
      if (loadBalancers === undefined) throw new Error("Hetzner has load balancers.");
      return { ...cloud, loadBalancers: { ...loadBalancers, ...members(loadBalancers, cloud) } } as never;
    },
  });
  return { ...harness, definition };
}

const lies: readonly [string, Harness, string][] = [
  [
    "waits for handles",
    withMembers(({ plan }) => ({
      plan: (desired, observed, prefetched) =>
        desired?.targets.some(({ machine }) => machine?.handles === undefined) === true
          ? waitFor("a listing")
          : plan(desired, observed, prefetched),
    })),
    "Phase 0 does not end without handles",
  ],
  [
    "reaches no Node without handles",
    withMembers(() => ({
      reaches:
        () =>
        ({ machine }) =>
          machine?.handles !== undefined || "not listed",
    })),
    "Phase 0 ends in a different state without handles",
  ],
  [
    "lists instances itself",
    withMembers(({ prefetch }, { instances }) => ({
      prefetch: async (key, call) => {
        for (const source of instances?.sources ?? []) await collect(source.list(call));
        return prefetch?.(key, call);
      },
    })),
    "Phase 0 lists instances: GET http",
  ],
];

test.each(lies)("finds a provider that declares to need no handles, and %s [F75]", async (_, liar, found) => {
  expect((await deviationsWithoutHandles(liar)).join()).toStartWith(found);
});

test("finds nothing in a provider that needs no handles [F75]", async () => {
  expect(await deviationsWithoutHandles(harness)).toEqual([]);
});
