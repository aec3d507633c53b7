// Hetzner passes the conformance suites.

import {
  instancesConformance,
  loadBalancersConformance,
  routesConformance,
  volumesConformance,
} from "#ccm/testing";
import { harness } from "../../../providers/hetzner/simulator/harness.ts";

instancesConformance("hetzner", harness);
loadBalancersConformance("hetzner", harness);
const sharing = { name: "shared", shared: "cluster", "use-private-ip": "true" };
loadBalancersConformance("hetzner, shared", harness, sharing);
routesConformance("hetzner", harness);
volumesConformance("hetzner", harness);
