// Documented differences between the Go manager of AWS and Fairlead, and what a load balancer keeps from its history.

import type { Explanation } from "../../../../clients/pairs/compare.ts";
import { goHistory, histories, managers, saying } from "../../../../clients/pairs/explaining.ts";

const stays = [...histories, "changed"] as const;

/** Rows of docs/clouds/aws.md, D rows of docs/differences.md, and what stays there. */
export const explanations: readonly Explanation[] = [
  {
    row: "`healthcheck-timeout` of a network load balancer",
    in: [...managers, ...histories],
    at: /\.targetGroup\.timeout$/,
  },
  {
    row: "only `healthcheck-unhealthy-threshold` of a network load balancer changes",
    in: goHistory,
    at: /\.targetGroup\.UnhealthyThresholdCount$/,
  },
  {
    row: "`additional-resource-tags` of an existing network load balancer",
    in: goHistory,
    at: /^cloud\.network\.tags\./,
  },
  { row: "TCP and UDP in one Service", in: managers, at: /^refused$/, when: saying(/mixed protocol/) },
  {
    row: "IPv6 ranges of clients",
    in: managers,
    at: /^refused$/,
    when: saying(/invalid CIDR subnet specification/),
  },
  {
    row: "`healthcheck-protocol` of a classic load balancer in lower case",
    in: managers,
    at: /^refused$/,
    when: saying(/HealthCheck Target must begin with one of/),
  },
  {
    row: "`access-log-enabled` without a bucket",
    in: managers,
    at: /^refused$/,
    when: saying(/access-log-s3-bucket-name is required/),
  },
  // Session affinity, and annotations of the other kind of load balancer.
  {
    row: "D105",
    in: managers,
    at: /^refused$/,
    when: saying(/unsupported load balancer affinity|is not supported by NLB|only supported for NLB/),
  },
  {
    row: "a changed listener protocol",
    in: goHistory,
    at: /^refused$/,
    when: saying(/DuplicateTargetGroupName/),
  },
  {
    row: "health check rules that are redundant with rules for all clients",
    in: goHistory,
    at: /^cloud\.nodeRules\[\]$/,
    when: saying(/rule\/nlb\/health=/),
  },
  {
    row: "TLS with a security group for the network load balancer",
    in: managers,
    at: /^cloud\.groups\.managed\.rules\[\]$/,
    when: saying(/"(tls|tcp) /),
  },
  // Without NLBSecurityGroupMode, the Go manager gives it none, and Fairlead keeps those of its creation.
  {
    row: "`security-groups` for a network load balancer",
    in: [...managers, "history of Fairlead"],
    at: /^cloud\.network\.SecurityGroups$/,
  },
  {
    row: "`ssl-negotiation-policy` of a classic load balancer without TLS",
    in: managers,
    at: /^cloud\.classic\.policies\.OtherPolicies/,
  },
  // The subnets of the existing load balancer stay.
  {
    row: "D46",
    in: goHistory,
    at: /^refused$/,
    when: saying(/InvalidSubnetID\.NotFound/),
  },
  {
    row: "the rules for security groups that the Service no longer",
    in: histories,
    at: /^cloud\.nodeRules\[\]$/,
    when: saying(/"-1 - group\(/),
  },
  { row: "AWS: tags;", in: histories, at: /(^cloud|\.targetGroup)\.[^[]*tags(\.|\[)/ },
  {
    row: "the TLS policy of an unchanged",
    in: histories,
    at: /(^cloud\.classic\.(policies|listeners\.\d+\.PolicyNames)|\.SslPolicy$)/,
  },
  // AWS and moto differ in what stays when the Go manager writes unchanged attributes again.
  {
    row: "timeout, bucket and prefix of draining and access logs",
    in: stays,
    at: /\.attributes\.(ConnectionDraining\.Timeout|AccessLog\.|access_logs\.s3\.(bucket|prefix))/,
  },
  { row: "target group attributes", in: histories, at: /\.targetGroup\.attributes\./ },
];
