import { instancesConformance, routesConformance } from "#ccm/testing";
import { harness } from "../../../providers/aws/simulator/harness.ts";

instancesConformance("aws", harness);
routesConformance("aws", harness);
