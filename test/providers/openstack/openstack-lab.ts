// The provider on a simulated project that a test has prepared, without a manager.

import { asTransport, type Clock, type Harness, Lab } from "#ccm/testing";
import { config, harness, secret } from "../../../providers/openstack/simulator/harness.ts";
import { OpenStackCloud, type OpenStackOptions } from "../../../providers/openstack/simulator/index.ts";

/** A cloud beside another one, with the same Keystone: by default in the region RegionTwo. */
export function besideCloud(
  first: OpenStackCloud,
  clock: Clock,
  { region = "RegionTwo", ...options }: { region?: string; project?: string; pageSize?: number } = {},
) {
  const origin = `http://services-${first.keystone.others.length}.example`;
  first.keystone.others.push({ region, origin, ...options });
  const cloud = new OpenStackCloud({ clock, keystone: first.keystone, ...options });
  const [near, far] = [asTransport(first), asTransport(cloud)];
  const transport: typeof near = (request, signal) =>
    (request.url.startsWith(origin) ? far : near)(request, signal);
  return { cloud, transport };
}

export interface LabOptions extends Partial<Omit<OpenStackOptions, "clock">> {
  /** Added to the settings of the harness; undefined removes a setting. */
  readonly settings?: Readonly<Record<string, string | undefined>>;
  readonly inputs?: Harness["inputs"];
  /** Adds another cloud, and returns the transport to both. */
  readonly beside?: (cloud: OpenStackCloud, clock: Clock) => ReturnType<typeof asTransport>;
}

export function labWith(
  { settings = {}, inputs, beside, ...options }: LabOptions,
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
      return { ...harness.simulate(clock), transport: beside?.(cloud, clock) ?? asTransport(cloud) };
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
