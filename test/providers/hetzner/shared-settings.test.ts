// The settings of a whole load balancer: which Service may change them, and which problem it reports otherwise.

import { describe, expect, test } from "bun:test";
import { shareOf } from "../../../providers/hetzner/sharing.ts";

const label = (port: number, name: string) => [
  `${port}.default.c.fairlead.dev/${name}`,
  `uid-${name}_namespace`,
];

/** The share that `web` gets of an lb11 load balancer with other Services that have these settings. */
function shareWith(
  wanted: object,
  others: Readonly<Record<string, object | undefined>>,
  services: readonly object[] = [],
) {
  const names = Object.keys(others);
  const balancer = {
    id: 7,
    name: "edge",
    labels: Object.fromEntries(["web", ...names].map((name, index) => label(80 + index, name))),
    public_net: { enabled: true, ipv4: {}, ipv6: {} },
    private_net: [],
    load_balancer_type: { name: "lb11", max_targets: 25, max_services: 5 },
    algorithm: {},
    services,
    targets: [],
  };
  const sharers = new Map(
    names.map((name) => {
      const settings = others[name];
      return [`uid-${name}`, settings && { targets: [], settings }];
    }),
  );
  const owner = { uid: "uid-web", namespace: "default", name: "web" };
  const requested = { owner, ports: [], targets: [], settings: { shared: "namespace", ...wanted }, sharers };
  const share = shareOf(requested as never, balancer as never, { cluster: "c", operator: {} as never });
  const { settings } = (share as { readonly desired: typeof requested } | undefined)?.desired ?? requested;
  return {
    type: (settings as { readonly type?: string }).type,
    problems: (share?.problems ?? []).map(({ text }) => text),
  };
}

describe("A setting of the whole load balancer", () => {
  const lb11 = { type: "lb11" };
  const lb21 = { type: "lb21" };

  test.each([
    ["it is the current value", lb11, { blog: { type: "lb31" } }],
    ["the Service does not request it", {}, { blog: lb11 }],
    ["all Services request it", lb21, { blog: lb21, shop: lb21 }],
    ["the current value is not known", { "algorithm-type": "least_connections" }, { blog: lb11 }],
  ] as const)("is the Service's value without a problem if %s [F38]", (_, wanted, others) => {
    expect(shareWith(wanted, others)).toEqual({ type: (wanted as { type?: string }).type, problems: [] });
  });

  test.each([
    ["has a different value", { blog: lb11, shop: lb21 }, "default/blog"],
    ["does not set it", { shop: {} }, "default/shop"],
    ["is not known", { blog: undefined }, "default/blog"],
  ] as const)("stays, with one problem, while another Service %s [F38]", (_, others, whose) => {
    const { type, problems } = shareWith(lb21, others);
    expect([type, problems.length]).toEqual(["lb11", 1]);
    expect(problems[0]).toContain(
      `has type "lb11", and the Service needs "lb21", which ${whose} does not request`,
    );
  });

  test("stays while another program uses the load balancer [F108]", () => {
    const { type, problems } = shareWith(lb21, {}, [{ listen_port: 6443, destination_port: 6443 }]);
    expect([type, problems.length]).toEqual(["lb11", 1]);
    expect(problems[0]).toContain("and something other than a Service uses it");
  });
});
