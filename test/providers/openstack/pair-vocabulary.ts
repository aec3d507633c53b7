// The values from which specifications of Services on OpenStack are drawn.

import { annotations, internal, prefix } from "../../../providers/openstack/annotations.ts";
import type { PairCloud } from "../../support/service-pairs/oracle.ts";
import type { Specification } from "../../support/service-pairs/specification.ts";

const isInternal = ({ annotations: own }: Specification): boolean => own[internal] === "true";
const ofFloatingIP = [
  ...["floating-network-id", "floating-subnet-id", "floating-subnet", "floating-subnet-tags"],
  ...["class", "spec address"],
];

/** An address of the first external subnet. */
export const requested = "198.18.0.77";
const placed =
  "Octavia keeps the network, and members the subnet of their last change, as with the Go manager";

/** The ids of objects that annotations name. */
export interface NamedObjects {
  /** The external network, and its two subnets. */
  readonly network: string;
  readonly floating: readonly string[];
  /** Two networks, each with one subnet. */
  readonly networks: readonly string[];
  readonly subnets: readonly string[];
  readonly port: string;
}

export const vocabulary = ({ network, floating, networks, subnets, port }: NamedObjects) =>
  ({
    prefix,
    fields: annotations,
    values: {
      class: ["gold", "silver"],
      "floating-network-id": [network],
      "floating-subnet-id": floating,
      "floating-subnet": ["public-1", "public-2", "~.*-2"],
      "floating-subnet-tags": ["fast", "!fast"],
      "network-id": networks,
      "subnet-id": subnets,
      "member-subnet-id": subnets,
      "port-id": [port],
      "connection-limit": ["-1", "100", "2000"],
      "health-monitor-delay": ["5", "10"],
      "health-monitor-timeout": ["2", "3"],
      "flavor-id": ["small", "large"],
      "availability-zone": ["az-1", "az-2"],
      "default-tls-container-ref": ["https://barbican.example/first", "https://barbican.example/second"],
      "node-selector": ["pool=web", "pool!=web"],
      hostname: ["lb.example.com", "www.example.com"],
    },
    needs: { "health-monitor-delay": ["enable-health-monitor"] },
    left: { "load-balancer-id": "the id of a load balancer, which others may have" },
    parts: { "spec address": [{ loadBalancerIP: requested }] },
    // A load balancer that becomes public gets its floating IP at that time.
    atCreation: (before: Specification, next: Specification) => [
      "spec families",
      ...(isInternal(before) && !isInternal(next) ? [] : ofFloatingIP),
    ],
    incomparable: {
      "An internal load balancer keeps its virtual IP when spec.loadBalancerIP names a different address.": (
        before: Specification,
        next: Specification,
      ) => isInternal(next) && !isInternal(before) && "spec address" in next.parts,
    },
    constant: {
      "network-id": placed,
      "subnet-id": placed,
      "member-subnet-id": placed,
      "keep-floatingip": "it decides what stays without a load balancer",
    },
  }) satisfies Partial<PairCloud<unknown>>;
