// Simulated kubelets: they join, say they are ready, and send heartbeats while their machine is up; beside them the watcher of heartbeats.
// They know nothing of clouds: whether a machine is up is asked of a function.

import { type Milliseconds, seconds } from "../../../core/brand.ts";
import type { Clock } from "../../../platform/clock.ts";
import type { Random } from "../../../platform/random.ts";
import type { ApiServer } from "../api-server.ts";
import { type KubeObject, microTimestamp } from "../objects/kube-object.ts";
import { resourceNamed } from "../objects/resource-table.ts";
import { describeNode, type KubeletSpec, kubeletConditions } from "./kubelet-node.ts";
import { followReadyCondition, markUnknown } from "./node-health.ts";

export interface KubeletsParts {
  readonly server: ApiServer;
  readonly clock: Clock;
  readonly random: Random;
  /** Whether the machine of this node is running now. */
  readonly isMachineUp: (nodeName: string) => boolean;
  readonly timing?: Partial<KubeletTiming>;
}

export interface KubeletTiming {
  readonly readyAfter: Milliseconds;
  /** Between renewals of the Lease. */
  readonly leaseEvery: Milliseconds;
  /** Between writes of the status when nothing changes. */
  readonly statusEvery: Milliseconds;
  /** Silence after which a node is Unknown. */
  readonly graceAfter: Milliseconds;
  /** How often kubelets and their watcher look. */
  readonly tick: Milliseconds;
}

const usual: KubeletTiming = {
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
  leaseDue: number;
  statusDue: number;
  lastSeen: number;
  /** The Node as it was when its taints were last found, or made, right. */
  settled: KubeObject | undefined;
}

const nodes = resourceNamed("nodes");
const leases = resourceNamed("leases");
const leaseNamespace = "kube-node-lease";

export class Kubelets {
  readonly #parts: KubeletsParts;
  readonly #timing: KubeletTiming;
  readonly #kubelets = new Map<string, Kubelet>();
  readonly #gone = new Set<string>();
  #cancel: (() => void) | undefined;

  constructor(parts: KubeletsParts) {
    this.#parts = parts;
    this.#timing = { ...usual, ...parts.timing };
    this.#schedule();
  }

  /** A machine's kubelet registers its Node, or finds the one it registered before. */
  join(spec: KubeletSpec): void {
    const { clock, random, server } = this.#parts;
    const now = clock.monotonic();
    if (server.store.get("nodes", "", spec.name) === undefined) {
      server.objects.create(nodes, "", describeNode(spec, random.uuid(), clock.now()));
    }
    this.#gone.delete(spec.name);
    this.#kubelets.set(spec.name, {
      spec,
      joinedAt: now,
      isReady: false,
      readySince: clock.now(),
      // Spread, so that a thousand kubelets that joined together do not beat together.
      leaseDue: now + random.fraction() * this.#timing.leaseEvery,
      statusDue: now + this.#timing.readyAfter,
      lastSeen: now,
      settled: undefined,
    });
  }

  /** The machine is gone for good; its Node stays until somebody deletes it. */
  leave(name: string): void {
    if (this.#kubelets.has(name)) this.#gone.add(name);
  }

  get names(): readonly string[] {
    return [...this.#kubelets.keys()];
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #schedule(): void {
    this.#cancel = this.#parts.clock.after(this.#timing.tick, () => {
      this.#schedule();
      for (const kubelet of this.#kubelets.values()) this.#visit(kubelet);
    });
  }

  #visit(kubelet: Kubelet): void {
    const { clock, isMachineUp, server } = this.#parts;
    const { name } = kubelet.spec;
    const now = clock.monotonic();
    const isUp = !this.#gone.has(name) && isMachineUp(name);
    if (isUp) this.#beat(kubelet, now);
    const node = server.store.get("nodes", "", name);
    if (node === undefined) {
      if (this.#gone.delete(name)) this.#kubelets.delete(name);
      return;
    }
    if (now - kubelet.lastSeen > this.#timing.graceAfter && kubelet.isReady) {
      kubelet.isReady = false;
      kubelet.statusDue = 0;
      markUnknown(server.objects, name, clock.now());
    }
    const current = server.store.get("nodes", "", name);
    if (current === undefined || current === kubelet.settled) return;
    followReadyCondition(server.objects, current, clock.now());
    kubelet.settled = server.store.get("nodes", "", name);
  }

  #beat(kubelet: Kubelet, now: number): void {
    const { clock, server } = this.#parts;
    const { name } = kubelet.spec;
    if (now - kubelet.joinedAt < this.#timing.readyAfter) return;
    kubelet.lastSeen = now;
    if (server.store.get("nodes", "", name) === undefined) {
      // A kubelet whose Node was deleted registers again only when it starts anew.
      return;
    }
    if (now >= kubelet.leaseDue) {
      kubelet.leaseDue = now + this.#timing.leaseEvery;
      this.#renewLease(name);
    }
    if (now < kubelet.statusDue && kubelet.isReady) return;
    if (!kubelet.isReady) kubelet.readySince = clock.now();
    kubelet.isReady = true;
    kubelet.statusDue = now + this.#timing.statusEvery;
    const conditions = kubeletConditions(true, clock.now(), kubelet.readySince);
    const ours = new Set(conditions.map((condition) => condition["type"]));
    server.objects.patch(nodes, "", name, "status", (node) => {
      const known = (node.status?.["conditions"] ?? []) as readonly { readonly type?: string }[];
      const others = known.filter(({ type }) => !ours.has(type));
      return { ...node, status: { ...node.status, conditions: [...others, ...conditions] } };
    });
  }

  #renewLease(name: string): void {
    const { clock, server } = this.#parts;
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
