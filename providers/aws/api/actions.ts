// Every action of AWS's APIs that Fairlead calls, and what needs it: requests can name no other one, and the IAM policy has these.

/** What of Fairlead needs an action. */
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

/** What creations and registrations of load balancers need of their caller besides, as Elastic Load Balancing documents it. */
export const impliedActions = [
  "ec2:DescribeAccountAttributes",
  "ec2:DescribeAddresses",
  "ec2:DescribeInternetGateways",
  "ec2:DescribeVpcs",
] as const;

const balancers = ["load-balancers"] as const;

export const elbActions = {
  DescribeLoadBalancers: balancers,
  CreateLoadBalancer: balancers,
  DeleteLoadBalancer: balancers,
  DescribeTags: balancers,
  AddTags: balancers,
  CreateLoadBalancerListeners: balancers,
  DeleteLoadBalancerListeners: balancers,
  CreateLoadBalancerPolicy: balancers,
  SetLoadBalancerPoliciesForBackendServer: balancers,
  SetLoadBalancerPoliciesOfListener: balancers,
  AttachLoadBalancerToSubnets: balancers,
  DetachLoadBalancerFromSubnets: balancers,
  ApplySecurityGroupsToLoadBalancer: balancers,
  ConfigureHealthCheck: balancers,
  DescribeLoadBalancerAttributes: balancers,
  ModifyLoadBalancerAttributes: balancers,
  RegisterInstancesWithLoadBalancer: balancers,
  DeregisterInstancesFromLoadBalancer: balancers,
} as const satisfies Actions;

export const elbv2Actions = {
  DescribeLoadBalancers: balancers,
  CreateLoadBalancer: balancers,
  DeleteLoadBalancer: balancers,
  DescribeTags: balancers,
  AddTags: balancers,
  DescribeLoadBalancerAttributes: balancers,
  ModifyLoadBalancerAttributes: balancers,
  SetSecurityGroups: balancers,
  DescribeListeners: balancers,
  CreateListener: balancers,
  ModifyListener: balancers,
  DeleteListener: balancers,
  DescribeTargetGroups: balancers,
  CreateTargetGroup: balancers,
  ModifyTargetGroup: balancers,
  DeleteTargetGroup: balancers,
  DescribeTargetGroupAttributes: balancers,
  ModifyTargetGroupAttributes: balancers,
  DescribeTargetHealth: balancers,
  RegisterTargets: balancers,
  DeregisterTargets: balancers,
} as const satisfies Actions;
