import {
  handlesConformance,
  instancesConformance,
  loadBalancersConformance,
  routesConformance,
  volumesConformance,
} from "#ccm/testing";
import { config, harness } from "../../../providers/aws/simulator/harness.ts";
import { runsAllTests } from "../../../src/testing/breadth.ts";

instancesConformance("aws", { ...harness, config: { ...config, tags: "team=a", resources: "instance" } });
routesConformance("aws", harness);
volumesConformance("aws", harness);
loadBalancersConformance("aws, classic", harness);
// Load balancers with security groups pass the same suite, and have more tests.
if (runsAllTests) loadBalancersConformance("aws, network", harness, { type: "nlb" });
loadBalancersConformance(
  "aws, network with security groups",
  { ...harness, config: { ...config, "nlb-security-group-mode": "Managed" } },
  { type: "nlb" },
);
const withoutRules = { ...harness, config: { ...config, "disable-security-group-ingress": "true" } };
handlesConformance("aws, classic [F75]", withoutRules);
handlesConformance("aws, network [F75]", withoutRules, { type: "nlb" });
