// A simulated cluster and cloud in virtual time, made from one seed: machines, kubelets, an API server and replicas of the
// manager.

import type { FakeCloud } from "../../providers/fake/simulator/fake-cloud.ts";
import type { SimulatedMachine } from "../../providers/fake/simulator/machines.ts";
import { readFlags } from "../../src/app/flags/read-flags.ts";
import { milliseconds, minutes, seconds } from "../../src/core/brand.ts";
import type { Node } from "../../src/kube/objects.ts";
import { type Random, seededRandom } from "../../src/platform/random.ts";
import type { TransportRequest } from "../../src/platform/transport.ts";
import type { AnyProvider } from "../../src/provider/provider.ts";
import { ApiServer } from "../../src/testing/apiserver/api-server.ts";
import { asTransport } from "../../src/testing/apiserver/as-transport.ts";
import { Kubelets } from "../../src/testing/apiserver/kubelet/kubelets.ts";
import type { JsonObject } from "../../src/testing/apiserver/objects/json.ts";
import type { KubeObject } from "../../src/testing/apiserver/objects/kube-object.ts";
import { resourceNamed } from "../../src/testing/apiserver/objects/resource-table.ts";
import { VirtualClock } from "../../src/testing/virtual-time/virtual-clock.ts";
import { AbsenceInvariants } from "./absence-invariants.ts";
import { CloudAccess, type Divert } from "./cloud-access.ts";
import { CloudInvariants } from "./cloud-invariants.ts";
import { CloudLies } from "./cloud-lies.ts";
import { CloudVariants } from "./cloud-variants.ts";
import { configurationFile, type LiveSettings } from "./configuration-file.ts";
import { HiddenMachines } from "./hidden-machines.ts";
import { History, type RecordLine } from "./history.ts";
import { countManaged, countMissing } from "./node-deviations.ts";
import { Invariants } from "./node-invariants.ts";
import { OperationInvariants } from "./operation-invariants.ts";
import { clusterCIDR, PodRanges } from "./pod-ranges.ts";
import { Replica } from "./replica.ts";
import { Users } from "./users.ts";
import type { Variants } from "./variants.ts";
import { VolumeInvariants } from "./volume-invariants.ts";
import { VolumePods } from "./volume-pods.ts";
import { VolumeSnapshots } from "./volume-snapshots.ts";

export interface WorldOptions extends Variants {
  readonly seed: number;
  readonly nodes: number;
  readonly replicas: number;
  /** Additional flags of the manager. */
  readonly flags?: readonly string[];
  /** Invariants whose violations are not recorded. */
  readonly ignored?: readonly number[];
  readonly provider?: AnyProvider;
  /** Answers requests to other clouds; undefined leaves a request to the simulated cloud. */
  readonly divert?: Divert;
  readonly beforeReplicas?: (clock: VirtualClock) => void;
  /** Receives every request of the replicas and every other write as a line. */
  readonly record?: RecordLine | undefined;
}

const nodes = resourceNamed("nodes");
const leases = resourceNamed("leases");

export class World {
  readonly clock = new VirtualClock();
  readonly random: Random;
  readonly server: ApiServer;
  readonly cloud: FakeCloud;
  readonly hiddenMachines: HiddenMachines;
  /** Machines that run, and that the cloud shows as stopped. */
  readonly shownStopped: HiddenMachines;
  readonly cloudLies: CloudLies;
  readonly kubelets: Kubelets;
  readonly history: History;
  readonly invariants: Invariants;
  readonly cloudInvariants: CloudInvariants;
  readonly absence: AbsenceInvariants;
  readonly podRanges: PodRanges;
  readonly cloudAccess: CloudAccess;
  readonly users: Users;
  readonly volumes:
    | {
        readonly pods: VolumePods;
        readonly invariants: VolumeInvariants;
        readonly snapshots: VolumeSnapshots;
      }
    | undefined;
  /** The running replicas. */
  readonly replicas: Replica[] = [];
  readonly checksRoutesOften: boolean;
  readonly variants: CloudVariants;
  readonly operationInvariants: OperationInvariants | undefined;
  /** Nodes whose kubelets send no heartbeats although their machines run. */
  readonly silent = new Set<string>();
  /** The live settings in the configuration file of the replicas. */
  settings: LiveSettings = {};
  /** The project of the credentials with which replicas start. Undefined: that of this cluster. */
  otherProject: FakeCloud | undefined;
  /** The controllers with which replicas start. Undefined: all. */
  controllers: string | undefined;
  /** Called when a leadership session begins, also one of the last leader. */
  onNewLeader: () => void = () => undefined;
  /** Called when the cloud has handled a request. */
  onCloudRequest: (request: TransportRequest) => void = () => undefined;
  /** The fewest Nodes that were managed since some were missing, or hidden: a hold may have begun then. */
  fewestManaged = Number.POSITIVE_INFINITY;
  /** When a restored API server forgot that the Lease was renewed (monotonic). */
  renewalUndoneAt = Number.NEGATIVE_INFINITY;
  /** When the last leadership session began (monotonic). */
  leaderSince = 0;
  /** Requests of replicas to the API server and the cloud. */
  requests = 0;
  /** Faults and changes that have been applied. */
  disruptions = 0;
  /** How often replicas listed Nodes or Services. */
  listings = 0;
  readonly #options: WorldOptions;
  readonly #removedAt = new Map<string, number>();
  #hidingManyUntil = 0;
  #count = 0;

  constructor(options: WorldOptions) {
    const { seed } = options;
    const { clock } = this;
    this.#options = options;
    this.random = seededRandom(seed);
    this.checksRoutesOften = seed % 4 < 2;
    // Watches resume from versions that are minutes old; a longer history only costs memory.
    this.server = new ApiServer({
      clock,
      random: seededRandom(seed ^ 0x5eed),
      options: { historyLimit: 3000 },
    });
    const actionTime = milliseconds([0, 300, 5_000][seed % 3] ?? 0);
    this.variants = new CloudVariants(seed, options, { clock, actionTime });
    this.cloud = this.variants.cloud;
    // Half of the clouds accept two balancers of one name.
    this.cloud.balancers.hasUniqueNames = seed % 2 === 0;
    this.hiddenMachines = new HiddenMachines(clock);
    this.shownStopped = new HiddenMachines(clock);
    this.cloudLies = new CloudLies(this.cloud, seededRandom(seed ^ 0x11e5));
    this.history = new History(clock, this.server, options.record);
    this.invariants = new Invariants(this, readFlags(["--master=http://test-api-server"]).lifecycle);
    this.users = new Users(this.server, this.history);
    this.cloudInvariants = new CloudInvariants(this, (invariant, text) =>
      this.invariants.violated(invariant, text),
    );
    this.absence = new AbsenceInvariants(
      this.server,
      this.cloud,
      (invariant, text) => this.invariants.violated(invariant, text),
      () => this.history.writer,
    );
    const { routeOperations } = this.variants;
    this.operationInvariants = routeOperations && new OperationInvariants(this, routeOperations);
    this.podRanges = new PodRanges(this.server, clock, seededRandom(seed ^ 0xc1d5));
    this.cloudAccess = new CloudAccess(this, options.divert);
    this.kubelets = new Kubelets({
      server: this.server,
      clock,
      random: seededRandom(seed ^ 0xbea7),
      isMachineUp: (name) =>
        !this.silent.has(name) &&
        this.cloud.machines.list().some((machine) => machine.name === name && machine.status === "running"),
      // No check reads the Node Leases, and their renewals would be most of a run's writes.
      timing: { tick: seconds(2), leaseEvery: minutes(5) },
    });
    const pods = options.volumes === true ? new VolumePods(this, seed) : undefined;
    this.volumes = pods && {
      pods,
      invariants: new VolumeInvariants(this, pods),
      snapshots: new VolumeSnapshots(this, pods, seed),
    };
    for (let index = 0; index < options.nodes; index += 1) this.addNode(`node-${index}`);
    options.beforeReplicas?.(clock);
    for (let index = 0; index < options.replicas; index += 1) this.startReplica();
  }

  /** Call it every few seconds. */
  observe(): void {
    const isMissing = countMissing(this) > 0 || this.hiddenMachines.isHiding;
    const managed = countManaged(this);
    this.fewestManaged = isMissing ? Math.min(this.fewestManaged, managed) : managed;
  }

  /** Whether the manager may set the taint out-of-service. */
  get tellsStops(): boolean {
    return this.#options.stops === true;
  }

  isIgnored(invariant: number): boolean {
    return this.#options.ignored?.includes(invariant) === true;
  }

  /** Whether many objects are hidden or have vanished. Two such faults together can look like a few real losses. */
  get isHidingMany(): boolean {
    return this.clock.monotonic() < this.#hidingManyUntil;
  }

  hidesMany(milliseconds: number): void {
    this.#hidingManyUntil = this.clock.monotonic() + milliseconds;
  }

  get replicaCount(): number {
    return this.#options.replicas;
  }

  /** The leader according to the API server, if its process runs. */
  get leader(): Replica | undefined {
    return this.replicas.find((replica) => this.holdsLease(replica));
  }

  /** Also true for a replica that is shutting down. */
  holdsLease({ name }: Replica): boolean {
    const lease = this.server.store.get("leases", "kube-system", "cloud-controller-manager");
    return String(lease?.spec?.["holderIdentity"] ?? "").startsWith(`${name}_`);
  }

  nodes(): readonly Node[] {
    return this.server.store.list("nodes") as unknown as readonly Node[];
  }

  node(name: string): Node | undefined {
    return this.server.store.get("nodes", "", name) as unknown as Node | undefined;
  }

  machineNamed(name: string): SimulatedMachine | undefined {
    return this.cloud.machines.list().find((machine) => machine.name === name);
  }

  startReplica(): Replica {
    const { clock, random, history, invariants } = this;
    const toCloud =
      this.otherProject === undefined ? this.cloudAccess.transport : this.cloudAccess.to(this.otherProject);
    this.#count += 1;
    const replica = new Replica({
      name: `replica-${this.#count}`,
      world: clock,
      random,
      args: [
        "--master=http://test-api-server",
        "--config-set=page-size=5,lookup-limit=4",
        `--cluster-cidr=${clusterCIDR}`,
        ...(this.volumes === undefined ? [] : [`--controllers=${this.controllers ?? "*,volume"}`]),
        ...(this.tellsStops ? ["--out-of-service-taint=enforce"] : []),
        ...(this.checksRoutesOften ? ["--route-reconciliation-period=8m"] : []),
        // Renewals are most of the work in a run, so two thirds of the seeds renew less often than the default.
        ...(this.#options.seed % 3 === 0 ? [] : ["--leader-elect-retry-period=5s"]),
        ...(this.#options.flags ?? []),
      ],
      configuration: configurationFile(this.settings),
      provider: this.#options.provider ?? this.variants.provider,
      kube: (me) => {
        const send = asTransport(this.server, { username: me.name, groups: ["system:authenticated"] });
        return (request, signal) => history.asWriter(me.name, () => send(request, signal));
      },
      cloud: (me) => (request, signal) => history.asWriter(me.name, () => toCloud(request, signal)),
      onSend: (me, request, to) => {
        history.noteRequest(me.name, request);
        this.requests += 1;
        if (to === "kube" && isListing(request)) this.listings += 1;
        const isListed =
          to === "cloud" ? this.variants.listingTimes?.requestSent(me.name, request) : undefined;
        const isSent = invariants.requestSent(me, request, to);
        return (ending) => {
          isListed?.();
          isSent(ending);
        };
      },
      onError: (me, error) => invariants.replicaExited(me, error),
      write: (line) => {
        history.log(line.trimEnd());
        if (!line.includes("Acquired leadership")) return;
        this.leaderSince = clock.monotonic();
        this.onNewLeader();
      },
    });
    history.log(`${replica.name} starts`);
    this.replicas.push(replica);
    replica.start();
    return replica;
  }

  killReplica(replica: Replica): void {
    this.history.log(`${replica.name} is killed`);
    replica.process.kill();
    this.replicas.splice(this.replicas.indexOf(replica), 1);
  }

  /** Stops a replica, as SIGTERM does: it may finish its work and release the Lease, and is killed after 30 s. */
  terminateReplica(replica: Replica): void {
    this.history.log(`${replica.name} is terminated`);
    this.replicas.splice(this.replicas.indexOf(replica), 1);
    replica.terminate();
    this.clock.after(seconds(30), () => replica.process.kill());
  }

  /** Writes the configuration file of every replica, each after its delay in milliseconds. */
  reconfigure(settings: LiveSettings, delay: () => number): void {
    this.settings = settings;
    this.history.log(`configuration: ${JSON.stringify(settings)}`);
    for (const replica of this.replicas) {
      const by = this.random.fraction() < 0.5 ? "file" : "signal";
      this.clock.after(milliseconds(delay()), () => {
        // A later one may have arrived, which an earlier one never replaces.
        if (this.settings === settings) replica.configure(configurationFile(settings), by);
      });
    }
  }

  /** An operator releases what the mass limits hold. */
  releaseHolds(): void {
    this.history.log("an operator releases what is held");
    this.absence.released();
    this.invariants.released();
    this.volumes?.invariants.released();
    this.server.objects.patch(leases, "kube-system", "cloud-controller-manager", "", (lease) => ({
      ...lease,
      metadata: {
        ...lease.metadata,
        annotations: { ...lease.metadata.annotations, "fairlead.dev/release-hold": "all" },
      },
    }));
  }

  addNode(name: string): SimulatedMachine {
    const machine = this.cloud.machines.add(name);
    this.history.log(`machine ${machine.id} is created for ${name}`);
    this.kubelets.join({ name });
    return machine;
  }

  /** When the last machine of this name was removed (monotonic). */
  removedAt(name: string): number {
    return this.#removedAt.get(name) ?? Number.NEGATIVE_INFINITY;
  }

  /** Removes the machine for good. Its Node stays until it is deleted. */
  removeMachine(name: string): void {
    const machine = this.machineNamed(name);
    if (machine === undefined) return;
    this.history.log(`machine ${machine.id} of ${name} is removed`);
    this.#removedAt.set(name, this.clock.monotonic());
    this.cloud.machines.remove(machine.id);
    this.kubelets.leave(name);
  }

  setMachine(name: string, status: SimulatedMachine["status"]): void {
    const machine = this.machineNamed(name);
    if (machine === undefined) return;
    this.history.log(`machine ${machine.id} of ${name} is ${status}`);
    this.cloud.machines.setStatus(machine.id, status);
    this.invariants.machineChanged(machine.id, status);
    if (status === "running" && this.node(name) === undefined) this.kubelets.join({ name });
  }

  /** An edit by a user, an autoscaler or another controller. */
  edit(name: string, what: string, change: (node: KubeObject) => JsonObject): void {
    if (this.node(name) === undefined) return;
    this.history.log(`${what} on ${name}`);
    this.server.objects.patch(nodes, "", name, "", change);
  }

  /** An operator confirms the deletion of this Node despite the mass limit. */
  confirmDeletion(name: string): void {
    this.edit(name, "deletion confirmed", (node) => ({
      ...node,
      metadata: {
        ...node.metadata,
        annotations: { ...node.metadata.annotations, "fairlead.dev/node-deletion": "confirmed" },
      },
    }));
  }

  create(draft: JsonObject): void {
    this.server.objects.create(nodes, "", draft);
  }

  deleteNode(name: string): void {
    if (this.node(name) === undefined) return;
    this.history.log(`${name} is deleted by a user`);
    this.server.objects.delete(nodes, "", name);
  }
}

/** Also true for a watch that begins with a listing. */
const isListing = ({ method, url }: TransportRequest): boolean => {
  if (method !== "GET") return false;
  const { pathname, searchParams } = new URL(url);
  return (
    /\/(nodes|services)$/.test(pathname) &&
    (!searchParams.has("watch") || searchParams.get("sendInitialEvents") === "true")
  );
};
