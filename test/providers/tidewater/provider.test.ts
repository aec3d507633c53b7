// Runs the conformance suites for a provider of Tidewater that was written from the documentation alone.

import { instancesConformance, loadBalancersConformance, routesConformance } from "#ccm/testing";
import { makeHarness } from "./make-harness.ts";
import { tidewater } from "./provider/index.ts";

const harness = makeHarness({
  definition: tidewater,
  config: { key: "tide" },
  targetOf: (zone, { id, address }) => ({ source: zone, key: id, handles: { address } }),
});

instancesConformance("tidewater", harness);
loadBalancersConformance("tidewater", harness);
routesConformance("tidewater", harness);
