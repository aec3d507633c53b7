import { instancesConformance } from "#ccm/testing";
import { harness } from "../../../providers/openstack/simulator/harness.ts";

instancesConformance("openstack", harness);
