import { afterEach, describe, expect, test } from "bun:test";
import { asTransport } from "#ccm/testing";
import { debugState } from "../../../src/app/endpoints/debug-pages.ts";
import type { Transport } from "../../../src/platform/transport.ts";
import type { KubeObject } from "../../../src/testing/apiserver/objects/kube-object.ts";
import { resourceNamed } from "../../../src/testing/apiserver/objects/resource-table.ts";
import { toNode } from "../../support/api-server-nodes.ts";
import { uninitialized } from "../../support/node-controllers.ts";
import { ServiceWorld } from "../../support/service-world.ts";

// What /debug/state reports about Nodes that wait or are ignored: why, since when, and when they are retried.

let world: ServiceWorld | undefined;
afterEach(() => world?.stop());

const nodesOnly = ["--controllers=cloud-node", "--leader-elect=false"];
const join = (w: ServiceWorld, name: string, more: Partial<Parameters<typeof toNode>[0]> = {}) =>
  w.server.store.put(
    resourceNamed("nodes"),
    toNode({ name, spec: { taints: [uninitialized] }, ...more }) as unknown as KubeObject,
  );
const stateOf = (w: ServiceWorld) => debugState(w.manager.report());

describe("the debug state", () => {
  test("/debug/state contains the problem of a Node, its start time and the next attempt", async () => {
    const w = new ServiceWorld();
    world = w;
    await w.start(...nodesOnly);
    join(w, "lost");
    await w.pass(60);
    const { findings, queues } = stateOf(w);
    expect(findings.first).toMatchObject([{ name: "lost", severity: "error", reason: "NotFoundInCloud" }]);
    const [problem] = findings.first;
    expect(problem?.attempts).toBeGreaterThan(2);
    expect(problem?.sinceSeconds).toBeGreaterThan(50);
    const next = queues.find(({ name }) => name === "Nodes")?.next.first ?? [];
    expect(next.map(({ key }) => key)).toEqual(["lost"]);
    expect(next[0]?.inSeconds).toBeGreaterThan(0);
  });

  test("/debug/state contains the ignored Nodes with the reason", async () => {
    const w = new ServiceWorld();
    world = w;
    await w.start(...nodesOnly);
    join(w, "paused", { annotations: { "fairlead.dev/paused": "true" } });
    join(w, "foreign", { spec: { providerID: "other://1" } });
    await w.pass(5);
    const notice = { object: "Node", severity: "notice" } as const;
    expect(stateOf(w).findings.first).toEqual([
      {
        ...notice,
        name: "paused",
        reason: "Paused",
        text: expect.stringContaining("Paused by fairlead.dev/paused"),
        remedy: expect.stringContaining("Remove the annotation"),
      },
      {
        ...notice,
        name: "foreign",
        reason: "ForeignNode",
        text: expect.stringContaining("Provider ID other://1 belongs to another cloud"),
      },
    ]);
  });

  test("/debug/state contains the last failure of a source and the time of its first failure", async () => {
    let isAway = false;
    let toCloud: Transport | undefined;
    const w = new ServiceWorld({
      cloud: () => (request, signal) =>
        isAway || toCloud === undefined
          ? Promise.resolve(new Response("{}", { status: 503 }))
          : toCloud(request, signal),
    });
    world = w;
    toCloud = asTransport(w.cloud);
    await w.start(...nodesOnly);
    await w.pass(5);
    expect(stateOf(w).inventory[0]?.failure).toBeUndefined();
    isAway = true;
    join(w, "waits");
    await w.pass(120);
    const [source] = stateOf(w).inventory;
    expect(source?.failure?.text).toContain("503");
    expect(source?.failure?.failingForSeconds).toBeGreaterThan(100);
    expect(source?.failure?.lastSecondsAgo).toBeLessThan(source?.failure?.failingForSeconds ?? 0);
  });
});
