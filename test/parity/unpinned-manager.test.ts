import { describe, expect, test } from "bun:test";
import { fake } from "../../providers/fake/index.ts";
import { notesOf } from "../../src/app/flags/flag-notes.ts";
import { flagFields } from "../../src/app/flags/flag-table.ts";
import type { AnyProvider } from "../../src/provider/provider.ts";
import "../../src/app/process-life.ts"; // Imported here, because its lazy import would take real time.
import { readFlags } from "../../src/app/flags/read-flags.ts";
import { runProgram } from "../../src/app/run.ts";
import type { Fields } from "../../src/core/settings.ts";
import { seededRandom } from "../../src/platform/random.ts";
import { MemoryFiles } from "../../src/testing/virtual-time/memory-files.ts";
import { VirtualClock } from "../../src/testing/virtual-time/virtual-clock.ts";
import { ScriptedBalancers } from "../support/scripted-balancers.ts";
import { ServiceWorld } from "../support/service-world.ts";

// Behavior of upstream's manager that none of its tests covers. The full list, including tests in other files, is in
// `unpinned`.

test("the manager takes the Lease, then fills its caches, and only then asks the cloud [N23]", async () => {
  const w = new ServiceWorld({ nodes: 2 });
  const order: string[] = [];
  w.server.onWrite(({ object }) => {
    if (object.kind === "Lease" && order.length === 0) order.push("Lease");
  });
  w.onCrossing = (what, when) => {
    if (when === "before") order.push(what);
  };
  w.readFault = (path) =>
    path.endsWith("/services") && w.clock.monotonic() < 5000
      ? Response.json({ kind: "Status", code: 500 }, { status: 500 })
      : undefined;
  await w.start("--leader-elect=true");
  w.create("web");
  await w.pass(4);
  expect(order).toEqual(["Lease"]);
  await w.pass(60);
  expect(order.slice(0, 2)).toEqual(["Lease", "GET /machines"]);
  expect(w.addressesOf("web")).toHaveLength(1);
  await w.stop();
});

describe("controllers of missing capabilities", () => {
  const withCapabilities = async (...left: readonly ("loadBalancers" | "routes")[]) => {
    const whole = new ScriptedBalancers(new VirtualClock()).provider();
    const provider = {
      ...whole,
      connect: (...given: readonly never[]) => {
        const cloud = (whole.connect as (...all: readonly never[]) => object)(...given);
        return Object.fromEntries(Object.entries(cloud).filter(([name]) => !left.includes(name as never)));
      },
    };
    const w = new ServiceWorld({ provider, nodes: 0 });
    await w.start("--controllers=*", "--cluster-cidr=10.0.0.0/8");
    await w.pass(5);
    const { controllers } = w.manager;
    await w.stop();
    return controllers;
  };

  test("skips controllers of missing capabilities, and runs all other controllers", async () => {
    expect(await withCapabilities()).toContain("service");
    expect(await withCapabilities("loadBalancers")).toEqual([
      "cloud-node",
      "cloud-node-lifecycle",
      "inventory",
    ]);
  });
});

const unreachable = () => Promise.reject(new Error("not asked"));
const runs = async (provider: AnyProvider, ...args: readonly string[]) => {
  const [printed, lines]: [string[], string[]] = [[], []];
  const streams = {
    out: (text: string) => void printed.push(text),
    err: (text: string) => void lines.push(text),
  };
  const platform = {
    clock: new VirtualClock(),
    random: seededRandom(3),
    files: new MemoryFiles({}).files,
    environment: {},
    transport: unreachable,
    cloudTransport: unreachable,
  };
  const code = await runProgram(provider, args, streams, platform, new AbortController().signal);
  return { code, out: printed.join(""), log: lines.join("") };
};

describe("a failing start", () => {
  test("exits with 2 for a cloud without machines or with invalid settings, unlike upstream", async () => {
    const without = { ...(fake as unknown as AnyProvider), connect: () => ({ accounts: [] }) as never };
    const none = await runs(without, "--master=http://test-api-server", "--configure-cloud-routes=false");
    expect([none.code, none.log]).toEqual([2, expect.stringContaining("does not support instances")]);
    const wrong = await runs(
      fake as unknown as AnyProvider,
      "--master=http://test-api-server",
      "--config-set=endpoint=nowhere",
    );
    expect([wrong.code, wrong.log]).toEqual([2, expect.stringContaining("endpoint must be a URL")]);
  });

  test("exits with 2 for invalid flags, reports all of them and contacts no server, unlike upstream", async () => {
    const { code, log } = await runs(fake as unknown as AnyProvider, "--leader-elct=true", "--secure-port=x");
    expect(code).toBe(2);
    expect(log).toContain("did you mean --leader-elect?");
    expect(log).toContain("--secure-port");
  });
});

describe("help of the flags", () => {
  const fields: Fields = flagFields;
  const isOld = (name: string) => {
    const field = fields[name];
    return field !== undefined && notesOf(field).deprecated === true;
  };

  test("lists every flag with its text in groups, except for deprecated flags", async () => {
    const { out } = await runs(fake as unknown as AnyProvider, "--help");
    const named = new Set([...out.matchAll(/^ {2}(?:-\w, | {4})--([a-z0-9-]+)/gm)].map(([, name]) => name));
    const hidden = Object.keys(fields).filter((name) => !named.has(name));
    expect(hidden.toSorted()).toEqual(["allow-untagged-cloud", "node-sync-period"]);
    expect(hidden.every(isOld)).toBe(true);
    for (const group of ["Generic", "Leader", "Secure serving", "Webhook"]) {
      expect(out.toLowerCase()).toContain(group.toLowerCase());
    }
  });

  test("a deprecated flag is accepted with a warning that names its replacement", () => {
    for (const [name, value] of [
      ["allow-untagged-cloud", "false"],
      ["node-sync-period", "10s"],
    ]) {
      expect(readFlags([`--${name}=${value}`]).problems).toEqual([
        {
          severity: "warning",
          reason: "FlagWithoutEffect",
          key: `--${name}`,
          text: expect.stringMatching(new RegExp(`^--${name} has no effect and is deprecated: .*--[a-z]`)),
        },
      ]);
    }
  });
});
