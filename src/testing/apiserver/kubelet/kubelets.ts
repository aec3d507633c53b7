// Simulated kubelets: they register their Node, become ready, and send heartbeats while their machine is up. A stand-in for
// the node lifecycle controller marks silent Nodes.

import { type Milliseconds, seconds } from "../../../core/brand.ts";
import { defined } from "../../../core/defined.ts";
import type { Clock } from "../../../platform/clock.ts";
import type { Random } from "../../../platform/random.ts";
import type { ApiServer } from "../api-server.ts";
import {
  entryOfType,
  isObject,
  isSame,
  type Json,
  type JsonObject,
  listAt,
  textAt,
} from "../objects/json.ts";
import { type KubeObject, microTimestamp, timestamp } from "../objects/kube-object.ts";
import { resourceNamed } from "../objects/resource-table.ts";
import type { ObjectRegistry } from "../storage/object-registry.ts";

interface KubeletsDeps {
  readonly server: ApiServer;
  readonly clock: Clock;
  readonly random: Random;
  /** Whether the machine of this node is running now. */
  readonly isMachineUp: (nodeName: string) => boolean;
  readonly timing?: Partial<KubeletTiming>;
}

interface KubeletTiming {
  readonly readyAfter: Milliseconds;
  /** Between renewals of the Lease. */
  readonly leaseEvery: Milliseconds;
  /** Between writes of the status when nothing changes. */
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
  /** The version of the Node whose taints were last brought in line with its Ready condition. */
  taintsCheckedFor: KubeObject | undefined;
}

const nodes = resourceNamed("nodes");
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

  /** Starts the kubelet of a machine; it registers its Node unless that already exists. */
  join(spec: KubeletSpec): void {
    const { clock, random, server } = this.#deps;
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
      // Spread, so that kubelets which joined together do not renew their leases together.
      nextLeaseAt: now + random.fraction() * this.#timing.leaseEvery,
      nextStatusAt: now + this.#timing.readyAfter,
      lastSeen: now,
      taintsCheckedFor: undefined,
    });
  }

  /** The machine is gone for good. Its Node stays until it is deleted. */
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
    if (node === undefined) {
      if (this.#gone.delete(name)) this.#kubelets.delete(name);
      return;
    }
    if (now - kubelet.lastSeen > this.#timing.graceAfter && kubelet.isReady) {
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
    // A running kubelet whose Node was deleted does not register again; it does so when it restarts.
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

// A stand-in for the node lifecycle controller of kube-controller-manager: a silent Node becomes Unknown and unreachable, a Node
// that is not ready gets a taint, and one that is ready again loses it. It evicts nothing.

const notReady = "node.kubernetes.io/not-ready";
const unreachable = "node.kubernetes.io/unreachable";

const conditionTypes = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"];

/** Replaces the conditions of a kubelet; others stay. */
function setConditions(
  registry: ObjectRegistry,
  name: string,
  change: (known: readonly Json[]) => readonly Json[],
): void {
  registry.patch(nodes, "", name, "status", (node) => {
    const known = listAt(node, "status", "conditions");
    const others = known.filter((each) => !conditionTypes.includes(textAt(each, "type")));
    return { ...node, status: { ...node.status, conditions: [...others, ...change(known)] } };
  });
}

/** Sets Ready and the other conditions to Unknown, as for a kubelet that stopped posting status. */
function markUnknown(registry: ObjectRegistry, name: string, now: number): void {
  setConditions(registry, name, (known) =>
    conditionTypes.map((type): Json => {
      const before = entryOfType(known, type);
      const seen: JsonObject = isObject(before) ? before : { type, lastHeartbeatTime: null };
      if (textAt(before, "status") === "Unknown") return seen;
      return {
        ...seen,
        status: "Unknown",
        reason: "NodeStatusUnknown",
        message: "Kubelet stopped posting node status.",
        lastTransitionTime: timestamp(now),
      };
    }),
  );
}

/** Makes the Node's not-ready and unreachable taints match its Ready condition; other taints stay. */
function followReadyCondition(registry: ObjectRegistry, node: KubeObject, now: number): void {
  const status = textAt(entryOfType(listAt(node, "status", "conditions"), "Ready"), "status");
  const key = status === "True" ? undefined : status === "Unknown" ? unreachable : notReady;
  const taints = listAt(node, "spec", "taints");
  const others = taints.filter((taint) => ![notReady, unreachable].includes(textAt(taint, "key")));
  const wanted =
    key === undefined
      ? []
      : ["NoSchedule", "NoExecute"].map((effect): Json => {
          const before = taints.find(
            (taint) => textAt(taint, "key") === key && textAt(taint, "effect") === effect,
          );
          return before ?? { key, effect, timeAdded: timestamp(now) };
        });
  const next = [...others, ...wanted];
  const isDone =
    next.length === taints.length && next.every((taint) => taints.some((old) => isSame(old, taint)));
  if (isDone) return;
  registry.patch(nodes, "", node.metadata.name, "", (current) => ({
    ...current,
    spec: { ...current.spec, taints: next },
  }));
}

// The Node and conditions that a kubelet with an external cloud provider writes.

interface KubeletSpec {
  readonly name: string;
  /** The address of `--node-ip`, which the kubelet writes into an annotation. */
  readonly providedIP?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly podCIDRs?: readonly string[];
}

const pressures = [
  ["MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"],
  ["DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"],
  ["PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"],
];

/** The four conditions of a kubelet at this moment; `since` is when Ready last changed. */
export function kubeletConditions(isReady: boolean, now: number, since: number): readonly JsonObject[] {
  const ready = isReady
    ? ["Ready", "KubeletReady", "kubelet is posting ready status"]
    : ["Ready", "KubeletNotReady", "container runtime network not ready: cni plugin not initialized"];
  return [...pressures, ready].map(([type = "", reason = "", message = ""]) => ({
    type,
    status: type === "Ready" && isReady ? "True" : "False",
    lastHeartbeatTime: timestamp(now),
    lastTransitionTime: timestamp(since),
    reason,
    message,
  }));
}

export function describeNode(spec: KubeletSpec, uuid: string, now: number): JsonObject {
  const { name, podCIDRs = [], providedIP } = spec;
  const resources: JsonObject = {
    cpu: "2",
    "ephemeral-storage": "40581564Ki",
    "hugepages-2Mi": "0",
    memory: "4000000Ki",
    pods: "110",
  };
  const labels: Record<string, string> = {
    "beta.kubernetes.io/arch": "amd64",
    "beta.kubernetes.io/os": "linux",
    "kubernetes.io/arch": "amd64",
    "kubernetes.io/hostname": name,
    "kubernetes.io/os": "linux",
    ...spec.labels,
  };
  const annotations: JsonObject = defined({
    "node.alpha.kubernetes.io/ttl": "0",
    "volumes.kubernetes.io/controller-managed-attach-detach": "true",
    "alpha.kubernetes.io/provided-node-ip": providedIP,
  });
  const taints: readonly Json[] = [
    { key: "node.cloudprovider.kubernetes.io/uninitialized", value: "true", effect: "NoSchedule" },
    { key: notReady, effect: "NoSchedule" },
  ];
  return {
    metadata: { name, labels, annotations },
    spec: podCIDRs.length === 0 ? { taints } : { taints, podCIDR: podCIDRs[0], podCIDRs },
    status: {
      capacity: resources,
      allocatable: resources,
      // With an external cloud provider, a kubelet only reports its host name and the address of --node-ip.
      addresses: [
        ...(providedIP === undefined ? [] : [{ type: "InternalIP", address: providedIP }]),
        { type: "Hostname", address: name },
      ],
      conditions: kubeletConditions(false, now, now),
      nodeInfo: {
        machineID: uuid.replaceAll("-", ""),
        systemUUID: uuid,
        bootID: uuid,
        kernelVersion: "6.12.0",
        osImage: "Debian GNU/Linux 13 (trixie)",
        containerRuntimeVersion: "containerd://2.1.4",
        kubeletVersion: "v1.35.4",
        kubeProxyVersion: "",
        operatingSystem: "linux",
        architecture: "amd64",
      },
    },
  };
}
