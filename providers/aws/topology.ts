// The labels of Nodes that state the position of their instance in AWS's network.

import { type Call, CloudError, errorProblem, inBatches, type ProviderProblem, warningProblem } from "#ccm";
import type { Ec2Api } from "./api/ec2.ts";
import type { ApiInstance, ApiZone } from "./api/resources.ts";

const prefix = "topology.k8s.aws/";
const layer = `${prefix}network-node-layer-`;

/** The largest number of ids in a request. */
const maxIDs = 100;

/** The zones of the region by name. They never change, but an account gets more zones when it opts in to them. */
export class Zones {
  readonly #ec2: Ec2Api;
  #known: ReadonlyMap<string, ApiZone> = new Map();

  constructor(ec2: Ec2Api) {
    this.#ec2 = ec2;
  }

  /** Returns the zones with these names, without names that do not exist. */
  async with(names: readonly string[], call: Call): Promise<ReadonlyMap<string, ApiZone>> {
    if (this.#known.size === 0 || names.some((zone) => !this.#known.has(zone))) {
      const all = await this.#ec2.describeAvailabilityZones({}, call);
      const missing = names.map((zoneName) => ({ zoneName }));
      this.#known = new Map([...missing, ...all].map((zone) => [zone.zoneName, zone]));
    }
    return this.#known;
  }
}

export function zoneLabels(id: string | null | undefined): Readonly<Record<string, string>> {
  return id ? { [`${prefix}zone-id`]: id } : {};
}

/** The labels of an instance, or why it has none. */
export interface Topology {
  readonly labels?: Readonly<Record<string, string>>;
  readonly problem?: ProviderProblem;
}

function problemOf(error: CloudError): ProviderProblem {
  const { code } = error.detail;
  const what = `The position in AWS's network is not known, so the Node gets no labels ${layer}1 and following: ${error.message}`;
  if (code === "UnsupportedOperation" || error.kind === "forbidden")
    return warningProblem("IncompleteInstance", what);
  return errorProblem("IncompleteInstance", `${what} A joining Node stays uninitialized until it is known.`);
}

/** Only for instances whose type matches: other types have no topology position, or no relevant one. */
export async function topologiesOf(
  ec2: Ec2Api,
  instances: readonly ApiInstance[],
  pattern: RegExp,
  call: Call,
): Promise<ReadonlyMap<string, Topology>> {
  const ids = instances
    .filter(
      ({ instanceType, instanceState }) =>
        pattern.test(instanceType ?? "") && instanceState?.name === "running",
    )
    .map(({ instanceId }) => instanceId);
  const found = new Map<string, Topology>();
  for (const InstanceId of inBatches(ids, maxIDs)) {
    try {
      for (const { instanceId, networkNodeSet } of await ec2.describeInstanceTopology({ InstanceId }, call)) {
        const nodes = (networkNodeSet ?? []).map((node, index) => [`${layer}${index + 1}`, node]);
        found.set(instanceId, { labels: Object.fromEntries(nodes) });
      }
    } catch (error) {
      if (!CloudError.is(error) || error.kind === "unauthorized") throw error;
      const problem = problemOf(error);
      for (const id of InstanceId) found.set(id, { problem });
    }
  }
  return found;
}
