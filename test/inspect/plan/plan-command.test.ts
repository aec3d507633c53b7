import { afterEach, describe, expect, test } from "bun:test";
import { fake } from "../../../providers/fake/index.ts";
import { ReadOnlyTransports } from "../../../src/app/operator.ts";

import type { Call, CloudRequest, CloudTransport } from "../../../src/provider/call.ts";
import { type CommandOptions, runCommandIn } from "../../support/command-world.ts";
import { ServiceWorld } from "../../support/service-world.ts";

// The command `plan`: what a start would do, without doing it.

let world: ServiceWorld | undefined;
afterEach(() => world?.stop());

const plan = (w: ServiceWorld, args: readonly string[] = [], options: CommandOptions = {}) =>
  runCommandIn(w, ["plan", "--master=http://test-api-server", ...args], options);

/** A cluster that a manager has settled, and that has no manager now. */
const settled = async (): Promise<ServiceWorld> => {
  const w = new ServiceWorld();
  world = w;
  await w.start("--controllers=*", "--configure-cloud-routes=false");
  w.create("web");
  for (const index of [0, 1, 2]) w.setReady(`node-${index}`, "True");
  await w.pass(120);
  await w.stop();
  w.forget();
  return w;
};
const noRoutes = "--configure-cloud-routes=false";

describe("plan", () => {
  test("plan exits with code 0 when a start would change nothing [F76]", async () => {
    const w = await settled();
    expect(await plan(w, [noRoutes])).toMatchObject({
      code: 0,
      out: "Plan: 3 Nodes and 1 Service of type LoadBalancer: no changes would be made.\n",
      err: "",
    });
  });

  test("plan names each change with its values and its reason, with exit code 3, and makes no change [F76]", async () => {
    const w = await settled();
    w.create("new");
    w.addNode("late");
    const before = JSON.stringify([w.server.store.list("services"), w.server.store.list("nodes")]);
    const { code, out, kube, cloud } = await plan(w, [noRoutes]);
    expect(code).toBe(3);
    expect(out).toContain("A start of the manager would change in the cloud:\n\n  balancer/");
    expect(out).toContain(
      "    create balancer: for default/new: ports 80/TCP to 4 targets\n    because default/new: load balancer needed\n",
    );
    expect(out).toMatch(/would change in the cluster:\n\n {2}node\/late\n {4}patch status: addresses \S+/);
    expect(out).toMatch(/Plan: 4 Nodes and 2 Services of type LoadBalancer: \d changes would be made\.\n$/);
    expect([...kube, ...cloud].filter((request) => !request.startsWith("GET "))).toEqual([]);
    expect(kube.filter((request) => request.includes("leases"))).toEqual([]);
    expect(w.changes).toEqual([]);
    expect(JSON.stringify([w.server.store.list("services"), w.server.store.list("nodes")])).toBe(before);
  });

  test("plan prints the same changes as JSON, with the number of ignored Services [F76]", async () => {
    const w = await settled();
    w.create("new");
    w.create("other", { spec: { loadBalancerClass: "other.example/lb" } });
    const { code, out } = await plan(w, [noRoutes, "-o", "json"]);
    const { changes, attention, observed } = JSON.parse(out);
    expect([code, observed, attention]).toEqual([3, { nodes: 3, services: 3, servicesLeftAlone: 1 }, []]);
    expect(changes).toContainEqual({
      target: "cloud",
      object: expect.stringMatching(/^balancer\/a[0-9a-f]+$/),
      change: "create balancer: for default/new: ports 80/TCP to 3 targets",
      why: "default/new: load balancer needed",
    });
  });

  test("plan lists objects that would not change, with exit code 3 [F76]", async () => {
    const w = await settled();
    w.create("wrong", { annotations: { "balancer.fake.example/algorithm": "fastest" } });
    const { code, out } = await plan(w, [noRoutes]);
    expect(code).toBe(3);
    expect(out).toContain(
      "  Service default/wrong: problem\n    It has no address yet, and gets none until this is corrected. ",
    );
    expect(out).toEndWith("1 change would be made, and 1 object would stay as it is.\n");
  });

  test("plan lists a new Service with a warning among the changes, not among the unchanged Services [F76]", async () => {
    const w = await settled();
    w.create("new", { annotations: { "fairlead.dev/target-selector": "zone=nowhere" } });
    const { code, out } = await plan(w, [noRoutes]);
    expect(code).toBe(3);
    expect(out).toContain("    create balancer: for default/new: ");
    expect(out).toContain(
      "These objects would change, and have a problem or a warning; explain says more:\n\n  Service default/new: problem\n",
    );
    expect(out).not.toContain("stay as");
  });

  test("plan lists a Node whose instance is gone as waiting for proof, and deletes nothing [F76]", async () => {
    const w = await settled();
    w.cloud.machines.remove("1");
    w.setReady("node-0", "False");
    const { code, out } = await plan(w, [noRoutes]);
    expect([code, w.server.store.list("nodes").length]).toEqual([3, 3]);
    expect(out).toContain(
      "  Node node-0: waiting\n    It is not Ready. The cloud has answered once without its instance",
    );
  });

  test("plan needs only read permissions [F76]", async () => {
    const w = new ServiceWorld({ authorize: (_, { verb }) => ["get", "list", "watch"].includes(verb) });
    world = w;
    w.create("web");
    const { code, out } = await plan(w, [noRoutes]);
    expect([code, out]).toEqual([3, expect.stringContaining("create balancer: for default/web")]);
  });

  test("plan shows the routes that would be created [F76]", async () => {
    const w = await settled();
    w.changeNode("node-0", (node) => ({
      ...node,
      spec: { ...node.spec, podCIDR: "10.244.0.0/24", podCIDRs: ["10.244.0.0/24"] },
    }));
    const { code, out, cloud } = await plan(w, ["--cluster-cidr=10.244.0.0/16"]);
    expect(code).toBe(3);
    expect(out).toContain("would change in the cloud:\n\n  node/node-0\n    create route");
    expect(cloud.filter((request) => !request.startsWith("GET "))).toEqual([]);
  });

  test("plan shows the warning that routes are skipped without --cluster-cidr [F76]", async () => {
    const w = await settled();
    const { code, out } = await plan(w);
    expect([code, out]).toEqual([0, expect.stringContaining("Warnings:\n\n")]);
    expect(out).toContain("--cluster-cidr");
  });

  test("plan exits with code 1 when the cloud does not answer [F76]", async () => {
    const w = await settled();
    w.cloud.faults.add({ kind: "status", status: 503, calls: 100_000 });
    const { code, out } = await plan(w, [noRoutes, "--timeout=20s"]);
    expect(code).toBe(1);
    expect(out).toMatch(
      /The plan is incomplete: (not finished after 20 s \(--timeout\): )?no request to the cloud has succeeded yet: .*[^.]\.\n$/,
    );
    expect(out).not.toMatch(/will retry\.*\n$/);
  });

  test("plan exits with code 1 when the API server refuses to list Nodes [F76]", async () => {
    const w = new ServiceWorld({ authorize: (_, { resource }) => resource !== "nodes" });
    world = w;
    const { code, out } = await plan(w, [noRoutes, "--timeout=5s"]);
    expect([code, out]).toEqual([
      1,
      expect.stringContaining("The plan is incomplete: not finished after 5 s (--timeout): "),
    ]);
    expect(out).toContain("nodes");
  });

  test("plan does not promise another attempt when the API server is unreachable [F76]", async () => {
    const w = await settled();
    const others = () => {
      throw Object.assign(new Error("refused"), { code: "ECONNREFUSED" });
    };
    const planned = await plan(w, [noRoutes, "--timeout=5s"], { others });
    expect([planned.code, planned.out]).toEqual([1, expect.stringContaining("Cannot reach the API server")]);
    const explained = await runCommandIn(w, ["explain", "--master=http://test-api-server"], { others });
    expect([explained.code, explained.err]).toEqual([
      1,
      expect.stringContaining("Cannot reach the API server"),
    ]);
    for (const text of [planned.out, explained.err]) expect(text).not.toContain("retry");
  });

  test("plan rejects invalid settings, flags and arguments with exit code 2 [F76]", async () => {
    const w = await settled();
    for (const [args, text] of [
      [["--config-set=endpiont=x"], "endpiont"],
      [["--cluster-cidrs=x"], "unknown flag --cluster-cidrs"],
      [["now"], 'unexpected argument "now" after plan'],
      [["--output=github"], "github is for lint"],
      [["--server=https://x"], "--server is for the command explain or support-bundle, not for plan"],
    ] as const) {
      const { code, out, err, cloud } = await plan(w, args);
      expect([code, out, cloud]).toEqual([2, "", []]);
      expect(err).toContain(text);
    }
  });
});

describe("a provider that changes the cloud while it should only read", () => {
  const call: Call = { signal: new AbortController().signal, urgency: "refresh" };
  /** Sends this request as soon as it connects. */
  const sending = (request: CloudRequest) => ({
    ...fake,
    connect: (settings: never, context: never) => {
      const account = { name: "own", fetch: async () => ({ value: "" }), sign: (each: never) => each };
      const open = (context as { account(one: unknown): unknown }).account(account);
      const { transport } = open as { readonly transport: CloudTransport };
      transport(request, call, async () => undefined).catch(() => undefined);
      return fake.connect(settings, context);
    },
  });
  const request = { url: "http://cloud.test/v1/balancers/b1", operation: "a change" };

  test("the transport blocks a DELETE that a provider declares as a read [F76]", async () => {
    const w = await settled();
    const provider = sending({ ...request, method: "DELETE", mutates: false });
    const { code, out, cloud } = await plan(w, [noRoutes], { provider });
    expect(cloud.filter((sent) => !sent.startsWith("GET "))).toEqual([]);
    expect(code).toBe(1);
    expect(out).toContain(
      "The plan is incomplete: the provider sent DELETE http://cloud.test/v1/balancers/b1 while it only had to read. It was refused; please file a bug.",
    );
    expect(w.cloud.balancers.list()).toHaveLength(1);
  });

  test("the transport blocks a POST that a provider declares as a change [F76]", async () => {
    const w = await settled();
    const provider = sending({ ...request, method: "POST", mutates: true });
    const { code, cloud } = await plan(w, [noRoutes], { provider });
    expect(cloud.filter((sent) => !sent.startsWith("GET "))).toEqual([]);
    expect(code).toBe(0);
  });
});

describe("read-only transports", () => {
  const tried = async (side: "kube" | "cloud", method: string): Promise<string> => {
    const sent: string[] = [];
    const transports = new ReadOnlyTransports();
    const send = transports[side](async ({ method: used }) => {
      sent.push(used);
      return new Response();
    });
    const answer = await send({ method, url: "https://x.test/a?token=1" }, call.signal).then(
      () => "sent",
      (error: Error) => error.message,
    );
    expect(sent).toEqual(answer === "sent" ? [method] : []);
    expect(transports.refused).toEqual(answer === "sent" ? [] : [`${method} https://x.test/a`]);
    return answer;
  };
  const call = { signal: new AbortController().signal };

  test("a read-only transport sends a PUT to the cloud only to fetch a credential, as AWS's instance metadata requires", async () => {
    const transports = new ReadOnlyTransports();
    const sent: string[] = [];
    const send = transports.cloud(async ({ url }) => {
      sent.push(url);
      return new Response();
    });
    await send({ method: "PUT", url: "http://x.test/token", isSignIn: true }, call.signal);
    await expect(send({ method: "PUT", url: "http://x.test/a" }, call.signal)).rejects.toThrow(
      "was not sent",
    );
    expect(sent).toEqual(["http://x.test/token"]);
  });

  test.each(["POST", "PUT", "PATCH", "DELETE", "delete"])(
    "a read-only transport blocks %s to the API server [F76]",
    async (method) => {
      expect(await tried("kube", method)).toBe(`${method} /a was not sent: this command changes nothing.`);
    },
  );

  test.each(["PUT", "PATCH", "DELETE"])(
    "a read-only transport blocks %s to the cloud [F76]",
    async (method) => {
      expect(await tried("cloud", method)).toContain("was not sent");
    },
  );

  test("a read-only transport admits reads, and POST requests to the cloud, because some clouds read with POST [F76]", async () => {
    expect(await tried("kube", "GET")).toBe("sent");
    expect(await tried("cloud", "GET")).toBe("sent");
    expect(await tried("cloud", "POST")).toBe("sent");
  });
});
