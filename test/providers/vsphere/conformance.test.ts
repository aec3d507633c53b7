// vSphere passes the conformance suite of instances.

import { instancesConformance } from "#ccm/testing";
import { harness } from "../../../providers/vsphere/simulator/harness.ts";

instancesConformance("vsphere", harness);
