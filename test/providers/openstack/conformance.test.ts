import {
  instancesConformance,
  loadBalancersConformance,
  routesConformance,
  volumesConformance,
} from "#ccm/testing";
import { harness, volumesHarness } from "../../../providers/openstack/simulator/harness.ts";

instancesConformance("openstack", harness);
loadBalancersConformance("openstack", harness);
routesConformance("openstack", harness);
volumesConformance("openstack", volumesHarness);
