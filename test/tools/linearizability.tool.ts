// Histories of replicas, checked with porcupine: each Lease, Node and Service is a register whose reads and changes have one order
// that all clients can have seen, although the network delays requests and loses answers.

import { describe, expect, test } from "bun:test";
import { minutes } from "../../src/core/brand.ts";
import { runsNightly } from "../../src/testing/breadth.ts";
import { runSimulation } from "../simulation/run-simulation.ts";
import type { World } from "../simulation/world.ts";
import { checkWith, linearizabilityChecker, type Operation } from "./linearizability/operations.ts";
import { leaseOperations } from "./linearizability/read-audit.ts";
import { others, recordOperations, type Serve } from "./linearizability/record-simulation.ts";
import { orSkipped } from "./rig/install.ts";

const program = orSkipped("histories of replicas", linearizabilityChecker);
const check = (history: readonly Operation[]): string => checkWith(program ?? "", history);

const seeds = Array.from({ length: runsNightly ? 100 : 10 }, (_, index) => index + 2);
const lease = "leases/kube-system/cloud-controller-manager";
const leasePath = "/namespaces/kube-system/leases/cloud-controller-manager";

/** Half an hour of faults with two replicas. */
async function recordSeed(seed: number, serve?: (world: World) => Serve): Promise<readonly Operation[]> {
  let operations = (): readonly Operation[] => [];
  await runSimulation({
    seed,
    replicas: 2,
    onlyDisruptions: true,
    before: (world) => {
      operations = recordOperations(world, serve?.(world));
    },
  });
  return operations();
}

/** The hundredth answer with the Lease is as old as the first. */
const serveStaleRead = (): Serve => {
  const answers: string[] = [];
  return async (request, send) => {
    const response = await send(request);
    if (request.method !== "GET" || !request.url.endsWith(leasePath) || !response.ok) return response;
    answers.push(await response.text());
    const body = answers[answers.length === 100 ? 0 : answers.length - 1];
    return new Response(body, response);
  };
};

/** A Lease that an operator has just changed is overwritten. */
const serveLostUpdate = (world: World): Serve => {
  world.clock.after(minutes(10), () => world.releaseHolds());
  return (request, send) => {
    const { method, url, body } = request;
    const stored = world.server.store.get("leases", "kube-system", "cloud-controller-manager");
    if (method !== "PUT" || !url.endsWith(leasePath) || stored === undefined) return send(request);
    const sent = JSON.parse(String(body));
    const { resourceVersion } = stored.metadata;
    return send({
      ...request,
      body: JSON.stringify({ ...sent, metadata: { ...sent.metadata, resourceVersion } }),
    });
  };
};

/** The history of one object, whose operations follow each other. */
const historyOf = (operations: readonly Partial<Operation>[]): readonly Operation[] =>
  operations.map((operation, index) => ({
    object: "leases/one",
    client: `client-${index}`,
    operation: "update",
    call: 2 * index + 1,
    ...(operation.result !== undefined && { return: 2 * index + 2 }),
    ...operation,
  }));

const created = { operation: "create", result: "done", version: 1, content: "a" } as const;
const read = (version: number, content: string) =>
  ({ operation: "read", result: "done", version, content }) as const;
const lost = { expected: 1, content: "b" } as const;
const changed = { expected: 1, result: "done", version: 2, content: "c" } as const;

describe.if(program !== undefined)("porcupine", () => {
  test(`finds a linear order for the operations of two replicas in ${seeds.length} seeds`, async () => {
    const [kinds, found] = [new Map<string, number>(), [] as string[]];
    for (const seed of seeds) {
      const history = await recordSeed(seed);
      const problems = check(history).split("\n");
      if (!/^\d+ objects, 0 not linearizable$/.test(problems[0] ?? ""))
        found.push(`seed ${seed}`, ...problems);
      for (const { object, client, operation, result = "without an answer", expected } of history) {
        if (client === others) continue;
        const needsVersion = operation === "delete" || (operation === "update" && object === lease);
        if (needsVersion && expected === undefined)
          found.push(`seed ${seed}: ${client} sent ${operation} ${object} without a version`);
        const kind = `${operation} ${object.split("/")[0]}: ${result}`;
        kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
      }
    }
    console.log(
      [...kinds]
        .toSorted()
        .map(([kind, count]) => `${count} × ${kind}`)
        .join("\n"),
    );
    expect(found).toEqual([]);
    const all = [
      "leases: done",
      "leases: conflict",
      "leases: without an answer",
      "nodes: done",
      "services: done",
    ];
    for (const kind of all) expect([...kinds.keys()].filter((each) => each.endsWith(kind))).not.toEqual([]);
  });

  test.each([
    ["a stale read that is served as a new one", serveStaleRead, "read"],
    ["an accepted update of a Lease that another client has changed", serveLostUpdate, "update"],
  ])("finds %s", async (_, serve, operation) => {
    const [first = "", last] = check(await recordSeed(3, serve)).split("\n");
    expect(first).toStartWith(`${lease}: Illegal: `);
    expect(first).toContain(`Operation:${operation}`);
    expect(last).toEndWith(", 1 not linearizable");
  });

  test.each<[string, 0 | 1, Partial<Operation>[]]>([
    ["takes effect between two reads", 0, [created, lost, read(1, "a"), read(2, "b")]],
    ["has no effect", 0, [created, lost, read(1, "a"), changed, read(2, "c")]],
    ["takes effect before a conflict", 0, [created, lost, { expected: 1, result: "conflict" }]],
    ["takes effect and is replaced", 0, [created, lost, { ...changed, expected: 2, version: 3 }]],
    ["takes effect after another change of the same version", 1, [created, lost, changed, read(3, "b")]],
    ["takes effect before it is sent", 1, [created, read(2, "b"), lost]],
    ["has another effect", 1, [created, lost, read(2, "d")]],
    ["is undone", 1, [created, lost, read(2, "b"), read(1, "a")]],
  ])("judges an update without an answer that %s", (_, problems, operations) => {
    expect(check(historyOf(operations))).toEndWith(`1 objects, ${problems} not linearizable`);
  });

  test("reads the operations on a Lease from the audit log of an API server", () => {
    const event = (second: number, verb: string, fields: object): string =>
      JSON.stringify({
        auditID: String(second),
        stage: "ResponseComplete",
        verb,
        user: { username: "replica-1" },
        objectRef: { resource: "leases", namespace: "kube-system", name: "ccm" },
        requestReceivedTimestamp: `2026-12-01T12:00:0${second}.000001Z`,
        stageTimestamp: `2026-12-01T12:00:0${second}.000002Z`,
        ...fields,
      });
    const log = (version: string): string =>
      [
        event(0, "create", {
          responseStatus: { code: 201 },
          responseObject: { metadata: { resourceVersion: "7" } },
        }),
        // The API server was killed before it answered.
        event(1, "update", { stage: "RequestReceived" }),
        event(2, "get", {
          responseStatus: { code: 200 },
          responseObject: { metadata: { resourceVersion: version } },
        }),
      ].join("\n");
    const operations = leaseOperations(log("9"), "kube-system", "ccm");
    expect(operations.map(({ operation, result, version }) => [operation, result, version])).toEqual([
      ["create", "done", 7],
      ["update", undefined, undefined],
      ["read", "done", 9],
    ]);
    expect(check(operations)).toBe("1 objects, 0 not linearizable");
    expect(check(leaseOperations(log("6"), "kube-system", "ccm"))).toEndWith("1 objects, 1 not linearizable");
  });
});
