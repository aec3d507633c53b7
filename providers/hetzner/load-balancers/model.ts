// What plans of load balancers work with: the desired and the observed load balancer, and single steps.

import type { Cidr, DesiredLoadBalancer, JsonRequest, ObservedLoadBalancer, Step, Values } from "#ccm";
import type { annotations } from "../annotations.ts";
import type { ApiCertificate, ApiLoadBalancer } from "../api/resources.ts";
import { hasRobotAccess } from "../check-settings.ts";
import type { config } from "../settings.ts";

export type Annotations = typeof annotations;
export type Desired = DesiredLoadBalancer<Annotations>;
export type Settings = Values<typeof config>;

/** The label that the Go manager puts on every load balancer and certificate: the uid of the Service. */
export const ownerLabel = "hcloud-ccm/service-uid";

export interface Observed extends ObservedLoadBalancer {
  readonly balancer: ApiLoadBalancer;
}

/** One request. */
export interface HetznerStep extends Step {
  readonly request: JsonRequest;
  /** With a request that adds a target: its Node. */
  readonly node?: string | undefined;
}

/** What plans need besides load balancers. */
export interface Prefetched {
  readonly networkID: number | undefined;
  readonly certificates: readonly ApiCertificate[];
}

/** The settings of one load balancer: its annotations, with the defaults of the operator. */
export interface Choices {
  /** Undefined if no type is chosen: then an existing load balancer keeps its type. */
  readonly type: string | undefined;
  readonly location: string | undefined;
  readonly networkZone: string | undefined;
  readonly algorithm: string | undefined;
  readonly publicInterface: boolean | undefined;
  readonly usesPrivateIP: boolean;
  readonly proxyProtocol: boolean | undefined;
  readonly privateIP: string | undefined;
  readonly subnet: Cidr | undefined;
  readonly hasPrivateIngress: boolean;
  readonly hasIPv6: boolean;
  /** The public addresses of dedicated servers can be read. */
  readonly readsRobot: boolean;
}

const notEmpty = (value: string | undefined) => (value === "" ? undefined : value);
const negated = (value: boolean | undefined) => (value === undefined ? undefined : !value);

export function choicesOf({ settings: own }: Pick<Desired, "settings">, operator: Settings): Choices {
  const location = notEmpty(own.location ?? operator["load-balancers-location"]);
  const zone = notEmpty(own["network-zone"] ?? operator["load-balancers-network-zone"]);
  return {
    type: own.type ?? operator["load-balancers-type"],
    location,
    // The location takes precedence.
    networkZone: location === undefined ? zone : undefined,
    algorithm: own["algorithm-type"] ?? operator["load-balancers-algorithm-type"],
    publicInterface: negated(
      own["disable-public-network"] ?? operator["load-balancers-disable-public-network"],
    ),
    usesPrivateIP: own["use-private-ip"] ?? operator["load-balancers-use-private-ip"],
    proxyProtocol: own["uses-proxyprotocol"] ?? operator["load-balancers-uses-proxyprotocol"],
    privateIP: own["private-ipv4"],
    subnet: own["private-subnet-ip-range"] ?? operator["load-balancers-private-subnet-ip-range"],
    hasPrivateIngress: !(
      own["disable-private-ingress"] ?? operator["load-balancers-disable-private-ingress"]
    ),
    readsRobot: hasRobotAccess(operator),
    hasIPv6: !(own["ipv6-disabled"] ?? operator["load-balancers-disable-ipv6"]),
  };
}
