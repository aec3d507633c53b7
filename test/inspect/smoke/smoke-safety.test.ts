// How `smoke` handles a record, a folder or an account that differs from what the earlier run left:
// it deletes nothing else, and never reports an object as removed that it could not see.

import { describe, expect, test } from "bun:test";
import type { DigitalOceanCloud } from "../../../providers/digitalocean/simulator/digitalocean-cloud.ts";
import { harness as digitalocean } from "../../../providers/digitalocean/simulator/harness.ts";
import { harness as fake } from "../../../providers/fake/simulator/harness.ts";
import { harness as hetzner } from "../../../providers/hetzner/simulator/harness.ts";
import type { HetznerCloud } from "../../../providers/hetzner/simulator/hetzner-cloud.ts";
import { harness as openstack } from "../../../providers/openstack/simulator/harness.ts";
import { milliseconds } from "../../../src/core/brand.ts";
import type { Transport } from "../../../src/platform/transport.ts";
import type { Harness } from "../../../src/testing/conformance/simulated-cloud.ts";
import { isRead, type RunOptions, SmokeRig } from "./smoke-rig.ts";

const withMachine = ["--yes", "--machine=worker-1", "--route-range=10.254.254.0/28"];

/** A rig's simulator. */
const simulatorOf = <T>(rig: SmokeRig): T => (rig.cloud as unknown as { readonly cloud: T }).cloud;

/** Returns `answer` to changes instead of sending them, if it is a response. */
const answering =
  (answer: (request: Parameters<Transport>[0]) => Response | undefined) =>
  (transport: Transport): Transport =>
  async (request, signal) =>
    (isRead(request) ? undefined : answer(request)) ?? transport(request, signal);

/** A run that is killed as soon as the cloud has received this many changes. */
async function killedRun(harness: Harness, changes: number): Promise<SmokeRig> {
  const rig = new SmokeRig(harness);
  await rig.run({ args: withMachine, isKilled: () => rig.changes.length >= changes });
  return rig;
}

const openIn = async (rig: SmokeRig): Promise<readonly string[]> =>
  JSON.parse(await rig.read(rig.recordPath)).open;

describe("smoke with a record that was edited", () => {
  const recordOf = (rig: SmokeRig, changes: object): string =>
    JSON.stringify({
      format: 1,
      cloud: rig.provider.name,
      startedAt: "",
      uid: "01234567-89ab-8def-8123-456789abcdef",
      open: ["load balancer"],
      facts: {},
      ...changes,
    });

  test("smoke rejects an edited record with the uid of a Service, whose load balancer would be deleted", async () => {
    const rig = new SmokeRig(hetzner);
    const uid = "01234567-89ab-4def-8123-456789abcdef";
    simulatorOf<HetznerCloud>(rig).project.balancers.add("shop", {
      labels: { "hcloud-ccm/service-uid": uid },
    });
    const before = rig.state;
    rig.disk.put(rig.recordPath, recordOf(rig, { uid }));
    const { code, err } = await rig.run();
    expect([code, rig.state]).toEqual([1, before]);
    expect(err).toContain("is not a record of smoke");
  });

  test("smoke keeps the load balancer whose id is in an edited record", async () => {
    const rig = new SmokeRig(digitalocean);
    const { id } = simulatorOf<DigitalOceanCloud>(rig).account.balancers.add("shop");
    rig.disk.put(rig.recordPath, recordOf(rig, { facts: { id } }));
    const before = rig.state;
    await rig.run({ args: withMachine });
    expect(rig.state).toBe(before);
  });

  test.each([
    ["a route without a range", { open: ["route"] }],
    ["a range that cannot be read", { open: ["route"], route: { destination: "all" }, machine: {} }],
    ["a machine without a key", { machine: { node: "worker-1", addresses: [], internalIPs: [] } }],
  ])("smoke rejects a record with %s", async (_, changes) => {
    const rig = new SmokeRig(fake);
    rig.disk.put(rig.recordPath, recordOf(rig, changes));
    const { code, err } = await rig.run();
    expect([code, rig.changes]).toEqual([1, []]);
    expect(err).toContain("is not a record of smoke");
  });
});

describe("smoke with settings that differ from those of the earlier run", () => {
  const token = "u".repeat(64);
  const rotated = { ...hetzner.config, token };

  test("smoke does not report an object of another account as removed", async () => {
    const killed = await killedRun(hetzner, 3);
    const rig = new SmokeRig(hetzner);
    simulatorOf<HetznerCloud>(rig).tokens.add(token);
    rig.disk.put(rig.recordPath, await killed.read(killed.recordPath));
    const { code, out } = await rig.run({ args: withMachine, config: rotated });
    expect([code, rig.changes]).toEqual([1, []]);
    expect(out).toContain("settings differ from the settings of the earlier run");
    expect(await openIn(rig)).toEqual(["load balancer", "route", "volume"]);
  });

  test("smoke removes the found objects with a new token of the same account", async () => {
    const rig = await killedRun(hetzner, 2);
    simulatorOf<HetznerCloud>(rig).tokens.add(token);
    await rig.run({ config: rotated });
    expect(JSON.parse(rig.state).balancers).toEqual([]);
    expect(await openIn(rig)).toEqual(["route", "volume"]);
  });

  test("smoke removes the load balancer, and reports the remaining route, when the network is no longer set", async () => {
    const rig = await killedRun(hetzner, 4);
    const { network: _, ...config } = hetzner.config;
    const { code, out } = await rig.run({ config });
    expect([code, JSON.parse(rig.state).balancers]).toEqual([1, []]);
    expect(out).toContain("route: a route to 10.254.254.0/28");
    expect(await openIn(rig)).toContain("route");
  });
});

test("smoke does not overwrite the record of another run in the folder", async () => {
  const rig = new SmokeRig(fake);
  const other = { format: 1, cloud: "fake", startedAt: "2026-11-30", open: ["volume"], facts: {} };
  const text = JSON.stringify({ ...other, uid: "ffffffff-89ab-8def-8123-456789abcdef" });
  let isPut = false;
  const before = rig.state;
  const { err } = await rig.run({
    args: withMachine,
    through: answering(() => {
      if (!isPut) rig.disk.put(rig.recordPath, text);
      isPut = true;
      return undefined;
    }),
  });
  expect([rig.state, await rig.read(rig.recordPath)]).toEqual([before, text]);
  expect(err).toContain("has the record of another run");
});

test("smoke does not write the report over a record", async () => {
  const rig = new SmokeRig(fake);
  const { code, err } = await rig.run({ args: ["--yes", `--file=./${rig.recordPath}`] });
  expect([code, rig.changes]).toEqual([2, []]);
  expect(err).toContain("is the name of a record");
});

/** After the first deletion nothing can be written, and the cloud deletes nothing. */
const onFullDisk = (): RunOptions => {
  let isFull = false;
  return {
    args: withMachine,
    refusesWrites: () => isFull,
    through: answering(({ method }) => {
      isFull ||= method === "DELETE";
      return method === "DELETE" ? new Response("{}", { status: 403 }) : undefined;
    }),
  };
};

test("smoke names the remaining objects when neither the record nor the report can be written", async () => {
  const rig = new SmokeRig(fake);
  const { code, out, err } = await rig.run(onFullDisk());
  expect(code).toBe(1);
  expect(out).toMatch(/ {2}load balancer: b\d+\n/);
  expect(out).not.toContain("Wrote ");
  expect(err).toContain("the report was not written: no space left on device");
  expect(await openIn(rig)).toEqual(["load balancer", "route", "volume"]);
});

describe("smoke in a cloud with incorrect listings", () => {
  test("smoke names a load balancer that was created but is never listed", async () => {
    const rig = new SmokeRig(fake);
    let list: Response | undefined;
    const { code, out } = await rig.run({
      through: (transport) => async (request, signal) => {
        const response = await transport(request, signal);
        if (request.method !== "GET" || !request.url.includes("/balancers")) return response;
        list ??= response.clone() as Response;
        return list.clone() as Response;
      },
    });
    expect(JSON.parse(rig.state).balancers).toHaveLength(2);
    expect([code, await openIn(rig)]).toEqual([1, ["load balancer"]]);
    expect(out).toContain("The cloud has accepted a change, and no listing shows what it made.");
  });

  test("smoke removes a route that a request without a response creates 50 s later", async () => {
    const rig = new SmokeRig(fake);
    const before = rig.state;
    let isDelayed = false;
    const never = new AbortController().signal;
    await rig.run({
      args: withMachine,
      through: (transport) => async (request, signal) => {
        if (isDelayed || request.method !== "POST" || !request.url.includes("/routes"))
          return transport(request, signal);
        isDelayed = true;
        rig.clock.after(milliseconds(50_000), () => void transport(request, never));
        return new Response("", { status: 500 });
      },
    });
    await rig.clock.advance(milliseconds(60_000));
    expect([isDelayed, rig.state]).toEqual([true, before]);
  });

  test("smoke sends fewer deletions when they have no effect", async () => {
    const rig = new SmokeRig(hetzner);
    let deletions = 0;
    await rig.run({
      through: answering(({ method }) => {
        if (method !== "DELETE") return undefined;
        deletions += 1;
        return new Response(null, { status: 204 });
      }),
    });
    expect(deletions).toBeLessThan(60);
  });
});

test("smoke never writes text from the cloud into the report as a code", async () => {
  const rig = new SmokeRig(hetzner);
  const error = { code: "volume vol-0123 of project shop", message: "forbidden" };
  const { report } = await rig.run({
    args: withMachine,
    through: answering(() => Response.json({ error }, { status: 403 })),
  });
  expect(report).toContain("403");
  expect(report).not.toContain("shop");
});

describe("the route that smoke creates", () => {
  test("smoke keeps a route for the range that another client created after the preview", async () => {
    const rig = new SmokeRig(hetzner);
    const { networks } = simulatorOf<HetznerCloud>(rig).project;
    const [network] = networks.list();
    const [server] = simulatorOf<HetznerCloud>(rig).project.servers.list();
    const route = { destination: "10.254.254.0/28", gateway: server?.privateNets[0]?.ip ?? "" };
    let isAdded = false;
    const { err } = await rig.run({
      args: withMachine,
      through: answering(() => {
        if (!isAdded) networks.change(network?.id ?? 0, { routes: [route] });
        isAdded = true;
        return undefined;
      }),
    });
    expect(JSON.parse(rig.state).routes).toEqual([route]);
    expect(err).toContain("overlaps the route to 10.254.254.0/28");
    expect(await openIn(rig)).toEqual([]);
  });

  test.each(["0.0.0.0/0", "10.0.0.0/8"])(
    "smoke rejects the range %s, which contains addresses of machines",
    async (range) => {
      const rig = new SmokeRig(hetzner);
      const { code, err } = await rig.run({
        args: ["--yes", "--machine=worker-1", `--route-range=${range}`],
      });
      expect([code, rig.changes]).toEqual([1, []]);
      expect(err).toMatch(/--route-range \S+ contains \S+, an address of the machine worker-[12]\./);
    },
  );

  test("smoke leaves no allowed address pair when OpenStack rejects the route", async () => {
    const rig = new SmokeRig(openstack);
    const before = rig.state;
    const { report } = await rig.run({
      args: withMachine,
      through: answering(({ url }) =>
        url.endsWith("/add_extraroutes") ? Response.json({}, { status: 403 }) : undefined,
      ),
    });
    expect(JSON.parse(report).result).toBe("failed");
    expect(rig.state).toBe(before);
  });
});
