// The node-lifecycle controller of a replay: its evidence, census and plans, without queues and requests.

import type { Answer } from "../../src/cloud/inventory/instances.ts";
import { Doubt } from "../../src/controllers/kernel/doubt.ts";
import { NodeCensus } from "../../src/controllers/node-lifecycle/allow.ts";
import { LifecycleHistory } from "../../src/controllers/node-lifecycle/history.ts";
import { addAnswer, type NodeEvidence, noEvidence } from "../../src/controllers/node-lifecycle/observe.ts";
import { planLifecycle } from "../../src/controllers/node-lifecycle/plan.ts";
import { lifecycleDefaults } from "../../src/controllers/node-lifecycle/settings.ts";
import type { Node } from "../../src/kube/objects.ts";
import type { Change } from "../../src/kube/watch/store.ts";
import type { VirtualClock } from "../../src/testing/virtual-time/virtual-clock.ts";
import { machine } from "../support/scripted-source.ts";
import { Process, uidOf } from "./process.ts";
import { ids, type Manager } from "./vocabulary.ts";

const unknown: Answer = { kind: "unknown", failure: undefined };
const isReady = ({ status }: Node): boolean => status.conditions?.[0]?.status === "True";

export class NodeManager implements Manager {
  readonly #clock: VirtualClock;
  readonly #hasLookup: boolean;
  readonly #nodes = new Map<string, Node>();
  readonly #listeners = new Set<(change: Change<Node>) => void>();
  /** By provider id. */
  readonly #answers = new Map<string, Answer>();
  readonly #evidence = new Map<string, NodeEvidence>();
  #other = "none";
  #process: Process;
  #history: LifecycleHistory;
  #doubt: Doubt;

  constructor(clock: VirtualClock, hasLookup: boolean) {
    this.#clock = clock;
    this.#hasLookup = hasLookup;
    for (const id of ids) this.#put(id, id >= 3, false);
    this.#process = new Process(clock, "nodes", () => this.#other);
    this.#history = this.#newHistory();
    this.#doubt = this.#begin();
  }

  get memory() {
    return this.#process.memory;
  }

  get #deps() {
    const inventory = {
      isNeeded: true,
      manages: () => true,
      // No other machine has the name of a Node.
      check: ({ providerID }: { readonly providerID?: string }): Answer =>
        providerID === undefined
          ? { kind: "gone", proof: "listing", asOf: 0 }
          : (this.#answers.get(providerID) ?? unknown),
    };
    const nodes = {
      get: (name: string) => this.#nodes.get(name),
      list: () => [...this.#nodes.values()],
      subscribe: (listener: (change: Change<Node>) => void) => {
        this.#listeners.add(listener);
        return () => this.#listeners.delete(listener);
      },
    };
    const { removals } = this.#process;
    return {
      inventory,
      nodes,
      removals,
      clock: this.#clock,
      isSelected: () => true,
      formerLeaders: () => 0,
    } as never;
  }

  #newHistory(): LifecycleHistory {
    this.#listeners.clear();
    return new LifecycleHistory(this.#deps);
  }

  #begin(): Doubt {
    this.#answers.clear();
    this.#evidence.clear();
    const now = this.#clock.monotonic();
    for (const [name, node] of this.#nodes) if (!isReady(node)) this.#evidence.set(name, noEvidence(now));
    const candidates = { evidenceOf: (name: string) => this.#evidence.get(name) ?? noEvidence(0) };
    const census = new NodeCensus(this.#deps, candidates, this.#history);
    const { removals, limit } = this.#process;
    return new Doubt({
      kind: "nodes",
      census,
      settings: lifecycleDefaults,
      removals,
      clock: this.#clock,
      memory: limit,
    });
  }

  #put(id: number, isNodeReady: boolean, isCordoned: boolean): void {
    const name = uidOf(id);
    const before = this.#nodes.get(name);
    const after = {
      metadata: { name, uid: name, resourceVersion: "1" },
      spec: { providerID: `fake://${id}`, ...(isCordoned && { unschedulable: true }) },
      status: { conditions: [{ type: "Ready", status: isNodeReady ? "True" : "Unknown" }] },
    } as Node;
    this.#nodes.set(name, after);
    for (const listener of this.#listeners) listener({ key: name, before, after } as Change<Node>);
  }

  #find(id: number): Node {
    const node = this.#nodes.get(uidOf(id));
    if (node === undefined) throw new Error(`The model deleted Node ${id}.`);
    return node;
  }

  #note(id: number, proof: "listing" | "lookup", isFound: boolean): void {
    const now = this.#clock.monotonic();
    const known = { proof, asOf: now };
    const instance = machine(String(id));
    const answer: Answer = isFound
      ? { kind: "exists", instance, source: "cloud", ...known, othersAsOf: Number.POSITIVE_INFINITY }
      : { kind: "gone", ...known };
    this.#answers.set(`fake://${id}`, answer);
    const evidence = this.#evidence.get(uidOf(id));
    if (evidence !== undefined) this.#evidence.set(uidOf(id), addAnswer(evidence, answer, now));
  }

  list(shown: ReadonlySet<number>): void {
    for (const id of ids) this.#note(id, "listing", shown.has(id));
    this.#process.removals.account.note();
    // As `#onInventoryUpdate` of the controller.
    if (this.#evidence.size > 0 || this.#doubt.isHolding) this.#doubt.refresh();
    else this.#doubt.invalidate();
  }

  ask(id: number, isFound: boolean): void {
    this.#note(id, "lookup", isFound);
    this.#doubt.invalidate();
  }

  async reconcile(id: number): Promise<string> {
    const node = this.#find(id);
    const { name, uid } = node.metadata;
    const evidence = this.#evidence.get(name) ?? noEvidence(0);
    const { removals } = this.#process;
    this.#doubt.invalidate();
    const decision = planLifecycle({
      node,
      answer: this.#answers.get(`fake://${id}`) ?? unknown,
      evidence,
      proofKinds: this.#hasLookup ? ["listing", "lookup"] : ["listing"],
      doubt: () => this.#doubt.verdict(),
      outOfServiceDoubt: () => this.#doubt.verdict(),
      isReleased: removals.isReleased("nodes", uid),
      settings: lifecycleDefaults,
      now: this.#clock.monotonic(),
    });
    const isShown = this.#answers.get(`fake://${id}`)?.kind === "exists";
    if (decision.kind === "hold") {
      this.#process.hold(id);
      return "held";
    }
    if (isShown) {
      this.#process.endRelease(id);
      this.#process.endHold(id);
      return "present";
    }
    const staysHeld = evidence.proofs.length === 0 || this.#doubt.about(uid).held !== undefined;
    if (decision.kind !== "query" || !staysHeld) this.#process.endHold(id);
    if (decision.kind !== "delete") return "wait";
    if (decision.isAnnounced) this.#history.announce(node);
    else if ((await this.#doubt.record([uid], [name])) === "decide again") return "recorded";
    this.#nodes.delete(name);
    this.#evidence.delete(name);
    for (const listener of this.#listeners) listener({ key: name, before: node, after: undefined } as never);
    this.#doubt.invalidate();
    return "acted";
  }

  leave(id: number): void {
    const node = this.#nodes.get(uidOf(id));
    if (node !== undefined) this.#put(id, isReady(node), node.spec.unschedulable !== true);
    this.#doubt.invalidate();
  }

  report(id: number): void {
    const node = this.#find(id);
    const { name } = node.metadata;
    if (isReady(node)) this.#evidence.set(name, noEvidence(this.#clock.monotonic()));
    else {
      this.#evidence.delete(name);
      this.#process.endHold(id);
    }
    this.#put(id, !isReady(node), node.spec.unschedulable === true);
    this.#doubt.invalidate();
  }

  vouch(other: string): void {
    this.#other = other;
    this.#process.removals.account.note();
  }

  release(): void {
    this.#process.release(this.#doubt);
  }

  restart(reconnects: boolean): void {
    this.#doubt = this.#begin();
    if (reconnects) this.#process.removals.account.restart(this.#clock.monotonic());
  }

  handOver(): void {
    this.#process = new Process(this.#clock, "nodes", () => this.#other, this.#process);
    this.#history = this.#newHistory();
    this.#doubt = this.#begin();
  }
}
