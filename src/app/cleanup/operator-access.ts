// Access of a person's command to the API server, which it only reads, and to the cloud, where nothing changes before a confirmation.

import type { KubeApi } from "../../kube/client/api.ts";
import type { Call } from "../../provider/call.ts";
import { ConfigurationError } from "../configuration/configuration-error.ts";
import { type AnyCloud, type AnyProvider, connectCloud } from "../connect-cloud.ts";
import { readingClient } from "../explain/find-answer.ts";
import type { ReadFlags } from "../flags/read-flags.ts";
import { ReadOnlyTransports } from "../observe-once.ts";
import type { ManagerPlatform } from "../system-platform.ts";
import { type ClusterState, findLeadership, newLeader, readCluster, readLease } from "./cluster-state.ts";

export interface OperatorOptions {
  readonly provider: AnyProvider;
  /** With the kubeconfig of the user. */
  readonly settings: ReadFlags;
  readonly platform: ManagerPlatform;
  readonly userAgent: string;
}

export class OperatorAccess {
  readonly #options: OperatorOptions;
  readonly #signal: AbortSignal;
  /** As of the last read. */
  #clusterUID: string | undefined;

  constructor(options: OperatorOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
    this.#clusterUID = options.settings.flags["cluster-uid"];
  }

  get call(): Call {
    return { signal: this.#signal, urgency: "user-change" };
  }

  async cluster(): Promise<ClusterState> {
    const cluster = await readCluster(() => this.#api(), this.#options.settings.flags, this.#signal);
    if (cluster.kind === "read") this.#clusterUID = cluster.uid;
    return cluster;
  }

  /** The replica that leads; undefined if none does. */
  async leader(cluster: ClusterState): Promise<string | undefined> {
    if (cluster.kind !== "read") return undefined;
    const { settings, platform } = this.#options;
    return findLeadership(await this.#api(), settings.flags, cluster.lease, platform.clock, this.#signal);
  }

  /** The replica that took or renewed the Lease since the cluster was read, with one request; undefined if none did. */
  async newLeader(cluster: ClusterState): Promise<string | undefined> {
    if (cluster.kind !== "read") return undefined;
    const { flags } = this.#options.settings;
    return newLeader(cluster.lease, await readLease(await this.#api(), flags, this.#signal));
  }

  /** With `read`, the transports refuse every change. */
  cloud(access: "read" | "change"): AnyCloud {
    const { provider, settings, platform } = this.#options;
    const { clock, random, environment, cloudTransport } = platform;
    const isReading = access === "read";
    const { connected, problems } = connectCloud(
      provider,
      {
        ...{ environment, ...settings.cloud, cluster: settings.flags["cluster-name"] },
        clusterUID: () => this.#clusterUID,
      },
      {
        ...{ clock, random, signal: this.#signal, deadline: settings.flags["cloud-call-timeout"] },
        transport: isReading ? new ReadOnlyTransports().cloud(cloudTransport) : cloudTransport,
        mayMutate: () => (isReading ? { reason: "nothing is changed before it is confirmed." } : true),
        report: () => undefined,
      },
    );
    if (connected === undefined) throw new ConfigurationError(problems);
    return connected.cloud;
  }

  async #api(): Promise<KubeApi> {
    const { settings, platform, userAgent } = this.#options;
    return (await readingClient(settings.flags, platform, userAgent, this.#signal)).api;
  }
}
