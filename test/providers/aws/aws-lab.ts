// The provider on a simulated account that a test has prepared, without a manager.

import { asTransport, type Harness, Lab } from "#ccm/testing";
import { clusterCloud, clusterID, config, harness } from "../../../providers/aws/simulator/harness.ts";
import type { AwsCloud, AwsOptions } from "../../../providers/aws/simulator/index.ts";
import { Secret } from "../../../src/core/secret.ts";

export const owned = { [`kubernetes.io/cluster/${clusterID}`]: "owned" };

export interface LabOptions extends Partial<Omit<AwsOptions, "clock">> {
  /** Added to the settings of the harness; undefined removes a setting. */
  readonly settings?: Readonly<Record<string, string | undefined>>;
  /** The contents of files by path. */
  readonly files?: Readonly<Record<string, string>>;
}

export function labWith(
  { settings = {}, files = {}, ...options }: LabOptions = {},
  setUp: (cloud: AwsCloud) => void = () => undefined,
): { readonly lab: Lab; readonly cloud: AwsCloud } {
  let cloud: AwsCloud | undefined;
  const all = Object.entries({ ...config, ...settings });
  const inputs: Harness["inputs"] = {
    file: (path) => (files[path] === undefined ? undefined : new Secret(files[path])),
  };
  const lab = new Lab({
    ...harness,
    inputs,
    config: Object.fromEntries(all.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))),
    simulate: (clock) => {
      cloud = clusterCloud({ clock, ...options });
      setUp(cloud);
      return { ...harness.simulate(clock), transport: asTransport(cloud) };
    },
  });
  if (cloud === undefined) throw new Error("Expected a cloud.");
  return { lab, cloud };
}

export function sourceOf(lab: Lab) {
  const source = lab.cloud.instances?.sources[0];
  if (source === undefined) throw new Error("Expected a source.");
  return source;
}

export async function instancesOf(lab: Lab) {
  return lab.list((call) => sourceOf(lab).list(call));
}
