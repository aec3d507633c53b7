// The values from which specifications of Services on AWS are drawn.

import { annotations, prefix } from "../../../providers/aws/load-balancers/annotations.ts";
import type { PairCloud } from "../../support/service-pairs/oracle.ts";

const arn = (name: string) => `arn:aws:acm:us-west-2:123456789012:certificate/${name}`;

/** The ids of objects that annotations name. */
export interface NamedObjects {
  /** Two security groups. */
  readonly groups: readonly string[];
  /** Three subnets. */
  readonly subnets: readonly string[];
}

export const vocabulary = ({ groups, subnets }: NamedObjects) =>
  ({
    prefix,
    fields: annotations,
    values: {
      type: ["nlb"],
      internal: ["true"],
      subnets: [subnets.slice(0, 2).join(), subnets.slice(1).join(), "subnet-missing"],
      "ssl-cert": [arn("first"), arn("second")],
      "ssl-ports": ["443", "tcp-443", "*"],
      "ssl-negotiation-policy": ["ELBSecurityPolicy-TLS13-1-2-2021-06", "ELBSecurityPolicy-2016-08"],
      "access-log-s3-bucket-name": ["logs", "others"],
      "access-log-s3-bucket-prefix": ["web", "shop"],
      "security-groups": [groups.slice(0, 1).join(), groups.join()],
      "extra-security-groups": [groups.slice(0, 1).join(), groups.slice(1).join()],
      "additional-resource-tags": ["team=web", "team=shop,cost=1", "cost=2"],
      "healthcheck-port": ["traffic-port", "80", "31000"],
      "healthcheck-path": ["/ready", "/healthz"],
      "healthcheck-timeout": ["3", "7"],
      "healthcheck-interval": ["10", "30", "60"],
      "eip-allocations": ["eipalloc-1,eipalloc-2,eipalloc-3"],
      "private-ipv4-addresses": ["10.0.0.9,10.0.64.9,10.0.128.9"],
      "target-group-attributes": [
        "preserve_client_ip.enabled=false",
        "preserve_client_ip.enabled=true,proxy_protocol_v2.enabled=true",
        "proxy_protocol_v2.enabled=true",
      ],
      "target-node-labels": ["pool=web", "pool="],
    },
    needs: {
      "access-log-enabled": ["access-log-s3-bucket-name"],
      "ssl-ports": ["ssl-cert"],
      "ssl-negotiation-policy": ["ssl-cert"],
      "backend-protocol": ["ssl-cert"],
      "healthcheck-path": ["healthcheck-protocol"],
      "private-ipv4-addresses": ["internal"],
    },
    frequent: ["type"],
    constant: { type: "the other kind of load balancer has no setting in common" },
    left: {},
    atCreation: ({ annotations: own }) => (own[`${prefix}type`] === "nlb" ? ["subnets"] : []),
  }) satisfies Partial<PairCloud<unknown>>;
