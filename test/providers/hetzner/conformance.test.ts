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
loadBalancersConformance("hetzner, shared", harness, { name: "shared", shared: "cluster" });
routesConformance("hetzner", harness);
volumesConformance("hetzner", harness);
