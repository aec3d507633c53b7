// DigitalOcean passes the conformance suites.

import {
  handlesConformance,
  instancesConformance,
  loadBalancersConformance,
  volumesConformance,
} from "#ccm/testing";
import { harness } from "../../../providers/digitalocean/simulator/harness.ts";

instancesConformance("digitalocean", harness);
loadBalancersConformance("digitalocean", harness);
const regional = { ...harness, config: { ...harness.config, "default-lb-type": "REGIONAL" } };
handlesConformance("digitalocean [F75]", regional);
volumesConformance("digitalocean", harness);
