// Simulated kubelets: they register their Node, become ready, and send heartbeats while their machine is up. A stand-in for
// the node lifecycle controller marks silent Nodes.

import { type Milliseconds, seconds } from "../../../core/brand.ts";
import type { Clock } from "../../../platform/clock.ts";
import type { Random } from "../../../platform/random.ts";
import type { ApiServer } from "../api-server.ts";
import { type KubeObject, microTimestamp } from "../objects/kube-object.ts";
import { resourceNamed } from "../objects/resource-table.ts";
import { describeNode, type KubeletSpec, kubeletConditions } from "./kubelet-node.ts";
import {
  followReadyCondition,
  markUnknown,
  nodeResource,
  readyStatus,
  setConditions,
} from "./silent-nodes.ts";

interface KubeletsDeps {
  readonly server: ApiServer;
  readonly clock: Clock;
  readonly random: Random;
  /** Whether the machine of this Node is currently running. */
  readonly isMachineUp: (nodeName: string) => boolean;
  readonly timing?: Partial<KubeletTiming>;
}

interface KubeletTiming {
  readonly readyAfter: Milliseconds;
  /** The interval between renewals of the Lease. */
  readonly leaseEvery: Milliseconds;
  /** The interval between status writes when nothing changes. */
  readonly statusEvery: Milliseconds;
  /** Time without heartbeats after which a Node becomes Unknown. */
  readonly graceAfter: Milliseconds;
  /** How often each kubelet runs. */
  readonly tick: Milliseconds;
}

const defaultTiming: KubeletTiming = {
  readyAfter: seconds(3),
  leaseEvery: seconds(10),
  statusEvery: seconds(300),
  graceAfter: seconds(50),
  tick: seconds(1),
};

interface Kubelet {
  readonly spec: KubeletSpec;
  readonly joinedAt: number;
  isReady: boolean;
  readySince: number;
  nextLeaseAt: number;
  nextStatusAt: number;
  lastSeen: number;
  /** The version of the Node whose taints were last updated from its Ready condition. */
  taintsCheckedFor: KubeObject | undefined;
}

const leases = resourceNamed("leases");
const leaseNamespace = "kube-node-lease";

export class Kubelets {
  readonly #deps: KubeletsDeps;
  readonly #timing: KubeletTiming;
  readonly #kubelets = new Map<string, Kubelet>();
  readonly #gone = new Set<string>();
  #cancel: (() => void) | undefined;

  constructor(deps: KubeletsDeps) {
    this.#deps = deps;
    this.#timing = { ...defaultTiming, ...deps.timing };
    this.#schedule();
  }

  /** Starts the kubelet of a machine, which registers its Node unless that already exists. */
  join(spec: KubeletSpec): void {
    const { clock, random, server } = this.#deps;
    const now = clock.monotonic();
    if (server.store.get("nodes", "", spec.name) === undefined) {
      server.objects.create(nodeResource, "", describeNode(spec, random.uuid(), clock.now()));
    }
    this.#gone.delete(spec.name);
    this.#kubelets.set(spec.name, {
      spec,
      joinedAt: now,
      isReady: false,
      readySince: clock.now(),
      // Spread out, so that kubelets that joined together do not renew their Leases together.
      nextLeaseAt: now + random.fraction() * this.#timing.leaseEvery,
      nextStatusAt: now + this.#timing.readyAfter,
      lastSeen: now,
      taintsCheckedFor: undefined,
    });
  }

  /** The machine is permanently gone. Its Node stays until it is deleted. */
  leave(name: string): void {
    if (this.#kubelets.has(name)) this.#gone.add(name);
  }

  get names(): readonly string[] {
    return [...this.#kubelets.keys()].filter((name) => !this.#gone.has(name));
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #schedule(): void {
    this.#cancel = this.#deps.clock.after(this.#timing.tick, () => {
      this.#schedule();
      for (const kubelet of this.#kubelets.values()) this.#tick(kubelet);
    });
  }

  #tick(kubelet: Kubelet): void {
    const { clock, isMachineUp, server } = this.#deps;
    const { name } = kubelet.spec;
    const now = clock.monotonic();
    const isUp = !this.#gone.has(name) && isMachineUp(name);
    if (isUp) this.#sendHeartbeat(kubelet, now);
    const node = server.store.get("nodes", "", name);
    if (node === undefined) return;
    const isSilent = now - kubelet.lastSeen > this.#timing.graceAfter;
    // An API server that was restored from a backup may show the Node again, as Ready.
    if (isSilent && (kubelet.isReady || readyStatus(node) === "True")) {
      kubelet.isReady = false;
      kubelet.nextStatusAt = 0;
      markUnknown(server.objects, name, clock.now());
    }
    const current = server.store.get("nodes", "", name);
    if (current === undefined || current === kubelet.taintsCheckedFor) return;
    followReadyCondition(server.objects, current, clock.now());
    kubelet.taintsCheckedFor = server.store.get("nodes", "", name);
  }

  #sendHeartbeat(kubelet: Kubelet, now: number): void {
    const { clock, server } = this.#deps;
    const { name } = kubelet.spec;
    if (now - kubelet.joinedAt < this.#timing.readyAfter) return;
    kubelet.lastSeen = now;
    // A running kubelet whose Node was deleted registers again only when it restarts.
    if (server.store.get("nodes", "", name) === undefined) return;
    if (now >= kubelet.nextLeaseAt) {
      kubelet.nextLeaseAt = now + this.#timing.leaseEvery;
      this.#renewLease(name);
    }
    if (now < kubelet.nextStatusAt && kubelet.isReady) return;
    if (!kubelet.isReady) kubelet.readySince = clock.now();
    kubelet.isReady = true;
    kubelet.nextStatusAt = now + this.#timing.statusEvery;
    const conditions = kubeletConditions(true, clock.now(), kubelet.readySince);
    setConditions(server.objects, name, () => conditions);
  }

  #renewLease(name: string): void {
    const { clock, server } = this.#deps;
    const renewTime = microTimestamp(clock.now());
    const spec = { holderIdentity: name, leaseDurationSeconds: 40, renewTime };
    if (server.store.get("leases", leaseNamespace, name) === undefined) {
      server.objects.create(leases, leaseNamespace, { metadata: { name }, spec });
      return;
    }
    server.objects.patch(leases, leaseNamespace, name, "", (lease) => ({
      ...lease,
      spec: { ...lease.spec, ...spec },
    }));
  }
}
