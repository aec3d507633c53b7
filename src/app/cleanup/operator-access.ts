// Access of a person's command to the API server, which it only reads, and to the cloud, where nothing changes before a confirmation.

import type { KubeApi } from "../../kube/client/api.ts";
import type { Call } from "../../provider/call.ts";
import type { AnyCloud } from "../../provider/provider.ts";
import { ConfigurationError } from "../configuration/configuration-error.ts";
import { connectCloud } from "../connect-cloud.ts";
import { findLeadership, newLeader, readLease } from "../leadership/read-leases.ts";
import { type Operator, ReadOnlyTransports, readingClient } from "../operator.ts";
import { type ClusterState, readCluster } from "./cluster-state.ts";

export class OperatorAccess {
  readonly #operator: Operator;
  /** As of the last read. */
  #clusterUID: string | undefined;

  constructor(operator: Operator) {
    this.#operator = operator;
    this.#clusterUID = operator.settings.flags["cluster-uid"];
  }

  get call(): Call {
    return { signal: this.#operator.signal, urgency: "user-change" };
  }

  async cluster(): Promise<ClusterState> {
    const { settings, signal } = this.#operator;
    const cluster = await readCluster(() => this.#api(), settings.flags, signal);
    if (cluster.kind === "read") this.#clusterUID = cluster.uid;
    return cluster;
  }

  /** The replica that leads; undefined if none does. */
  async leader(cluster: ClusterState): Promise<string | undefined> {
    if (cluster.kind !== "read") return undefined;
    const { settings, platform, signal } = this.#operator;
    return findLeadership(await this.#api(), settings.flags, cluster.lease, platform.clock, signal);
  }

  /** The replica that took or renewed the Lease since the cluster was read, with one request; undefined if none did. */
  async newLeader(cluster: ClusterState): Promise<string | undefined> {
    if (cluster.kind !== "read") return undefined;
    const { settings, signal } = this.#operator;
    return newLeader(cluster.lease, await readLease(await this.#api(), settings.flags, signal));
  }

  /** With `read`, the transports refuse every change. */
  cloud(access: "read" | "change"): AnyCloud {
    const { provider, settings, platform, signal } = this.#operator;
    const { clock, random, environment, cloudTransport } = platform;
    const isReading = access === "read";
    const { connected, problems } = connectCloud(
      provider,
      {
        ...{ environment, ...settings.cloud, cluster: settings.flags["cluster-name"] },
        clusterUID: () => this.#clusterUID,
      },
      {
        ...{ clock, random, signal, deadline: settings.flags["cloud-call-timeout"] },
        transport: isReading ? new ReadOnlyTransports().cloud(cloudTransport) : cloudTransport,
        mayMutate: () => (isReading ? { reason: "nothing is changed before it is confirmed." } : true),
        report: () => undefined,
      },
    );
    if (connected === undefined) throw new ConfigurationError(problems);
    return connected.cloud;
  }

  async #api(): Promise<KubeApi> {
    const { settings, platform, userAgent, signal } = this.#operator;
    return (await readingClient(settings.flags, platform, userAgent, signal)).api;
  }
}
