// Cleans up: connects to the cloud and, if it can be reached, to the API server. Until `remove` is called, the transports refuse every
// change.

import { readClusterCIDRs } from "../../controllers/route/desired/cluster-cidrs.ts";
import { minutes } from "../../core/brand.ts";
import type { Call } from "../../provider/call.ts";
import { ConfigurationError } from "../configuration/configuration-error.ts";
import { type AnyCloud, type AnyProvider, connectCloud } from "../connect-cloud.ts";
import { readingClient } from "../explain/explanation.ts";
import type { ReadFlags } from "../flags/read-flags.ts";
import { ReadOnlyTransports } from "../observation/observe-once.ts";
import type { ManagerPlatform } from "../system-platform.ts";
import { type ClusterState, findLeadership, newLeader, readCluster } from "./cluster-state.ts";
import { LeftoverRemoval, type Removal } from "./delete-leftovers.ts";
import { addressesOf, type Leftover, type Selection, whyKept } from "./leftovers.ts";
import { type Survey, takeSurvey } from "./survey.ts";

export interface CleanupOptions {
  readonly provider: AnyProvider;
  /** With the kubeconfig of the user. */
  readonly settings: ReadFlags;
  readonly platform: ManagerPlatform;
  readonly userAgent: string;
  readonly selection: Selection;
}

export interface ClusterSurvey extends Survey {
  readonly cluster: ClusterState;
}

export class Cleanup {
  readonly #options: CleanupOptions;
  readonly #signal: AbortSignal;

  constructor(options: CleanupOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
  }

  get #call(): Call {
    return { signal: this.#signal, urgency: "user-change" };
  }

  /** Changes nothing. */
  async survey(): Promise<ClusterSurvey> {
    return this.#survey(this.#connect("read"));
  }

  /** The replica that leads; undefined if none does. */
  async leader({ cluster }: ClusterSurvey): Promise<string | undefined> {
    if (cluster.kind !== "read") return undefined;
    const { settings, platform } = this.#options;
    const api = await this.#api();
    return findLeadership(api, settings.flags, cluster.lease, platform.clock, this.#signal);
  }

  /** Deletes what was listed and confirmed. Ends with an error if a manager begins to lead. */
  async remove(
    confirmed: readonly Leftover[],
    { cluster: before }: ClusterSurvey,
    progress: (text: string) => void,
  ): Promise<Removal> {
    const { provider, settings, platform, selection } = this.#options;
    const cloud = this.#connect("delete");
    const removal = new LeftoverRemoval(
      {
        cloud,
        clock: platform.clock,
        timeout: settings.flags.timeout ?? minutes(10),
        progress,
        survey: async () => {
          const survey = await this.#survey(cloud);
          assertUnchanged(before, survey.cluster);
          return survey;
        },
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
    return removal.run(this.#call);
  }

  async #survey(cloud: AnyCloud): Promise<ClusterSurvey> {
    const { provider, settings, platform, selection } = this.#options;
    const { flags } = settings;
    const cluster = await readCluster(() => this.#api(), flags, this.#signal);
    const ranges = readClusterCIDRs(flags["cluster-cidr"]);
    const isWithRoutes = flags["configure-cloud-routes"] && ranges.kind === "run";
    const clusterCIDRs = isWithRoutes ? ranges.cidrs : [];
    const options = { provider, cloud, cluster, selection, clusterCIDRs, clock: platform.clock };
    return { ...(await takeSurvey(options, this.#call)), cluster };
  }

  async #api() {
    const { settings, platform, userAgent } = this.#options;
    return (await readingClient(settings.flags, platform, userAgent, this.#signal)).api;
  }

  #connect(access: "read" | "delete"): AnyCloud {
    const { provider, settings, platform } = this.#options;
    const { clock, random, environment, cloudTransport } = platform;
    const isReading = access === "read";
    const { connected, problems } = connectCloud(
      provider,
      { environment, ...settings.cloud, cluster: settings.flags["cluster-name"] },
      {
        ...{ clock, random, signal: this.#signal, deadline: settings.flags["cloud-call-timeout"] },
        transport: isReading ? new ReadOnlyTransports().cloud(cloudTransport) : cloudTransport,
        mayMutate: () => (isReading ? { reason: "nothing is deleted before it is confirmed." } : true),
        report: () => undefined,
      },
    );
    if (connected === undefined) throw new ConfigurationError(problems);
    return connected.cloud;
  }
}

/** Throws if a manager has begun to lead, or if the API server answers only now, or no longer. */
function assertUnchanged(before: ClusterState, now: ClusterState): void {
  if (before.kind !== now.kind) {
    const what = now.kind === "read" ? "answers now" : `does not answer any more (${now.why})`;
    throw new Error(`The API server ${what}, so cleanup stopped. Run it again to see what is left.`);
  }
  if (before.kind !== "read" || now.kind !== "read") return;
  const leader = newLeader(before.lease, now.lease);
  if (leader !== undefined)
    throw new Error(
      `The manager ${leader} has begun to lead, so cleanup stopped. Stop the manager, and run cleanup again.`,
    );
}
