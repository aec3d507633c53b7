// The command `smoke` as a person runs it with the fake cloud: what it shows, asks and rejects, and how it handles faults.

import { expect, test } from "bun:test";
import { harness } from "../../../providers/fake/simulator/harness.ts";
import type { Transport } from "../../../src/platform/transport.ts";
import { isRead, SmokeRig } from "./smoke-rig.ts";

const withMachine = ["--yes", "--machine=worker-1", "--route-range=10.254.254.0/28"];

/** Every request with this method returns a 403. */
const refusing =
  (method: string) =>
  (transport: Transport): Transport =>
  (request, signal) =>
    request.method === method
      ? Promise.resolve(Response.json({ error: { message: "forbidden" } }, { status: 403 }))
      : transport(request, signal);

test("smoke shows the objects that it creates, the time limits, the mark and the record, and asks for confirmation", async () => {
  const rig = new SmokeRig(harness);
  const { code, out, err } = await rig.run({ args: withMachine.slice(1), typed: "no" });
  for (const line of [
    "  load balancer:  1, for port 80 and later 81, to port 29980 of the machine worker-1\n",
    "  route:          1, from 10.254.254.0/28 to the machine worker-1\n",
    "  volume:         1 of 1Gi, the smallest, attached to no machine\n",
    "Fairlead does not know the prices",
    "At most 10m for the test (--timeout), and again at most 10m for the removal.",
    "Some clouds need a setting of the machine for that",
    "fairlead-smoke-fake.record.json in this folder",
  ])
    expect(out).toContain(line);
  expect(err).toEndWith("Type yes: fake-cloud-controller-manager: nothing was created\n");
  expect([code, rig.changes, await rig.read(rig.recordPath)]).toEqual([3, [], ""]);
});

test("smoke creates nothing without a terminal and without --yes", async () => {
  const rig = new SmokeRig(harness);
  const { code, err } = await rig.run({ args: [] });
  expect([code, rig.changes]).toEqual([3, []]);
  expect(err).toContain("nothing was created: there is no terminal to ask; run smoke again with --yes");
});

test("smoke records the objects that it may create before the first change", async () => {
  const rig = new SmokeRig(harness);
  const records: string[] = [];
  await rig.run({
    args: withMachine,
    through: (transport) => async (request, signal) => {
      if (!isRead(request)) records.push(await rig.read(rig.recordPath));
      return transport(request, signal);
    },
  });
  expect(JSON.parse(records[0] ?? "{}")).toMatchObject({
    open: ["load balancer", "route", "volume"],
    route: { destination: "10.254.254.0/28" },
    machine: { node: "worker-1" },
  });
});

const refused: readonly (readonly [string, readonly string[], number, string])[] = [
  [
    "a route without a machine",
    ["--yes", "--route-range=10.254.254.0/28"],
    2,
    "--route-range requires --machine, to which the route leads",
  ],
  ["an unknown machine", ["--yes", "--machine=worker-9"], 1, "The cloud lists no machine worker-9."],
  [
    "a range that overlaps another route",
    ["--yes", "--machine=worker-1", "--route-range=10.244.9.128/28"],
    1,
    "--route-range 10.244.9.128/28 overlaps the route to 10.244.9.0/24. Choose a range that nothing uses.",
  ],
  ["a file that exists already", ["--yes", "--file=taken.json"], 2, "taken.json exists already"],
  ["a flag of other commands", ["--yes", "--output=json"], 2, "not for smoke; omit it"],
];
test.each(refused)("smoke rejects %s before it creates anything", async (_, args, code, message) => {
  const rig = new SmokeRig(harness);
  rig.disk.put("taken.json", "");
  const result = await rig.run({ args });
  expect([result.code, rig.changes]).toEqual([code, []]);
  expect(result.err).toContain(message);
});

test("smoke rejects a record that it did not write", async () => {
  const rig = new SmokeRig(harness);
  rig.disk.put(rig.recordPath, '{ "open": ["database"] }');
  const { code, err } = await rig.run();
  expect([code, rig.changes]).toEqual([1, []]);
  expect(err).toContain("is not a record of smoke for fake, so nothing was created.");
});

test("smoke names objects that the cloud does not delete, and removes them at the next start", async () => {
  const rig = new SmokeRig(harness);
  const before = rig.state;
  const failed = await rig.run({ args: withMachine, through: refusing("DELETE") });
  expect(failed.code).toBe(1);
  expect(failed.out).toMatch(
    /Still in the cloud, or not proved to be gone:\n\n {2}load balancer: b\d+\n.*\n {2}route: 10\.254\.254\.0\/28 to worker-1\n.*\n {2}volume: fairlead-smoke-[0-9a-f]{8} \(/,
  );
  expect(failed.out).toContain('run "fake-cloud-controller-manager smoke" again in this folder');
  expect(JSON.parse(failed.report)).toMatchObject({ result: "failed" });
  expect(rig.state).not.toBe(before);
  const stillThere = await rig.run({ args: withMachine, through: refusing("DELETE") });
  expect([stillThere.code, stillThere.report]).toEqual([1, ""]);
  expect(stillThere.err).toContain("nothing was created, because an earlier run left something");
  expect((await rig.run({ args: withMachine })).code).toBe(0);
  expect(rig.state).toBe(before);
});

test("smoke names the search terms if the cloud cannot be listed after a failure", async () => {
  const rig = new SmokeRig(harness);
  let isDown = false;
  const { code, out } = await rig.run({
    args: withMachine,
    through: (transport) => async (request, signal) => {
      if (isDown) return new Response("", { status: 503 });
      isDown = request.method === "POST";
      return transport(request, signal);
    },
  });
  expect(code).toBe(1);
  expect(out).toMatch(/load balancer: a load balancer whose name, label or tag contains [0-9a-f-]{36} or a/);
  expect(out).toMatch(/volume: a volume with the name fairlead-smoke-/);
});

test("smoke removes everything after Ctrl-C", async () => {
  const rig = new SmokeRig(harness);
  const before = rig.state;
  const stop = new AbortController();
  const { code, err, report } = await rig.run({
    args: withMachine,
    signal: stop.signal,
    through: (transport) => async (request, signal) => {
      const response = await transport(request, signal);
      if (request.method === "POST") stop.abort(new Error("received SIGINT"));
      return response;
    },
  });
  expect([code, rig.state === before]).toEqual([1, true]);
  expect(err).toContain("Interrupted. Removing what was created. Another Ctrl-C ends immediately");
  const { result, parts } = JSON.parse(report);
  expect([result, parts.map((part: { result: string }) => part.result)]).toEqual([
    "interrupted",
    ["interrupted", "skipped", "skipped"],
  ]);
});

test("smoke removes everything after --timeout, and reports the timeout", async () => {
  const rig = new SmokeRig(harness);
  const before = rig.state;
  const { code, report } = await rig.run({ args: [...withMachine, "--timeout=2s"] });
  expect([code, rig.state === before]).toEqual([1, false]);
  expect(JSON.parse(report).steps[0]).toMatchObject({ step: "create", failure: { kind: "Timeout" } });
  expect((await rig.run()).code).toBe(0);
  expect(rig.state).toBe(before);
});
