// The reasons of problems that only Hetzner has. Those of the Go manager have its names.

import { declareReasons } from "#ccm";

export const reasons = declareReasons({
  CertificateIssuanceFailed:
    "Hetzner could not issue the managed certificate. Check that the domains use Hetzner's DNS, then delete the certificate.",
  InternalIPNotConfigured:
    "The private network is requested, and a dedicated server has no InternalIP. It is reached by its public address, or is no target if Robot has no credentials. Start its kubelet with --node-ip.",
  LoadBalancerProtected:
    "Deletion protection is on, so the load balancer stays, without an owner. Delete it in the console if it is not needed.",
  LoadBalancerTypeDeprecated: "The type of the load balancer is deprecated. Choose another one.",
  LoadBalancerTypeUnconfigured:
    "No type is set, so lb11 is used. Set it by annotation or environment variable.",
  LocationMissing:
    "Neither a location nor a network zone is set. Set one by annotation or environment variable.",
  RobotAddressUnknown:
    "Robot has not answered, so the public address of a dedicated server is unknown. It is added as a target when Robot answers.",
});
