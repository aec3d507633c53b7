// Every AWS API action that Fairlead calls, and its purpose. Requests can name no other action, and the IAM policy lists exactly these.

/** The features that need an action. */
export type Purpose = "nodes" | "routes" | "tagging" | "load-balancers" | "volumes";

type Actions = Readonly<Record<string, readonly [Purpose, ...Purpose[]]>>;

export const ec2Actions = {
  DescribeInstances: ["nodes", "routes", "volumes"],
  DescribeAvailabilityZones: ["nodes", "load-balancers", "volumes"],
  DescribeInstanceTopology: ["nodes"],
  DescribeRouteTables: ["routes", "load-balancers"],
  CreateRoute: ["routes"],
  DeleteRoute: ["routes"],
  ModifyInstanceAttribute: ["routes"],
  CreateTags: ["tagging", "load-balancers", "volumes"],
  DeleteTags: ["tagging"],
  DescribeSubnets: ["load-balancers"],
  DescribeSecurityGroups: ["load-balancers"],
  CreateSecurityGroup: ["load-balancers"],
  DeleteSecurityGroup: ["load-balancers"],
  AuthorizeSecurityGroupIngress: ["load-balancers"],
  RevokeSecurityGroupIngress: ["load-balancers"],
  DescribeVolumes: ["volumes"],
  DescribeVolumesModifications: ["volumes"],
  CreateVolume: ["volumes"],
  DeleteVolume: ["volumes"],
  AttachVolume: ["volumes"],
  DetachVolume: ["volumes"],
  ModifyVolume: ["volumes"],
  DescribeSnapshots: ["volumes"],
  CreateSnapshot: ["volumes"],
  DeleteSnapshot: ["volumes"],
} as const satisfies Actions;

/**
 * Permissions that Elastic Load Balancing requires of callers that create load balancers or register targets, according to its
 * documentation.
 */
export const impliedActions = [
  "ec2:DescribeAccountAttributes",
  "ec2:DescribeAddresses",
  "ec2:DescribeInternetGateways",
  "ec2:DescribeVpcs",
] as const;

/** Object.fromEntries does not keep the names in its type. */
const forBalancers = <A extends string>(actions: readonly A[]) =>
  Object.fromEntries(actions.map((action) => [action, ["load-balancers"]])) as unknown as Readonly<
    Record<A, readonly ["load-balancers"]>
  >;

export const elbActions = forBalancers([
  ...["DescribeLoadBalancers", "CreateLoadBalancer", "DeleteLoadBalancer", "DescribeTags", "AddTags"],
  ...["CreateLoadBalancerListeners", "DeleteLoadBalancerListeners", "CreateLoadBalancerPolicy"],
  ...["SetLoadBalancerPoliciesForBackendServer", "SetLoadBalancerPoliciesOfListener"],
  ...["AttachLoadBalancerToSubnets", "DetachLoadBalancerFromSubnets", "ApplySecurityGroupsToLoadBalancer"],
  ...["ConfigureHealthCheck", "DescribeLoadBalancerAttributes", "ModifyLoadBalancerAttributes"],
  ...["RegisterInstancesWithLoadBalancer", "DeregisterInstancesFromLoadBalancer", "DescribeInstanceHealth"],
] as const);

export const elbv2Actions = forBalancers([
  ...["DescribeLoadBalancers", "CreateLoadBalancer", "DeleteLoadBalancer", "DescribeTags", "AddTags"],
  ...["DescribeLoadBalancerAttributes", "ModifyLoadBalancerAttributes", "SetSecurityGroups"],
  ...["DescribeListeners", "CreateListener", "ModifyListener", "DeleteListener"],
  ...["DescribeTargetGroups", "CreateTargetGroup", "ModifyTargetGroup", "DeleteTargetGroup"],
  ...["DescribeTargetGroupAttributes", "ModifyTargetGroupAttributes"],
  ...["DescribeTargetHealth", "RegisterTargets", "DeregisterTargets"],
] as const);
