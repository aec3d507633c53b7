// A cell of Nova that is down: Nova responds without its servers, whose Nodes must stay.

import { describe, expect, test } from "bun:test";
import { addServer } from "../../../providers/openstack/simulator/index.ts";
import { describeObject } from "../../../src/inspect/explain/describe-object.ts";
import { statusViewOf } from "../../../src/inspect/status/status-view.ts";
import type { Node } from "../../../src/kube/objects.ts";
import type { KubeObject } from "../../../src/testing/apiserver/objects/kube-object.ts";
import { resourceNamed } from "../../../src/testing/apiserver/objects/resource-table.ts";
import { toNode } from "../../support/api-server-nodes.ts";
import { uninitialized } from "../../support/node-controllers.ts";
import { OpenStackWorld } from "./openstack-world.ts";

/** The Node `old` is initialized. Its server is in a cell that can be down; `near` is in another cell. */
class TwoCells extends OpenStackWorld {
  constructor() {
    super({ nodes: 0 });
    this.addNode("old");
    this.addNode("near");
  }

  setCell(isUnreachable: boolean, ...names: readonly string[]): void {
    for (const name of names) this.cloud.project.servers.change(name, { isUnreachable });
  }

  /** A kubelet registers a Node that is not Ready yet. */
  join(name: string): void {
    const node = toNode({ name, uid: `uid-${name}`, spec: { taints: [uninitialized] } });
    const status = { conditions: [{ type: "Ready", status: "False" }] };
    this.world.server.store.put(resourceNamed("nodes"), { ...node, status } as Node as unknown as KubeObject);
  }

  node(name: string): Node | undefined {
    return this.world.server.store.get("nodes", undefined, name) as unknown as Node | undefined;
  }

  idOf(name: string): string | undefined {
    const node = this.node(name);
    return node && (node.spec.providerID ?? "");
  }

  override start(): Promise<void> {
    return super.start("--controllers=cloud-node,cloud-node-lifecycle");
  }
}

const reason = "Nova cannot reach the cell of the server";

describe("while a cell of Nova is down", () => {
  test("a Node that is not Ready stays until the cell is back, and is deleted if its server is gone [F23]", async () => {
    const h = new TwoCells();
    await h.start();
    await h.settle(60);
    h.setCell(true, "old");
    h.world.setReady("old", "Unknown");
    await h.settle(1200);
    expect(h.idOf("old")).toStartWith("openstack:///");
    expect(h.events("old")).toContain(reason);
    h.setCell(false, "old");
    await h.settle(1200);
    expect(h.idOf("old")).toStartWith("openstack:///");
    h.cloud.project.servers.remove(h.cloud.project.servers.existing("old").id);
    await h.settle(1200);
    expect(h.idOf("old")).toBeUndefined();
    await h.world.stop();
  });

  test("a Ready Node keeps its labels and addresses, and reports why nothing is updated, including in explain", async () => {
    const h = new TwoCells();
    h.world.setReady("old", "True");
    await h.start();
    await h.settle(60);
    const before = h.node("old");
    h.setCell(true, "old");
    await h.settle(1200);
    expect(h.events("old")).toContain(reason);
    expect(h.events("near")).not.toContain(reason);
    expect(h.requests).not.toContain("GET /compute/v2.1/flavors");
    expect(h.node("old")).toEqual(before);
    const note = { severity: "error", reason: "IncompleteInstance", sinceSeconds: expect.any(Number) };
    expect(describeObject(h.world.manager, "Node", "old")).toMatchObject({
      state: "problem",
      summary: expect.stringContaining(`It is Ready. ${reason}`),
      notes: [{ ...note, text: expect.stringContaining("Ask the operator of the cloud.") }],
    });
    expect(statusViewOf(h.world.manager).nodeCounts).toMatchObject({ bad: 1 });
    h.setCell(false, "old");
    await h.settle(1200);
    expect(describeObject(h.world.manager, "Node", "old")).toMatchObject({ state: "settled", notes: [] });
    h.setCell(true, "old");
    await h.settle(1200);
    expect(describeObject(h.world.manager, "Node", "old")).toMatchObject({ state: "problem" });
    h.cloud.project.servers.remove(h.cloud.project.servers.existing("old").id);
    await h.settle(1200);
    expect(describeObject(h.world.manager, "Node", "old")).toMatchObject({ notes: [] });
    await h.world.stop();
  });

  test("a joining Node stays longer than ten minutes, and is initialized when the cell is back [F23]", async () => {
    const h = new TwoCells();
    addServer(h.cloud.project, "new");
    h.setCell(true, "new");
    await h.start();
    h.join("new");
    await h.settle(1200);
    expect(h.idOf("new")).toBe("");
    expect(h.events("new")).toContain(reason);
    expect(h.events("new")).toContain("The Node is not deleted before the cloud shows that name.");
    expect(describeObject(h.world.manager, "Node", "new")).toMatchObject({
      facts: { Instance: expect.stringContaining("the cloud does not report the name of") },
    });
    h.setCell(false, "new");
    await h.settle(1200);
    expect(h.idOf("new")).toStartWith("openstack:///");
    await h.world.stop();
  });

  test("a Node whose server is in a working cell is initialized while another cell is down", async () => {
    const h = new TwoCells();
    h.setCell(true, "old");
    await h.start();
    await h.settle(60);
    addServer(h.cloud.project, "new");
    h.join("new");
    await h.settle(120);
    expect(h.idOf("new")).toStartWith("openstack:///");
    await h.world.stop();
  });
});
