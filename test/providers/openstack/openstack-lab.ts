// The provider on a simulated project that a test has set up, without a manager.

import { asTransport, type Harness, Lab } from "#ccm/testing";
import { config, harness, secret } from "../../../providers/openstack/simulator/harness.ts";
import { OpenStackCloud, type OpenStackOptions } from "../../../providers/openstack/simulator/index.ts";

export interface LabOptions extends Partial<Omit<OpenStackOptions, "clock">> {
  /** Added to those of the harness; undefined removes one. */
  readonly settings?: Readonly<Record<string, string | undefined>>;
  readonly inputs?: Harness["inputs"];
}

export function labWith(
  { settings = {}, inputs, ...options }: LabOptions,
  setUp: (cloud: OpenStackCloud) => void = () => undefined,
): { readonly lab: Lab; readonly cloud: OpenStackCloud } {
  let cloud: OpenStackCloud | undefined;
  const all = Object.entries({ ...config, ...settings });
  const lab = new Lab({
    ...harness,
    ...(inputs && { inputs }),
    config: Object.fromEntries(all.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))),
    simulate: (clock) => {
      cloud = new OpenStackCloud({ clock, ...options });
      cloud.keystone.applicationCredentials.set("fairlead", secret);
      setUp(cloud);
      return { ...harness.simulate(clock), transport: asTransport(cloud) };
    },
  });
  if (cloud === undefined) throw new Error("Expected a cloud.");
  return { lab, cloud };
}

export async function instancesOf(lab: Lab) {
  const source = lab.cloud.instances?.sources[0];
  if (source === undefined) throw new Error("Expected a source.");
  return lab.list((call) => source.list(call));
}
