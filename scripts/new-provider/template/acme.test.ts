// Runs the conformance suites for Acme against its simulated cloud. Add tests of the special features of this cloud below.

import { instancesConformance, loadBalancersConformance, routesConformance } from "#ccm/testing";
import { harness } from "./provider/simulator/harness.ts";

instancesConformance("acme", harness);
loadBalancersConformance("acme", harness);
routesConformance("acme", harness);
