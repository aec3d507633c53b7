// A simulated cluster and cloud in virtual time, made from one seed: machines, kubelets, an API server and replicas of the
// manager.

import { FakeCloud } from "../../providers/fake/simulator/fake-cloud.ts";
import type { SimulatedMachine } from "../../providers/fake/simulator/machines.ts";
import { asTransport as cloudTransport } from "../../providers/fake/simulator/transport.ts";
import { readFlags } from "../../src/app/flags/read-flags.ts";
import { milliseconds, seconds } from "../../src/core/brand.ts";
import type { Node } from "../../src/kube/objects.ts";
import { type Random, seededRandom } from "../../src/platform/random.ts";
import type { Transport, TransportRequest } from "../../src/platform/transport.ts";
import { ApiServer } from "../../src/testing/apiserver/api-server.ts";
import { asTransport } from "../../src/testing/apiserver/as-transport.ts";
import { Kubelets } from "../../src/testing/apiserver/kubelet/kubelets.ts";
import type { JsonObject } from "../../src/testing/apiserver/objects/json.ts";
import type { KubeObject } from "../../src/testing/apiserver/objects/kube-object.ts";
import { resourceNamed } from "../../src/testing/apiserver/objects/resource-table.ts";
import { VirtualClock } from "../../src/testing/virtual-time/virtual-clock.ts";
import { CloudInvariants } from "./cloud-invariants.ts";
import { HiddenMachines } from "./hidden-machines.ts";
import { History } from "./history.ts";
import { Invariants } from "./node-invariants.ts";
import { clusterCIDR, PodRanges } from "./pod-ranges.ts";
import { Replica } from "./replica.ts";
import { Users } from "./users.ts";

export interface WorldOptions {
  readonly seed: number;
  readonly nodes: number;
  readonly replicas: number;
  /** Additional flags of the manager. */
  readonly flags?: readonly string[];
}

const nodes = resourceNamed("nodes");

export class World {
  readonly clock = new VirtualClock();
  readonly random: Random;
  readonly server: ApiServer;
  readonly cloud: FakeCloud;
  readonly hiddenMachines: HiddenMachines;
  readonly kubelets: Kubelets;
  readonly history: History;
  readonly invariants: Invariants;
  readonly cloudInvariants: CloudInvariants;
  readonly users: Users;
  /** The running replicas. */
  readonly replicas: Replica[] = [];
  readonly checksRoutesOften: boolean;
  /** Nodes whose kubelets send no heartbeats although their machines run. */
  readonly silent = new Set<string>();
  readonly #options: WorldOptions;
  #count = 0;

  constructor(options: WorldOptions) {
    const { seed } = options;
    const { clock } = this;
    this.#options = options;
    this.random = seededRandom(seed);
    this.checksRoutesOften = seed % 4 < 2;
    this.server = new ApiServer({ clock, random: seededRandom(seed ^ 0x5eed) });
    this.cloud = new FakeCloud({ clock, actionTime: milliseconds([0, 300, 5_000][seed % 3] ?? 0) });
    this.hiddenMachines = new HiddenMachines(clock);
    this.history = new History(clock, this.server);
    this.invariants = new Invariants(this, readFlags(["--master=http://test-api-server"]).lifecycle);
    this.users = new Users(this.server, this.history);
    this.cloudInvariants = new CloudInvariants(this, (invariant, text) =>
      this.invariants.violated(invariant, text),
    );
    new PodRanges(this.server, clock, seededRandom(seed ^ 0xc1d5));
    this.#installHiddenMachines();
    this.kubelets = new Kubelets({
      server: this.server,
      clock,
      random: seededRandom(seed ^ 0xbea7),
      isMachineUp: (name) =>
        !this.silent.has(name) &&
        this.cloud.machines.list().some((machine) => machine.name === name && machine.status === "running"),
      timing: { tick: seconds(2) },
    });
    for (let index = 0; index < options.nodes; index += 1) this.addNode(`node-${index}`);
    for (let index = 0; index < options.replicas; index += 1) this.startReplica();
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
    this.#count += 1;
    const replica = new Replica({
      name: `replica-${this.#count}`,
      world: clock,
      random,
      settings: readFlags([
        "--master=http://test-api-server",
        "--config-set=page-size=5,lookup-limit=4",
        `--cluster-cidr=${clusterCIDR}`,
        ...(this.checksRoutesOften ? ["--route-reconciliation-period=8m"] : []),
        ...(this.#options.flags ?? []),
      ]),
      environment: {},
      kube: (me) => {
        const send = asTransport(this.server, { username: me.name, groups: ["system:authenticated"] });
        return (request, signal) => history.asWriter(me.name, () => send(request, signal));
      },
      cloud: this.#cloudTransport(),
      onSend: (me, request, to) => invariants.requestSent(me, request, to),
      onError: (me, error) => invariants.replicaExited(me, error),
      write: (line) => history.log(line.trimEnd()),
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

  /** Like SIGTERM: the replica may finish its work and release the Lease; it is killed after 30 s. */
  terminateReplica(replica: Replica): void {
    this.history.log(`${replica.name} is terminated`);
    this.replicas.splice(this.replicas.indexOf(replica), 1);
    replica.terminate();
    this.clock.after(seconds(30), () => replica.process.kill());
  }

  addNode(name: string): SimulatedMachine {
    const machine = this.cloud.machines.add(name);
    this.history.log(`machine ${machine.id} is created for ${name}`);
    this.kubelets.join({ name });
    return machine;
  }

  /** Removes the machine for good. Its Node stays until it is deleted. */
  removeMachine(name: string): void {
    const machine = this.machineNamed(name);
    if (machine === undefined) return;
    this.history.log(`machine ${machine.id} of ${name} is removed`);
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

  /** Makes the simulator hide machines from the kind of request that it is answering. */
  #installHiddenMachines(): void {
    const { faults } = this.cloud;
    const hides = faults.hides.bind(faults);
    faults.hides = (machine) => hides(machine) || this.hiddenMachines.isHidden(machine.id, this.#requestKind);
  }

  #requestKind: "listing" | "lookup" = "listing";

  #cloudTransport(): Transport {
    const send = cloudTransport(this.cloud);
    return async (request: TransportRequest, signal) => {
      const { searchParams } = new URL(request.url);
      this.#requestKind = searchParams.has("ids") || searchParams.has("names") ? "lookup" : "listing";
      const answer = send(request, signal);
      this.cloudInvariants.cloudHandled(request);
      const response = await answer;
      if (response.status !== 429) return response;
      const headers = new Headers(response.headers);
      headers.set("retry-after", String(1 + Math.floor(this.random.fraction() * 40)));
      return new Response(await response.text(), { status: 429, headers });
    };
  }
}
