// A simulated account of AWS in one region: EC2, the security token service, and the instance metadata service of one machine.
//
//   const cloud = new AwsCloud({ clock });
//   cloud.account.add("ip-10-0-0-4.us-west-2.compute.internal", { tags: { "kubernetes.io/cluster/prod": "owned" } });
//   cloud.account.instances.change("i-…", { state: "stopped" }); cloud.account.terminate("i-…");
//   cloud.account.instances.lag = seconds(5);                   // listings show an older state
//   cloud.keys.set("AKID", { secret: "…" });                     // from then on, signatures are checked
//   cloud.account.self = "i-…";                                  // the metadata service answers for this machine
//   cloud.faults.add({ kind: "status", operation: "ec2:DescribeInstances", status: 503, code: "RequestLimitExceeded" });
//   cloud.counts(); cloud.mutations; cloud.seen; cloud.forget(); // what was requested
//
// Simplified: one VPC with a subnet in each of three zones, no quotas but those of routes and of rules, no rate limit, and texts of errors
// that are examples.

export { AwsCloud, type AwsOptions } from "./aws-cloud.ts";
export { region, zones } from "./state/account.ts";
export type { Instance, NewInstance } from "./state/resources.ts";
