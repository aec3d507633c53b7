import { instancesConformance, loadBalancersConformance, routesConformance } from "#ccm/testing";
import { harness } from "../../../providers/openstack/simulator/harness.ts";

instancesConformance("openstack", harness);
loadBalancersConformance("openstack", harness);
routesConformance("openstack", harness);
