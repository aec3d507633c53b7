// The secure port of a whole manager, without sockets and in virtual time. The test API server authorizes
// every request; test/server and the cluster tests cover access.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { resolve } from "node:path";
import { fake } from "../../../providers/fake/index.ts";
import { annotationsOf } from "../../../src/app/configuration/cloud-settings.ts";
import { ConfigurationError } from "../../../src/app/configuration/configuration-error.ts";
import { openServing, type Serving } from "../../../src/app/endpoints/open-serving.ts";
import { readFlags } from "../../../src/app/flags/read-flags.ts";
import { goDuration } from "../../../src/core/duration.ts";
import type { Listen, ListenOptions } from "../../../src/platform/listener.ts";
import { seededRandom } from "../../../src/platform/random.ts";
import type { AnyProvider } from "../../../src/provider/provider.ts";
import { createLog } from "../../../src/telemetry/log.ts";
import { ServiceWorld } from "../../support/service-world.ts";

let world: ServiceWorld;
let opened: ListenOptions[] = [];
let serving: Serving | undefined;
let lines = "";

const listen: Listen = async (options) => {
  opened.push(options);
  return { port: options.port, renew: () => undefined, close: async () => undefined };
};
const open = async (flags: readonly string[] = [], through: Listen = listen): Promise<Serving> => {
  const { clock, manager } = world;
  const { transport } = { transport: () => Promise.reject(new Error("not asked")) };
  const { flags: read } = readFlags(flags);
  serving = await openServing(
    {
      flags: read,
      platform: {
        clock,
        random: seededRandom(7),
        files: {
          read: () => Promise.reject(Object.assign(new Error("none"), { code: "ENOENT" })),
          version: async () => undefined,
          write: async () => undefined,
          run: () => Promise.reject(new Error("none")),
        },
        transport,
        cloudTransport: transport,
        environment: {},
      },
      listen: through,
      figures: {
        cpuSeconds: () => 1.5,
        residentBytes: () => 1000,
        heapBytes: () => 500,
        startedAtSeconds: 1,
        objects: () => [["Object", 7]],
        snapshot: () => "{}",
      },
      log: createLog({ format: "text", verbosity: 0, clock, write: (line) => (lines += line) }),
      program: "fake-cloud-controller-manager",
      provider: fake as unknown as AnyProvider,
      annotations: annotationsOf(fake as unknown as AnyProvider),
      setVerbosity: (level) => {
        lines += `level ${level}\n`;
      },
    },
    manager,
  );
  return serving;
};
const ask = async (target: string, method = "GET", body = "") =>
  opened[0]?.handle({
    method,
    target,
    headers: [],
    peer: undefined,
    client: "10.0.0.1",
    body: async () => body,
  });
const text = async (target: string): Promise<string> => {
  const answer = ask(target);
  await world.pass(1);
  return (await answer)?.body ?? "";
};

beforeEach(async () => {
  world = new ServiceWorld();
  opened = [];
  lines = "";
  await world.start();
});
afterEach(async () => {
  const closing = serving?.close();
  await world.pass(1);
  await closing;
  serving = undefined;
  await world.stop();
});

describe("secure port of a manager with one load balancer", () => {
  beforeEach(async () => {
    await open();
    world.create("web");
    await world.until(() => world.manager.isIdle() && world.changes.length > 0, "a balancer");
    await world.pass(5);
  });

  test("reports cloud requests, load balancer steps and the remaining budget as metrics [F85 F86 F87]", async () => {
    const metrics = await text("/metrics");
    expect(metrics).toMatch(
      /fairlead_cloud_requests_total\{account="fake",operation="POST \/balancers",result="20\d"\} 1/,
    );
    expect(metrics).toMatch(/fairlead_cloud_request_duration_seconds_count\{account="fake"/);
    expect(metrics).toMatch(/fairlead_load_balancer_steps_total\{action="[a-z -]+",outcome="done"\} 1/);
    expect(metrics).toContain("fairlead_cloud_budget_remaining");
    expect(metrics).toMatch(/\nfairlead_watch_age_seconds\{resource="services"\} \d+\n/);
    expect(metrics).toContain("process_cpu_seconds_total 1.5");
    expect(metrics).toMatch(/workqueue_work_duration_seconds_count\{name="service"\} \d+/);
  });

  test("reports each change with its reason in /debug/state, and no secret in any page [F91 N19]", async () => {
    const state = JSON.parse(await text("/debug/state"));
    expect(state.journal.first).toContainEqual(
      expect.objectContaining({ target: "cloud", outcome: "done", why: "default/web: load balancer needed" }),
    );
    expect(state.queues.map(({ name }: { name: string }) => name)).toContain("service");
    expect(state.accounts[0]).toMatchObject({ name: "fake", endpoints: [{ state: "closed" }] });
    const flags = await text("/flagz");
    expect(flags).toContain("secure-port=10258");
    expect(flags).toContain("\nleader-elect-lease-duration=15s\n");
  });

  test("explains one object, or all objects that need attention, in /debug/explain [F91 N7]", async () => {
    world.create("wrong", { annotations: { "balancer.fake.example/algorithm": "fastest" } });
    await world.pass(30);
    const objects = async (query: string) => JSON.parse(await text(`/debug/explain${query}`)).objects;
    expect(await objects("?kind=service&name=default/wrong")).toMatchObject([
      { kind: "Service", name: "default/wrong", state: "problem", notes: [{ reason: "InvalidAnnotation" }] },
    ]);
    expect((await objects("")).map(({ name }: { name: string }) => name)).toEqual(["default/wrong"]);
    expect(await objects("?all=true")).toHaveLength(5);
    const missing = JSON.parse(await text("/debug/explain?kind=node&name=node0"));
    expect([missing.objects, missing.notFound]).toEqual([
      [],
      { kind: "Node", name: "node0", meant: "node-0" },
    ]);
    expect(await text("/debug/explain?kind=pod&name=x")).toContain("Expected ?kind=node&name=NAME");
  });

  test("reports each load balancer's Services and each Service's problems, and counts them for alerts", async () => {
    const before = JSON.parse(await text("/debug/state"));
    expect(before.findings).toEqual({ count: 0, first: [] });
    world.create("wrong", { annotations: { "balancer.fake.example/algorithm": "fastest" } });
    await world.pass(30);
    const state = JSON.parse(await text("/debug/state"));
    expect(state.balancers.first).toContainEqual(
      expect.objectContaining({
        state: "ready",
        service: "default/web",
        addresses: world.addressesOf("web"),
      }),
    );
    expect(state.findings.first).toEqual([
      {
        object: "Service",
        name: "default/wrong",
        severity: "error",
        reason: "InvalidAnnotation",
        text: expect.stringContaining("algorithm must be one of"),
      },
    ]);
    const metrics = await text("/metrics");
    expect(metrics).toContain("\nfairlead_services_with_problems 1\n");
    expect(metrics).toContain("\nfairlead_load_balancers_orphaned 0\n");
    expect(metrics).toContain('\nfairlead_node_deletions_held{reason="MassDeletionHeld"} 0\n');
    expect(metrics).toContain("\nfairlead_nodes_uninitialized 0\n");
  });

  test("reports the number of routes when the route controller runs", async () => {
    await world.stop();
    await world.start("--controllers=node-route", "--cluster-cidr=10.244.0.0/16");
    await serving?.close();
    opened = [];
    await open();
    await world.pass(30);
    const { routes } = JSON.parse(await text("/debug/state"));
    expect(routes).toMatchObject({ isComplete: true, wanted: 0, there: 0, failed: 0 });
  });

  test("serves exactly the paths that docs/endpoints.md lists", async () => {
    const { paths } = JSON.parse(await text("/")) as { readonly paths: readonly string[] };
    const page = await Bun.file(resolve(import.meta.dir, "../../../docs/endpoints.md")).text();
    const rows = page.split("\n").filter((line) => /^\| `\//.test(line));
    const named = rows.flatMap((row) =>
      [...(row.split("|")[1] ?? "").matchAll(/`([^`]+)`/g)].map(([, path]) => path),
    );
    const asNamed = paths.map((path) => (path.length > 1 && path.endsWith("/") ? `${path}NAME` : path));
    expect(named.toSorted()).toEqual(asNamed.toSorted());
  });

  test("renders the metrics once per second, however many requests arrive", async () => {
    let made = 0;
    const { metrics } = world.manager;
    const original = metrics.text;
    Object.assign(metrics, {
      text: () => {
        made += 1;
        return original();
      },
    });
    await world.pass(2);
    const answers = Promise.all(Array.from({ length: 200 }, () => ask("/metrics")));
    await world.clock.advance(0 as Parameters<typeof world.clock.advance>[0]);
    await answers;
    expect(made).toBe(1);
  });
});

test("readyz waits for the cloud's first answer, but livez does not [F90]", async () => {
  await world.stop();
  world = new ServiceWorld();
  world.cloud.faults.add({ kind: "hang", calls: 1000 });
  world.create("web");
  await world.start();
  await open();
  await world.pass(3);
  expect(await text("/livez")).toBe("ok");
  expect(await text("/readyz")).toContain("[-]cloud failed");
  expect(await text("/readyz/cloud")).toContain("no request to the cloud has succeeded yet");
});

test("a leader is not ready until the cloud's instances were listed, and stays ready afterwards [F90]", async () => {
  await world.stop();
  world = new ServiceWorld({ controllers: "*,-node-route" });
  world.cloud.faults.add({ kind: "status", status: 500, operation: "GET /machines", calls: 1000 });
  world.create("web");
  await world.start();
  await open();
  await world.pass(10);
  expect(world.asked).toContain("GET /balancers");
  expect(await text("/readyz")).toContain("[-]cloud failed");
  expect(await text("/readyz/cloud")).toContain("the instances of the cloud were never listed: ");
  world.cloud.faults.clear();
  await world.pass(120);
  expect(await text("/readyz")).toBe("ok");
  world.cloud.faults.add({ kind: "status", status: 500, operation: "GET /machines", calls: 1000 });
  await world.pass(3600);
  expect(await text("/readyz")).toBe("ok");
});

test.each([
  ["TokenReview", [["authorization", "Bearer unknown"]], 401],
  ["SubjectAccessReview", [], 200],
] as const)(
  "repeats a %s that the API server temporarily cannot answer [F84]",
  async (kind, headers, status) => {
    await open();
    let reviews = 0;
    world.server.faults.intercept = ({ url }) => {
      if (!url.includes(`/${kind.toLowerCase()}s`)) return undefined;
      reviews += 1;
      return reviews < 3 ? new Response("{}", { status: 500 }) : undefined;
    };
    const answer = opened[0]?.handle({
      method: "GET",
      target: "/metrics",
      headers,
      peer: undefined,
      client: "10.0.0.1",
      body: async () => "",
    });
    await world.pass(10);
    expect([(await answer)?.status, reviews]).toEqual([status, 3]);
  },
);

test("configz has upstream's structure, and durations in Go's format", async () => {
  await open();
  const { "cloudcontrollermanager.config.k8s.io": config } = JSON.parse(await text("/configz"));
  expect(config).toMatchObject({
    kind: "CloudControllerManagerConfiguration",
    apiVersion: "cloudcontrollermanager.config.k8s.io/v1alpha1",
    Generic: { MinResyncPeriod: "12h0m0s", LeaderElection: { leaseDuration: "15s" } },
  });
  expect([0, 500, 1500, 90_000, 3_600_000].map(goDuration)).toEqual([
    "0s",
    "500ms",
    "1.5s",
    "1m30s",
    "1h0m0s",
  ]);
});

test("DELETE resets the metrics of health checks, and the next health check adds its result", async () => {
  await open();
  await text("/healthz");
  expect(await text("/metrics/slis")).toContain("kubernetes_healthcheck{");
  expect(await ask("/metrics/slis", "DELETE")).toMatchObject({ status: 200, body: "metrics reset\n" });
  const after = await text("/metrics/slis");
  expect(after).toContain("# TYPE kubernetes_healthcheck gauge");
  expect(after).not.toContain("kubernetes_healthcheck{");
  await text("/healthz");
  expect(await text("/metrics/slis")).toContain("kubernetes_healthcheck{");
  expect((await ask("/metrics/slis", "PUT"))?.status).toBe(405);
});

test("only PUT sets the log verbosity", async () => {
  await open();
  await ask("/metrics");
  expect((await ask("/debug/flags/v", "PUT", "4"))?.status).toBe(200);
  expect(lines).toContain("level 4");
  expect(lines).toContain("Log verbosity set to 4");
  expect((await ask("/debug/flags/v", "PUT", "much"))?.status).toBe(400);
  expect((await ask("/debug/flags/v"))?.status).toBe(405);
});

test("profiles are served only with --profiling", async () => {
  await open(["--profiling=false"]);
  expect((await ask("/debug/profile/heap"))?.status).toBe(404);
});

test("opens no port with --secure-port=0, and the webhook port only when a webhook is enabled", async () => {
  await open(["--secure-port=0"]);
  expect(opened).toEqual([]);
  await serving?.close();
  await open(["--secure-port=0", "--webhooks=service-annotations", "--webhook-secure-port=4444"]);
  expect(opened.map(({ port, asksForCertificate }) => [port, asksForCertificate])).toEqual([[4444, false]]);
  expect(lines).toContain("caBundle=");
});

test.each([
  ["EADDRINUSE", "is in use by another process, which ss -ltnp shows"],
  ["EADDRNOTAVAIL", "cannot be opened, because the address does not belong to this machine"],
])(
  "treats a port that fails with %s as temporary, so that systemd restarts the manager",
  async (code, said) => {
    const busy: Listen = () => Promise.reject(Object.assign(new Error("busy"), { code }));
    const error = await open([], busy).catch((reason: unknown) => reason);
    expect(error).not.toBeInstanceOf(ConfigurationError);
    expect(String(error)).toContain(`--secure-port 10258 on 0.0.0.0 ${said}`);
  },
);

describe("openServing", () => {
  const cases: readonly (readonly [readonly string[], Listen, string])[] = [
    [["--tls-cert-file=/a"], listen, "--tls-cert-file requires --tls-private-key-file"],
    [["--tls-cert-file=/a", "--tls-private-key-file=/b"], listen, "Cannot read /a"],
    [["--tls-sni-cert-key=x"], listen, "--tls-sni-cert-key must be like cert.pem,key.pem"],
    [["--webhooks=service-anotations"], listen, "did you mean service-annotations?"],
    [
      ["--webhooks=*", "--webhook-secure-port=10258"],
      listen,
      "--webhook-secure-port must differ from --secure-port, got 10258",
    ],
  ];
  test.each(cases)(
    "openServing fails at the start and names the flag for %p",
    async (flags, through, said) => {
      const error = await open(flags, through).then(
        () => undefined,
        (reason: unknown) => reason,
      );
      expect(error).toBeInstanceOf(ConfigurationError);
      expect(String(error)).toContain(said);
    },
  );
});
