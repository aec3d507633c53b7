// Cleans up: connects to the cloud and, if it can be reached, to the API server. Until `remove` is called, the transports refuse every
// change.

import { readClusterCIDRs } from "../../controllers/route/desired/cluster-cidrs.ts";
import { minutes } from "../../core/brand.ts";
import type { AnyCloud } from "../../provider/provider.ts";
import { newLeader } from "../leadership/read-leases.ts";
import type { Operator } from "../operator.ts";
import type { ClusterState } from "./cluster-state.ts";
import { LeftoverRemoval, type Removal } from "./delete-leftovers.ts";
import { type Survey, takeSurvey } from "./left-objects.ts";
import { addressesOf, type Leftover, type Selection, whyKept } from "./leftovers.ts";
import { OperatorAccess } from "./operator-access.ts";

export interface ClusterSurvey extends Survey {
  readonly cluster: ClusterState;
}

export class Cleanup {
  readonly #operator: Operator;
  readonly #selection: Selection;
  readonly #access: OperatorAccess;

  constructor(operator: Operator, selection: Selection) {
    this.#operator = operator;
    this.#selection = selection;
    this.#access = new OperatorAccess(operator);
  }

  /** Changes nothing. */
  async survey(): Promise<ClusterSurvey> {
    return this.#survey(this.#access.cloud("read"), await this.#access.cluster());
  }

  /** The replica that leads; undefined if none does. */
  async leader({ cluster }: ClusterSurvey): Promise<string | undefined> {
    return this.#access.leader(cluster);
  }

  /** Deletes what was listed and confirmed. Ends with an error if a manager begins to lead. */
  async remove(
    confirmed: readonly Leftover[],
    { cluster: before }: ClusterSurvey,
    progress: (text: string) => void,
  ): Promise<Removal> {
    const { provider, settings, platform } = this.#operator;
    const selection = this.#selection;
    const cloud = this.#access.cloud("change");
    const recheck = async (): Promise<ClusterState> => {
      const cluster = await this.#access.cluster();
      assertUnchanged(before, cluster);
      return cluster;
    };
    const removal = new LeftoverRemoval(
      {
        cloud,
        clock: platform.clock,
        timeout: settings.flags.timeout ?? minutes(10),
        progress,
        survey: async () => this.#survey(cloud, await recheck()),
        recheck,
        mayDelete: (balancer, cluster) => {
          const { loadBalancers } = cloud;
          if (balancer.ownership !== "ours" || loadBalancers === undefined) return false;
          const addresses = addressesOf(provider, loadBalancers, balancer);
          const marksNameCluster = loadBalancers.marksNameCluster !== false;
          return whyKept({ balancer, addresses, marksNameCluster }, cluster, selection) === undefined;
        },
      },
      confirmed,
    );
    return removal.run(this.#access.call);
  }

  async #survey(cloud: AnyCloud, cluster: ClusterState): Promise<ClusterSurvey> {
    const { provider, settings, platform } = this.#operator;
    const selection = this.#selection;
    const { flags } = settings;
    const ranges = readClusterCIDRs(flags["cluster-cidr"]);
    const isWithRoutes = flags["configure-cloud-routes"] && ranges.kind === "run";
    const clusterCIDRs = isWithRoutes ? ranges.cidrs : [];
    const clusterName = flags["cluster-name"];
    const options = { provider, clusterName, cloud, cluster, selection, clusterCIDRs, clock: platform.clock };
    return { ...(await takeSurvey(options, this.#access.call)), cluster };
  }
}

/** Throws if a manager has begun to lead, or if the API server answers only now, or no longer. */
function assertUnchanged(before: ClusterState, now: ClusterState): void {
  if (before.kind !== now.kind) {
    const what = now.kind === "read" ? "answers now" : `does not answer any more (${now.why})`;
    throw new Error(`The API server ${what}, so cleanup stopped. Run it again to see what is left.`);
  }
  if (before.kind !== "read" || now.kind !== "read") return;
  if (before.uid !== now.uid)
    throw new Error(
      `The API server at ${now.origin} is now that of another cluster (uid ${now.uid ?? "unknown"}, before ${before.uid ?? "unknown"}), so cleanup stopped.`,
    );
  const leader = newLeader(before.lease, now.lease);
  if (leader !== undefined)
    throw new Error(
      `The manager ${leader} has begun to lead, so cleanup stopped. Stop the manager, and run cleanup again.`,
    );
}
