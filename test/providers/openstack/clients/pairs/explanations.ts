// Documented differences between the Go manager of OpenStack and Fairlead, and what a load balancer keeps from its history.

import { keyOf } from "../../../../../providers/openstack/annotations.ts";
import type { Explanation } from "../../../../clients/pairs/compare.ts";
import { goHistory, histories, managers, saying } from "../../../../clients/pairs/explaining.ts";
import type { Pair } from "../../../../support/service-pairs/draw.ts";

const uses = ({ first, second }: Pair, name: Parameters<typeof keyOf>[0], value: RegExp): boolean =>
  [first, second].some(({ annotations }) => value.test(annotations[keyOf(name)] ?? ""));

const usesDatagrams = ({ first, second }: Pair): boolean =>
  /"(UDP|SCTP)"/.test(JSON.stringify([first, second]));

/** Rows of docs/clouds/openstack.md, D rows of docs/differences.md, and what stays there. */
export const explanations: readonly Explanation[] = [
  {
    row: "`sessionAffinity` changes",
    in: goHistory,
    at: /\.pool\.session_persistence/,
  },
  {
    row: "the protocol of a listener changes",
    in: goHistory,
    at: /^refused$/,
    when: saying(/Another Listener on this Load Balancer/),
  },
  {
    row: "`network-id` without a subnet, and `manage-security-groups`",
    in: goHistory,
    at: /^refused$/,
    when: saying(/failed to find subnet {2}from openstack/),
  },
  {
    row: "ranges of clients of the other family",
    in: managers,
    at: /\.allowed_cidrs\[\]$/,
    when: ({ expected, found }) => expected?.includes(":") === true && found === undefined,
  },
  {
    row: "`node-selector` with `!=`",
    in: [...managers, ...histories],
    at: /\.pool\.members\.|groups\.own\.nodes\[\]$/,
    when: (_, pair) => uses(pair, "node-selector", /!=/),
  },
  {
    row: "TLS, `x-forwarded-for` and `proxy-protocol` with a UDP or SCTP port",
    in: [...managers, "history of the Go manager"],
    at: /\.listeners\.(TCP|UDP|SCTP) (53|132)(\.|$)|\.unused\[\]$/,
    when: (_, pair) =>
      usesDatagrams(pair) &&
      (["default-tls-container-ref", "x-forwarded-for", "proxy-protocol"] as const).some((name) =>
        uses(pair, name, /./),
      ),
  },
  {
    row: "the type of a Service changes to `NodePort`",
    in: goHistory,
    at: /^service\.annotations\.loadbalancer\.openstack\.org\/load-balancer-(id|address)$/,
    when: ({ comparison, expected, found }, { second }) =>
      "spec type" in second.parts && (comparison === "changed" ? found : expected) === undefined,
  },
  {
    row: "the security group on ports of former members",
    in: histories,
    at: /^cloud\.groups\.own\.nodes\[\]$/,
  },
];
