// The reasons of problems that only Rancher has.

import { declareReasons } from "#ccm";

export const reasons = declareReasons({
  HostAgentDisconnected:
    "Rancher has lost the connection to the agent of the host. The Node stays. Start the agent, or remove the host from Rancher.",
  InvalidHostLabel:
    "A label of the host is not valid for a Node. The Node does not get it. Correct it in Rancher, or remove it from node-labels.",
  LoadBalancerFailed:
    "Rancher reports an error of the load balancer, such as a host port that is in use. Correct it; Fairlead continues then.",
});
