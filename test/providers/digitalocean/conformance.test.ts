// DigitalOcean passes the conformance suites.

import { instancesConformance, loadBalancersConformance, volumesConformance } from "#ccm/testing";
import { harness } from "../../../providers/digitalocean/simulator/harness.ts";

instancesConformance("digitalocean", harness);
loadBalancersConformance("digitalocean", harness);
volumesConformance("digitalocean", harness);
