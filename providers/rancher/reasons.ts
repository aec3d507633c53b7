// The reasons of problems that only Rancher has.

import { declareReasons } from "#ccm";

export const reasons = declareReasons({
  HostAgentDisconnected:
    "Rancher has lost the connection to the agent of the host. The Node stays. Start the agent, or remove the host from Rancher.",
  LoadBalancerFailed:
    "Rancher reports an error of the load balancer, such as a host port that is in use. Correct it; Fairlead continues then.",
});
