import { afterEach, describe, expect, test } from "bun:test";
import { asTransport } from "#ccm/testing";
import { FakeCloud } from "../../../providers/fake/simulator/fake-cloud.ts";
import { AccountProof, type AccountWitness } from "../../../src/controllers/kernel/account-proof.ts";
import { milliseconds } from "../../../src/core/brand.ts";
import type { Transport } from "../../../src/platform/transport.ts";
import type { VirtualClock } from "../../../src/testing/virtual-time/virtual-clock.ts";
import { runCommandIn } from "../../support/command-world.ts";
import { ReloadingProcess } from "../../support/reloading-process.ts";
import { ServiceWorld } from "../../support/service-world.ts";

// A manager whose credentials belong to another project: it sees none of the objects that the
// cluster records by id, however small the cluster is.

const all = "cloud-node,cloud-node-lifecycle,service,node-route";
const suspicion = "may belong to another project";

let world: ServiceWorld | undefined;
afterEach(async () => {
  await world?.stop();
});

interface Projects {
  readonly w: ServiceWorld;
  readonly other: FakeCloud;
  /** Selects the project of the credentials. */
  use(project: "own" | "other"): void;
  readonly transport: Transport;
}

function projects(nodes: number, controllers = all): Projects {
  let isOther = false;
  let clock: VirtualClock | undefined;
  const transport: Transport = (request, signal) => asTransport(isOther ? other : w.cloud)(request, signal);
  const w = new ServiceWorld({
    nodes,
    controllers,
    cloud: (own) => {
      clock = own;
      return transport;
    },
  });
  world = w;
  if (clock === undefined) throw new Error("The world has no clock.");
  const other = new FakeCloud({ clock, latency: milliseconds(20) });
  return {
    w,
    other,
    use: (project) => {
      isOther = project === "other";
    },
    transport,
  };
}

const leading = ["--leader-elect=true", "--cluster-cidr=10.244.0.0/16"];

async function settled(nodes: number, services: readonly string[], controllers = all): Promise<Projects> {
  const p = projects(nodes, controllers);
  const { w } = p;
  for (let index = 0; index < nodes; index += 1) {
    w.changeNode(`node-${index}`, (node) => {
      const podCIDR = `10.244.${index}.0/24`;
      return { ...node, spec: { ...node.spec, podCIDR, podCIDRs: [podCIDR] } };
    });
    w.setReady(`node-${index}`, "True");
  }
  await w.start(...leading);
  for (const name of services) w.create(name);
  await w.until(() => services.every((name) => w.addressesOf(name).length === 1), "all addresses");
  await w.pass(90);
  return p;
}

/** All kubelets stop, and the manager restarts with these credentials. */
async function restart({ w, use }: Projects, project: "own" | "other", ...flags: readonly string[]) {
  await w.stop();
  use(project);
  for (const { metadata } of w.server.store.list("nodes")) w.setReady(metadata.name, "Unknown");
  await w.start(...leading, ...flags);
}

const nodesOf = (w: ServiceWorld): number => w.server.store.list("nodes").length;
const changesIn = ({ seen }: FakeCloud): readonly string[] =>
  seen.flatMap(({ operation }) => (operation.startsWith("GET ") ? [] : operation));
const logOf = (w: ServiceWorld): string => w.logged.join("\n");
const release = (w: ServiceWorld, kind: string): void =>
  w.annotateLease({ "fairlead.dev/release-hold": kind });

describe("credentials of another project", () => {
  test("with credentials of another project, creates and deletes nothing and keeps the address for an hour after a restart of a small cluster [N1]", async () => {
    const p = await settled(3, ["web"]);
    const { w, other, transport } = p;
    const address = w.addressesOf("web");
    await restart(p, "other");
    await w.pass(3600);
    expect(changesIn(other)).toEqual([]);
    expect(nodesOf(w)).toBe(3);
    expect(w.addressesOf("web")).toEqual(address);
    expect(w.events("web").join("\n")).toContain(
      "Warning MassRecreationHeld The load balancer of this Service is absent, and the cloud shows nothing that this cluster records: its credentials may belong to another project (if so, correct them), so none is created again until the cloud lists them. To create all of them: `kubectl",
    );
    expect(w.manager.removals.held("load-balancers")).toEqual(["default/web"]);
    const plan = await runCommandIn(w, ["plan", "--master=http://test-api-server"], { cloud: transport });
    expect([plan.code, plan.out.replaceAll(/\s+/g, " ")]).toEqual([3, expect.stringContaining(suspicion)]);
    expect(plan.out).toContain("no changes would be made");
  });

  test("with credentials of another project, creates nothing after a restart with one Service and no Node", async () => {
    const p = await settled(0, ["web"], "service");
    await restart(p, "other");
    await p.w.pass(600);
    expect([changesIn(p.other), p.w.manager.removals.held("load-balancers")]).toEqual([[], ["default/web"]]);
    // The finalizer also stays.
    p.w.delete("web");
    await p.w.pass(600);
    expect(p.w.find("web")?.metadata.finalizers).toHaveLength(1);
  });

  test("with credentials of another project, keeps the only Node after a restart, even if the Node was announced as leaving", async () => {
    const p = await settled(1, []);
    p.w.changeNode("node-0", (node) => ({ ...node, spec: { ...node.spec, unschedulable: true } }));
    await restart(p, "other");
    await p.w.pass(600);
    expect([nodesOf(p.w), p.w.manager.removals.held("nodes")]).toEqual([1, ["node-0"]]);
    expect(logOf(p.w)).toContain("The cloud shows no instance for 1 of 1 Nodes, and the cloud shows nothing");
  });

  test("with credentials of another project, removes no route of a cluster in that project", async () => {
    const p = await settled(3, [], "cloud-node-lifecycle,node-route");
    const [own] = p.w.cloud.routes.list();
    // The ids of the simulated cloud begin with 1 in each project.
    const [id = ""] = ["a", "b", "c", "elsewhere"].map((name) => p.other.machines.add(name).id).slice(3);
    for (const name of ["a", "b", "c"]) p.other.machines.remove(name);
    p.other.routes.create({ ...own, destination: "10.244.9.0/24", machine: id });
    await restart(p, "other");
    await p.w.pass(600);
    expect([changesIn(p.other), p.w.manager.removals.held("routes")]).toEqual([[], ["10.244.9.0/24"]]);
    expect(logOf(p.w)).toContain(suspicion);
  });

  test("a machine in another project with the name of a joining Node does not confirm the account", async () => {
    const p = await settled(1, ["web"]);
    const address = p.w.addressesOf("web");
    // The ids of the simulated cloud begin with 1 in each project.
    for (let index = 0; index < 5; index += 1) p.other.machines.add(`other-${index}`);
    const { id } = p.other.machines.add("node-9");
    for (let index = 0; index < 5; index += 1) p.other.machines.remove(`other-${index}`);
    await restart(p, "other");
    await p.w.pass(60);
    p.w.addNode("node-9");
    const taints = [
      { key: "node.cloudprovider.kubernetes.io/uninitialized", effect: "NoSchedule", value: "true" },
    ];
    p.w.changeNode("node-9", (node) => ({ ...node, spec: { taints } }));
    const isIdentified = () =>
      JSON.stringify(p.w.server.store.get("nodes", undefined, "node-9")).includes(`"fake://${id}"`);
    await p.w.until(isIdentified, "the provider id");
    await p.w.pass(600);
    expect([changesIn(p.other), p.w.addressesOf("web"), nodesOf(p.w)]).toEqual([[], address, 2]);
  });

  test("creates the load balancer of a new Service in another project, which does not confirm the account", async () => {
    const p = await settled(1, ["web"]);
    const address = p.w.addressesOf("web");
    await restart(p, "other");
    await p.w.pass(60);
    p.w.create("new");
    await p.w.until(() => p.w.addressesOf("new").length === 1, "the address of the new Service");
    await p.w.pass(600);
    expect(changesIn(p.other)).toEqual(["POST /balancers"]);
    expect([p.w.addressesOf("web"), nodesOf(p.w)]).toEqual([address, 1]);
  });

  test("the load balancer of a new Service in another project does not vouch for the account in a later session", async () => {
    const p = await settled(1, ["web"]);
    const address = p.w.addressesOf("web");
    await restart(p, "other");
    await p.w.pass(60);
    p.w.create("new");
    await p.w.until(() => p.w.addressesOf("new").length === 1, "the address of the new Service");
    for (let count = 0; count < 2; count += 1) {
      p.w.holdLease("another-program");
      await p.w.pass(20);
      p.w.holdLease("");
      await p.w.pass(300);
    }
    expect(p.w.logged.filter((line) => line.includes("Acquired leadership"))).toHaveLength(4);
    expect(changesIn(p.other)).toEqual(["POST /balancers"]);
    expect([p.w.addressesOf("web"), nodesOf(p.w)]).toEqual([address, 1]);
  });

  test("a machine of another project with the name of a joining Node does not vouch for the account in a later session", async () => {
    const p = await settled(1, ["web"]);
    const address = p.w.addressesOf("web");
    // The ids of the simulated cloud begin with 1 in each project.
    for (let index = 0; index < 5; index += 1) p.other.machines.add(`other-${index}`);
    p.other.machines.add("node-9");
    for (let index = 0; index < 5; index += 1) p.other.machines.remove(`other-${index}`);
    await restart(p, "other");
    await p.w.pass(60);
    p.w.addNode("node-9");
    const taints = [
      { key: "node.cloudprovider.kubernetes.io/uninitialized", effect: "NoSchedule", value: "true" },
    ];
    p.w.changeNode("node-9", (node) => ({ ...node, spec: { taints } }));
    const isIdentified = () =>
      JSON.stringify(p.w.server.store.get("nodes", undefined, "node-9")).includes('"fake://6"');
    await p.w.until(isIdentified, "the provider id");
    p.w.holdLease("another-program");
    await p.w.pass(20);
    p.w.holdLease("");
    await p.w.pass(600);
    expect([changesIn(p.other), p.w.addressesOf("web"), nodesOf(p.w)]).toEqual([[], address, 2]);
  });

  test("changes nothing after a reload to credentials of another project", async () => {
    const { w, other } = projects(1);
    const process = new ReloadingProcess({
      world: w,
      contents: { "/etc/cloud.conf": "token = one" },
      args: ["--cloud-config=/etc/cloud.conf", `--controllers=${all}`],
    });
    await process.untilLeading();
    w.create("web");
    await w.until(() => w.addressesOf("web").length === 1, "the address");
    await w.pass(120);
    const address = w.addressesOf("web");
    const own = w.cloud;
    Object.assign(w, { cloud: other });
    process.hangUp("/etc/cloud.conf", "token = two");
    w.setReady("node-0", "Unknown");
    await w.pass(600);
    expect([changesIn(other), nodesOf(w), w.addressesOf("web")]).toEqual([[], 1, address]);
    expect(process.linesWith(suspicion)).not.toEqual([]);
    expect(w.conditionsOf("web").map(({ reason }) => reason)).toContain("MassRecreationHeld");
    Object.assign(w, { cloud: own });
    process.hangUp("/etc/cloud.conf", "token = one");
    await w.pass(600);
    expect([w.conditionsOf("web"), w.addressesOf("web"), w.owners()]).toEqual([[], address, w.wanted()]);
    await process.end();
  });
});

describe("a doubted account", () => {
  test("a doubted account releases all holds once the project shows a recorded object", async () => {
    const p = await settled(2, ["web"]);
    await restart(p, "other");
    await p.w.pass(120);
    expect(p.w.manager.removals.held("load-balancers")).toEqual(["default/web"]);
    p.use("own");
    p.w.cloud.machines.remove("node-1");
    await p.w.until(() => nodesOf(p.w) === 1, "the deletion of the Node whose instance is gone", 900);
    expect(p.w.manager.removals.held("load-balancers")).toEqual([]);
    expect(p.w.owners()).toEqual(p.w.wanted());
  });

  test("a doubted account releases all holds once an operator releases them", async () => {
    const p = await settled(1, ["web"]);
    await restart(p, "other");
    await p.w.pass(120);
    release(p.w, "all");
    await p.w.until(() => changesIn(p.other).includes("POST /balancers"), "the new load balancer", 300);
    await p.w.until(() => nodesOf(p.w) === 0, "the deletion of the Node", 300);
  });

  test("a doubted account holds nothing with --removal-limit=off", async () => {
    const p = await settled(1, ["web"]);
    await restart(p, "other", "--removal-limit=off");
    await p.w.until(() => changesIn(p.other).includes("POST /balancers"), "the new load balancer", 300);
    await p.w.until(() => nodesOf(p.w) === 0, "the deletion of the Node", 300);
  });
});

describe("an account that is vouched for", () => {
  test("recreates the only load balancer after a restart without a hold, because the account shows a Node", async () => {
    const p = await settled(1, ["web"]);
    for (const { id } of p.w.cloud.balancers.list()) p.w.cloud.balancers.remove(id);
    await restart(p, "own");
    await p.w.until(() => p.w.owners().length === 1, "the new load balancer", 45);
    expect(logOf(p.w)).not.toContain(suspicion);
    expect(p.w.events("web").join("\n")).not.toContain("Held");
  });

  test("deletes the last Node after a restart without a hold, because the account shows a load balancer", async () => {
    const p = await settled(1, ["web"]);
    p.w.cloud.machines.remove("node-0");
    await restart(p, "own");
    await p.w.until(() => nodesOf(p.w) === 0, "the deletion of the Node", 60);
    expect(logOf(p.w)).not.toContain(suspicion);
  });

  test("an account stays confirmed when everything is lost later", async () => {
    const { w } = await settled(1, []);
    w.cloud.machines.remove("node-0");
    w.setReady("node-0", "Unknown");
    await w.until(() => nodesOf(w) === 0, "the deletion of the Node", 300);
  });
});

describe("the proof of an account", () => {
  const proofOf = (...sights: readonly ReturnType<AccountWitness>[]): AccountProof => {
    const account = new AccountProof(() => undefined);
    for (const sight of sights) account.follow(() => sight);
    account.note();
    return account;
  };

  test.each([
    [[], undefined],
    [[undefined], undefined],
    [["absent"], "nothing shown"],
    [["absent", undefined], "nothing shown"],
    [["absent", "unknown"], "unanswered"],
    [["unknown", undefined], "unanswered"],
    [["absent", "unknown", "shown"], undefined],
  ] as const)("the account proof with the observations %j leaves the doubt %p", (sights, doubt) => {
    expect(proofOf(...sights).doubt).toBe(doubt);
  });

  test("the account proof does not query a witness whose session has ended", () => {
    const account = new AccountProof(() => undefined);
    const end = account.follow(() => "absent");
    account.note();
    end();
    expect(account.doubt).toBe("nothing shown");
    account.note();
    expect(account.doubt).toBeUndefined();
  });

  test("the account proof requires objects from before the account was last confirmed", () => {
    const account = new AccountProof(() => undefined);
    const asked: number[] = [];
    let sight: ReturnType<AccountWitness> = "absent";
    account.follow((_, recordedBy) => {
      asked.push(recordedBy);
      return sight;
    });
    account.note();
    account.restart(5);
    account.note();
    sight = "shown";
    account.note();
    account.restart(9);
    account.note();
    account.restart(12);
    expect([asked, account.recordedBy]).toEqual([
      [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY, 9],
      12,
    ]);
  });

  test("the account is unproved before the first answer, and with other credentials until they show an object", () => {
    const account = new AccountProof(() => undefined);
    expect(account.doubt).toBe("unanswered");
    const shownAt = 5;
    account.follow((since) => (shownAt > since ? "shown" : "unknown"));
    account.note();
    expect(account.doubt).toBeUndefined();
    account.restart(5);
    account.note();
    expect(account.doubt).toBe("unanswered");
  });
});
