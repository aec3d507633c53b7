// The command `smoke` with the simulator of every cloud: it removes what it creates, whatever the cloud answers.

import { describe, expect, test } from "bun:test";
import { harness as aws } from "../../../providers/aws/simulator/harness.ts";
import { harness as digitalocean } from "../../../providers/digitalocean/simulator/harness.ts";
import { harness as fake } from "../../../providers/fake/simulator/harness.ts";
import { harness as hetzner } from "../../../providers/hetzner/simulator/harness.ts";
import { harness as openstack } from "../../../providers/openstack/simulator/harness.ts";
import { harness as rancher } from "../../../providers/rancher/simulator/harness.ts";
import type { Clock } from "../../../src/platform/clock.ts";
import type { Transport } from "../../../src/platform/transport.ts";
import { runsAllTests } from "../../../src/testing/breadth.ts";
import { isRead, SmokeRig } from "./smoke-rig.ts";

const withMachine = ["--yes", "--machine=worker-1", "--route-range=10.254.254.0/28"];
const clouds = Object.entries({ fake, hetzner, digitalocean, openstack, aws, rancher });
const withoutTargets = clouds.filter(([name]) => name !== "digitalocean" && name !== "openstack");

const bodyOf = async (response: Response): Promise<string> => response.clone().text();

/** The change with this number takes effect, and returns a 500. */
const lost =
  (number: number) =>
  (transport: Transport): Transport => {
    let changes = 0;
    return async (request, signal) => {
      const response = await transport(request, signal);
      if (isRead(request) || request.isSignIn === true) return response;
      const isLost = changes++ === number;
      return isLost ? new Response("the gateway lost the answer", { status: 500 }) : response;
    };
  };

/** Each read returns the first response of the last 20 seconds. */
const stale =
  (clock: Clock) =>
  (transport: Transport): Transport => {
    const answers = new Map<string, readonly { readonly at: number; readonly response: Response }[]>();
    return async (request, signal) => {
      const response = await transport(request, signal);
      if (!isRead(request)) return response;
      const key = `${request.method} ${request.url} ${request.body ?? ""}`;
      const now = clock.monotonic();
      const recent = [...(answers.get(key) ?? []), { at: now, response }].filter(
        ({ at }) => at >= now - 20_000,
      );
      answers.set(key, recent);
      return (recent[0]?.response.clone() ?? response) as Response;
    };
  };

describe.each(clouds)("smoke at %s", (_, harness) => {
  test("smoke at %s passes with every part of the cloud, and leaves the account unchanged", async () => {
    const rig = new SmokeRig(harness);
    const before = rig.state;
    const { code, out, report } = await rig.run({ args: withMachine });
    expect(rig.state).toBe(before);
    expect([code, out.includes("failed")]).toEqual([0, false]);
    const { result, parts } = JSON.parse(report);
    expect([result, parts.filter(({ isRemoved }: { isRemoved?: boolean }) => isRemoved === false)]).toEqual([
      "passed",
      [],
    ]);
    expect(JSON.parse(await rig.read(rig.recordPath)).open).toEqual([]);
  });

  test("smoke writes a report without names, ids, addresses and secrets", async () => {
    const rig = new SmokeRig(harness);
    const seen = new Set<string>(["worker-1", "10.254.254.0"]);
    const { report } = await rig.run({
      args: withMachine,
      through: (transport) => async (request, signal) => {
        const response = await transport(request, signal);
        // A name or id from a cloud contains a digit; words such as Rancher's types do not.
        for (const [, value = ""] of (await bodyOf(response)).matchAll(
          /"(?:id|name|ip)":\s*"?([^",}]*\d[^",}]*)/g,
        ))
          seen.add(value);
        return response;
      },
    });
    const { uid } = JSON.parse(await rig.read(rig.recordPath));
    const secrets = [...seen, uid, uid.slice(0, 8), ...Object.values(harness.config)];
    expect(secrets.length).toBeGreaterThan(5);
    const words = new Set(report.split(/[^\w.:-]+/));
    // The simulated router has an id that is not a UUID, and Keystone lists its versions.
    const isHarmless = (text: string) => text.length < 4 || ["router-1", "v2.0"].includes(text);
    expect(secrets.filter((text) => words.has(text) && !isHarmless(text))).toEqual([]);
  });

  const numbers = runsAllTests ? Array.from({ length: 12 }, (_, index) => index) : [0, 3];
  test.each(numbers)("smoke removes everything after change %i took effect and returned a 500", async (n) => {
    const rig = new SmokeRig(harness);
    const before = rig.state;
    await rig.run({ args: withMachine, through: lost(n) });
    expect(rig.state).toBe(before);
    expect(JSON.parse(await rig.read(rig.recordPath)).open).toEqual([]);
  });

  test("smoke creates no duplicates while listings are stale", async () => {
    const rig = new SmokeRig(harness);
    const before = rig.state;
    const { code, err } = await rig.run({ args: withMachine, through: stale(rig.clock) });
    expect(rig.state).toBe(before);
    expect(err).not.toContain("failed to");
    expect(code).toBe(0);
  });

  test("smoke removes the objects of a killed run at the next start, although the cloud's response was never read", async () => {
    const rig = new SmokeRig(harness);
    const before = rig.state;
    let created = 0;
    const killed = await rig.run({
      args: withMachine,
      isKilled: () => created > 1,
      through: (transport) => async (request, signal) => {
        const response = await transport(request, signal);
        if (isRead(request) || request.isSignIn === true) return response;
        created += 1;
        return created > 1 ? new Promise(() => undefined) : response;
      },
    });
    expect([killed.code, rig.state === before]).toEqual([undefined, false]);
    const { code, out } = await rig.run({ args: withMachine });
    expect(out).toContain("An earlier run in this folder");
    expect([code, rig.state === before]).toEqual([0, true]);
  });
});

test.each(withoutTargets)("smoke at %s passes without a machine", async (_, harness) => {
  const rig = new SmokeRig(harness);
  const before = rig.state;
  const { code, out } = await rig.run();
  expect(out).toContain("without targets, because --machine is not set");
  expect([code, rig.state === before]).toEqual([0, true]);
});

test.each([
  ["digitalocean", digitalocean],
  ["openstack", openstack],
] as const)(
  "smoke at %s creates nothing without a machine, and states that it needs a machine",
  async (_, harness) => {
    const rig = new SmokeRig(harness);
    const { code, err } = await rig.run();
    expect([code, rig.changes.filter((change) => !change.includes("/auth/tokens"))]).toEqual([1, []]);
    expect(err).toContain("Set --machine to one that exists.");
  },
);
