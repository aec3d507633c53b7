import { afterEach, describe, expect, test } from "bun:test";
import { journalledSend } from "../../../src/controllers/kernel/journalled-send.ts";
import { LatestObjects } from "../../../src/controllers/latest-objects.ts";
import {
  ServingCertificateController,
  type ServingCertificateDeps,
} from "../../../src/controllers/serving-certificates/controller.ts";
import { ServingCertificateHistory } from "../../../src/controllers/serving-certificates/history.ts";
import type { RequestContent } from "../../../src/controllers/serving-certificates/plan.ts";
import { pausedAnnotation } from "../../../src/controllers/well-known.ts";
import { seconds } from "../../../src/core/brand.ts";
import { messageIn } from "../../../src/core/problem.ts";
import { KubeError } from "../../../src/kube/errors/kube-error.ts";
import type { CertificateSigningRequest } from "../../../src/kube/objects.ts";
import type { Patch } from "../../../src/kube/patches/patch.ts";
import { Store } from "../../../src/kube/watch/store.ts";
import { seededRandom } from "../../../src/platform/random.ts";
import { Journal } from "../../../src/runtime/journal.ts";
import { NodeControllers } from "../../support/node-controllers.ts";
import { machine, outage, type ScriptOptions } from "../../support/scripted-source.ts";

class World {
  readonly at: NodeControllers;
  readonly store = new Store<CertificateSigningRequest>();
  readonly patches: { readonly name: string; readonly patch: Patch }[] = [];
  readonly decided: string[] = [];
  readonly events: { readonly reason: string; readonly message: string }[] = [];
  conflicts = 0;
  reads = 0;
  readonly #compose: () => ServingCertificateController;
  #session = new AbortController();
  #ended: Promise<void>;

  constructor(mode: "enforce" | "observe" = "enforce", script: Omit<ScriptOptions, "clock"> = {}) {
    this.at = new NodeControllers({ machines: [machine("n0")], script });
    const { clock, inventory, nodes }: NodeControllers = this.at;
    const deps: ServingCertificateDeps = {
      clock,
      inventory,
      nodes: nodes.store,
      random: seededRandom(1),
      isSelected: () => true,
      concurrency: 4,
      report: (_, problem) => this.events.push({ reason: problem.reason, message: messageIn(problem) }),
      note: (message) => this.events.push({ reason: "", message }),
      api: { patch: (_, { name }, patch) => this.#patch(name, patch) },
      send: journalledSend({ journal: new Journal(), clock, mode }, "cluster", () => false),
      readRequest: (pem) => {
        this.reads += 1;
        return JSON.parse(pem) as RequestContent;
      },
      onDecision: (kind) => this.decided.push(kind),
    };
    const history = new ServingCertificateHistory(deps, new LatestObjects(this.store));
    this.#compose = () => new ServingCertificateController(deps, history);
    this.#ended = this.#compose().run(this.#session.signal);
  }

  /** Another session of the same process begins and continues with the watch. */
  async reload(): Promise<void> {
    this.#session.abort();
    await this.#ended;
    this.#session = new AbortController();
    this.#ended = this.#compose().run(this.#session.signal);
  }

  /** Another leadership session begins and lists the pending requests again. */
  async handOver(): Promise<void> {
    this.#session.abort();
    await this.#ended;
    this.#session = new AbortController();
    const answered = new Set(this.patches.map(({ name }) => name));
    const requests = [...this.store.list()].filter(({ metadata }) => !answered.has(metadata.name));
    this.store.apply({ type: "begin" });
    for (const object of requests) this.store.apply({ type: "object", object, initial: true });
    this.store.apply({ type: "complete", resourceVersion: "2" });
    this.#ended = this.#compose().run(this.#session.signal);
  }

  #patch = async <T>(name: string, patch: Patch): Promise<T> => {
    if (this.conflicts > 0) {
      this.conflicts -= 1;
      throw new KubeError("conflict", "The request was changed.", { operation: "patch" });
    }
    this.patches.push({ name, patch });
    return undefined as T;
  };

  request(
    name: string,
    options: { readonly node?: string; readonly addresses?: readonly string[] } = {},
  ): void {
    const { node = "n0", addresses = ["10.0.0.1"] } = options;
    const username = `system:node:${node}`;
    const content = {
      commonNames: [username],
      organizations: ["system:nodes"],
      dnsNames: [node],
      addresses,
      others: [],
    };
    const object: CertificateSigningRequest = {
      metadata: { name, uid: `uid-${name}`, resourceVersion: "1" },
      spec: {
        username,
        groups: ["system:nodes"],
        usages: ["digital signature", "server auth"],
        signerName: "kubernetes.io/kubelet-serving",
        request: btoa(JSON.stringify(content)),
      },
    };
    this.store.apply({ type: "object", object, initial: false });
  }

  join(name = "n0", providerID: string | undefined = `fake://${name}`): void {
    this.at.nodes.add({ name, spec: providerID === undefined ? {} : { providerID } });
  }

  /** The written conditions, as `name type`. */
  get answers(): readonly string[] {
    return this.patches.map(({ name, patch }) => {
      const { status } = patch.body as {
        readonly status: { readonly conditions: readonly { readonly type: string }[] };
      };
      return `${name} ${status.conditions[0]?.type}`;
    });
  }

  async end(): Promise<void> {
    this.#session.abort();
    await this.#ended;
    await this.at.stop();
  }
}

let world: World | undefined;
afterEach(() => world?.end());
const open = (...options: ConstructorParameters<typeof World>): World => {
  world = new World(...options);
  return world;
};

describe("the controller of serving certificates", () => {
  test("approves all certificate requests that arrive together with one listing, and never twice [F83 N9]", async () => {
    const w = open();
    for (const name of ["n0", "n1", "n2"]) {
      w.at.cloud.put(machine(name));
      w.join(name);
      w.request(`csr-${name}`, { node: name });
    }
    await w.at.pass(60);
    expect(w.answers.toSorted()).toEqual(["csr-n0 Approved", "csr-n1 Approved", "csr-n2 Approved"]);
    expect(w.at.cloud.listings).toBe(1);
    expect(w.decided).toEqual(["approved", "approved", "approved"]);
    expect(w.patches[0]?.patch).toMatchObject({
      subresource: "approval",
      body: { metadata: { uid: "uid-csr-n0", resourceVersion: "1" } },
    });
  });

  test("denies an address only after an answer that is newer than the request [F83 N9]", async () => {
    const w = open();
    w.join();
    w.request("first");
    await w.at.pass(30);
    expect([w.answers, w.at.cloud.listings]).toEqual([["first Approved"], 1]);
    // The cloud gets the address in the same minute, so the earlier answer must not lead to a denial.
    w.at.cloud.put(machine("n0", { addresses: [{ kind: "InternalIP", value: "10.0.0.9" }] }));
    w.request("second", { addresses: ["10.0.0.9"] });
    await w.at.pass(60);
    w.request("third", { addresses: ["10.0.0.1"] });
    await w.at.pass(60);
    expect(w.answers).toEqual(["first Approved", "second Approved", "third Denied"]);
    expect(w.events.at(-1)).toMatchObject({
      reason: "ServingCertificateDenied",
      message: expect.stringContaining("The instance n0 does not have 10.0.0.1."),
    });
  });

  test("does not approve a certificate request because of an answer that is older than a minute [F83]", async () => {
    const w = open();
    w.join();
    w.request("first");
    await w.at.pass(120);
    w.at.cloud.put(machine("n0", { addresses: [] }));
    w.request("second");
    await w.at.pass(30);
    expect(w.answers).toEqual(["first Approved", "second Denied"]);
  });

  test("decides a request that was pending for a long time only by a recent answer [F83]", async () => {
    const w = open();
    w.join();
    w.request("first");
    await w.at.pass(10);
    w.at.nodes.annotate("n0", { [pausedAnnotation]: "true" });
    w.request("moved");
    w.request("wrong", { addresses: ["10.0.0.9"] });
    await w.at.pass(10);
    w.at.inventory.requestListing(w.at.clock.monotonic(), "refresh");
    await w.at.pass(1200);
    // Meanwhile another machine has the address.
    w.at.cloud.put(machine("n0", { addresses: [{ kind: "InternalIP", value: "10.0.0.9" }] }));
    w.at.nodes.annotate("n0", { [pausedAnnotation]: "false" });
    await w.at.pass(30);
    expect(w.answers.toSorted()).toEqual(["first Approved", "moved Denied", "wrong Approved"]);
  });

  test("decides by a listing even if the listing takes longer than an answer counts as recent [F83]", async () => {
    const w = open();
    w.join();
    w.at.cloud.takes = seconds(100);
    w.request("csr");
    await w.at.pass(150);
    expect([w.answers, w.at.cloud.listings]).toEqual([["csr Approved"], 1]);
  });

  test("a certificate request waits while two Nodes have one machine, in any spelling of its provider ID [F83]", async () => {
    const w = open();
    w.at.cloud.keyOf = (id) => /^fake:\/+(.+)$/.exec(id)?.[1];
    w.at.cloud.put(machine("n0", { shortName: "n0" }));
    w.join("n0");
    w.join("n0.thief", "fake:///n0");
    w.request("theft", { node: "n0.thief" });
    w.request("own");
    await w.at.pass(30);
    expect(w.answers).toEqual([]);
    expect(w.events[0]?.message).toContain("The Nodes n0.thief and n0 have the same provider ID");
    w.at.nodes.remove("n0.thief");
    await w.at.pass(30);
    expect(w.answers).toEqual(["own Approved"]);
  });

  test("never approves addresses that the machines report themselves [F83]", async () => {
    const w = open();
    w.at.cloud.selfReported = true;
    w.join();
    w.request("csr");
    await w.at.pass(120);
    expect(w.answers).toEqual([]);
    expect(w.events.map(({ message }) => message)).toEqual([
      expect.stringContaining("The machine of the Node n0 reports its own addresses to the cloud"),
    ]);
  });

  test("reads a pending request once, however often the cloud answers [F83]", async () => {
    const w = open();
    w.join("late");
    w.request("csr", { node: "late" });
    for (let count = 0; count < 5; count += 1) {
      await w.at.pass(30);
      w.at.inventory.requestListing(w.at.clock.monotonic(), "refresh");
    }
    expect([w.reads, w.answers]).toEqual([1, []]);
  });

  test("a certificate request waits while the cloud does not answer, reports it once, and is approved afterwards [F83 N9]", async () => {
    const w = open();
    w.join();
    w.at.cloud.failure = { error: outage() };
    w.request("csr");
    await w.at.pass(120);
    expect(w.answers).toEqual([]);
    expect(w.events.map(({ reason }) => reason)).toEqual(["ServingCertificateWaiting"]);
    expect(w.events[0]?.message).toStartWith("Certificate signing request csr: It cannot be decided now: ");
    w.at.cloud.failure = undefined;
    await w.at.pass(600);
    expect(w.answers).toEqual(["csr Approved"]);
  });

  test("a certificate request waits for the Node and its provider ID [F83]", async () => {
    const w = open();
    w.request("csr");
    await w.at.pass(10);
    expect(w.events[0]?.message).toContain("The Node n0 does not exist yet.");
    w.join("n0", "");
    await w.at.pass(10);
    expect(w.events[1]?.message).toContain("The Node n0 has no provider ID yet.");
    w.at.nodes.change("n0", (node) => ({ ...node, spec: { ...node.spec, providerID: "fake://n0" } }));
    await w.at.pass(10);
    expect(w.answers).toEqual(["csr Approved"]);
  });

  test("a certificate request waits while the cloud has no instance, and is approved when a listing has it [F83]", async () => {
    const w = open();
    w.join("late");
    w.request("csr", { node: "late" });
    await w.at.pass(30);
    expect(w.events[0]?.message).toContain("The cloud has no instance for the Node late.");
    w.at.cloud.put(machine("late"));
    w.at.inventory.requestListing(w.at.clock.monotonic(), "refresh");
    await w.at.pass(10);
    expect(w.answers).toEqual(["csr Approved"]);
  });

  test("reports in the next session only new facts about a waiting request [F83]", async () => {
    const w = open();
    w.join("late");
    w.request("csr", { node: "late" });
    await w.at.pass(90);
    await w.handOver();
    await w.at.pass(90);
    expect(w.events.map(({ message }) => message)).toEqual([
      expect.stringContaining("The cloud has no instance for the Node late."),
    ]);
    w.at.nodes.annotate("late", { [pausedAnnotation]: "true" });
    await w.at.pass(30);
    expect(w.events.at(-1)?.message).toContain("The Node late is paused.");
  });

  test("denies nothing in the next session because of an answer from the last session [F83 N9]", async () => {
    const w = open();
    w.join();
    w.request("first");
    await w.at.pass(10);
    w.at.nodes.annotate("n0", { [pausedAnnotation]: "true" });
    w.request("second", { addresses: ["10.0.0.9"] });
    await w.at.pass(10);
    w.at.inventory.requestListing(w.at.clock.monotonic(), "refresh");
    await w.at.pass(5);
    w.at.cloud.put(machine("n0", { addresses: [{ kind: "InternalIP", value: "10.0.0.9" }] }));
    await w.handOver();
    w.at.nodes.annotate("n0", { [pausedAnnotation]: "false" });
    await w.at.pass(60);
    expect(w.answers).toEqual(["first Approved", "second Approved"]);
  });

  test("decides a request of the last session in the next session without another list", async () => {
    const w = open();
    w.request("csr");
    await w.at.pass(60);
    expect(w.answers).toEqual([]);
    await w.reload();
    w.join();
    await w.at.pass(60);
    expect(w.answers).toEqual(["csr Approved"]);
  });

  test("retries after a conflict, and forgets a deleted request [F83]", async () => {
    const w = open();
    w.join();
    w.conflicts = 1;
    w.request("csr");
    await w.at.pass(60);
    expect(w.answers).toEqual(["csr Approved"]);
    w.request("gone", { node: "n9" });
    await w.at.pass(10);
    const object = w.store.get("gone");
    if (object !== undefined) w.store.apply({ type: "deleted", object });
    w.at.cloud.put(machine("n9"));
    w.join("n9");
    await w.at.pass(60);
    expect(w.answers).toEqual(["csr Approved"]);
  });

  test("queries the cloud once per minute for a kubelet that sends a request every second [F83 N4]", async () => {
    const w = open();
    w.join();
    for (let count = 0; count < 600; count += 1) {
      w.request(`csr-${count}`, { addresses: ["10.0.0.9"] });
      await w.at.pass(1);
    }
    expect(w.at.cloud.calls.length).toBeLessThanOrEqual(11);
    await w.at.pass(60);
    expect(w.answers.length).toBe(600);
  });

  test.each([
    ["listings of one page", 100, 41],
    ["listings of five pages, or lookups", 20, 41 * 5],
    ["listings of 20 pages, or lookups", 5, 11 * 20],
  ])(
    "limits the requests for 100 kubelets that send a request every minute: %s [F83 N4]",
    async (_, pageSize, limit) => {
      const w = open("enforce", { pageSize, lookups: { id: 1 } });
      const names = Array.from({ length: 100 }, (_, index) => `n${index}`);
      w.at.cloud.put(...names.map((name) => machine(name)));
      for (const name of names) w.join(name);
      w.at.inventory.requestListing(w.at.clock.monotonic(), "refresh");
      await w.at.pass(5);
      const requests = (): number =>
        w.at.cloud.lookupCalls.length + w.at.cloud.listings * (names.length / pageSize);
      const before = requests();
      for (let count = 0; count < 600; count += 1) {
        const node = names[(count * 7) % 100] ?? "";
        w.request(`csr-${count}`, { node, addresses: ["10.0.0.9"] });
        await w.at.pass(1);
      }
      expect(requests() - before).toBeLessThanOrEqual(limit);
      await w.at.pass(120);
      expect(w.answers.length).toBe(600);
    },
  );

  test("only logs its decision in observe mode [F83]", async () => {
    const w = open("observe");
    w.join();
    w.request("csr");
    await w.at.pass(60);
    expect([w.answers, w.decided, w.events]).toEqual([[], [], []]);
  });
});
