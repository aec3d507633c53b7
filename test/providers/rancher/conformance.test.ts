// Rancher passes the conformance suites.

import { changesConformance, instancesConformance, loadBalancersConformance } from "#ccm/testing";
import { harness } from "../../../providers/rancher/simulator/harness.ts";

instancesConformance("rancher", harness);
loadBalancersConformance("rancher", harness);
changesConformance("rancher", harness);
