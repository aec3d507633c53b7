import { describe, expect, test } from "bun:test";
import { flagFields } from "../../src/app/flags/flag-table.ts";
import { readFlags } from "../../src/app/flags/read-flags.ts";
import { chooseWebhooks } from "../../src/app/flags/webhook-names.ts";

// Rows of upstream's tests of command-line options: their defaults, and that each given flag is read.

const minute = 60_000;

test("TestDefaultFlags: defaults are upstream's", () => {
  const { flags } = readFlags([]);
  expect(flags).toMatchObject({
    "controller-start-interval": 0,
    "leader-elect": true,
    "leader-elect-resource-lock": "leases",
    "leader-elect-lease-duration": 15_000,
    "leader-elect-renew-deadline": 10_000,
    "leader-elect-retry-period": 2000,
    "leader-elect-resource-name": "cloud-controller-manager",
    "leader-elect-resource-namespace": "kube-system",
    controllers: ["*"],
    profiling: true,
    "contention-profiling": false,
    "enable-leader-migration": false,
    "node-monitor-period": 5000,
    "cluster-name": "kubernetes",
    "allocate-node-cidrs": false,
    "configure-cloud-routes": true,
    "webhook-secure-port": 10260,
    "webhook-bind-address": "0.0.0.0",
    "secure-port": 10258,
    "bind-address": "0.0.0.0",
    "http2-max-streams-per-connection": 0,
    "authentication-token-webhook-cache-ttl": 10_000,
    "requestheader-username-headers": ["x-remote-user"],
    "requestheader-group-headers": ["x-remote-group"],
    "requestheader-extra-headers-prefix": ["x-remote-extra-"],
    "authorization-webhook-cache-authorized-ttl": 10_000,
    "authorization-webhook-cache-unauthorized-ttl": 10_000,
    "authorization-always-allow-paths": ["/healthz", "/readyz", "/livez"],
  });
  for (const name of [
    "cluster-cidr",
    "cloud-provider",
    "cloud-config",
    "webhooks",
    "leader-migration-config",
  ] as const)
    expect([name, flags[name]]).toEqual([name, undefined]);
});

describe("defaults that differ from upstream", () => {
  const profile = readFlags(["--compatibility=upstream"]).flags;
  test("TestDefaultFlags (upstream): --compatibility=upstream sets a route period of 10 s and a node status frequency of 5 min", () => {
    expect([
      profile["route-reconciliation-period"],
      profile["node-status-update-frequency"],
    ] as unknown).toEqual([10_000, 5 * minute]);
  });
  test("TestDefaultFlags (Fairlead): route period and node status frequency are unset, and changes trigger reconciles", () => {
    const { flags } = readFlags([]);
    expect([flags["route-reconciliation-period"], flags["node-status-update-frequency"]]).toEqual([
      undefined,
      undefined,
    ]);
  });
  test("TestDefaultFlags (upstream): flags restore 20 requests per second, a burst of 30, and one worker", () => {
    const { flags, problems } = readFlags([
      "--kube-api-qps=20",
      "--kube-api-burst=30",
      "--concurrent-node-syncs=1",
      "--concurrent-service-syncs=1",
    ]);
    expect(problems).toEqual([]);
    expect(flags).toMatchObject({
      "kube-api-qps": 20,
      "kube-api-burst": 30,
      "concurrent-node-syncs": 1,
      "concurrent-service-syncs": 1,
    });
  });
  test("TestDefaultFlags (Fairlead): no fixed request rate and many workers", () => {
    const { flags } = readFlags([]);
    expect([
      flags["kube-api-qps"],
      flags["concurrent-node-syncs"],
      flags["concurrent-service-syncs"],
    ]).toEqual([undefined, 64, 32]);
  });
});

describe("TestAddFlags", () => {
  const given: Readonly<Record<string, readonly [written: string, value: unknown]>> = {
    "authorization-always-allow-paths": ["", []],
    "bind-address": ["192.168.4.21", "192.168.4.21"],
    "cert-dir": ["/a/b/c", "/a/b/c"],
    "cloud-config": ["/cloud-config", "/cloud-config"],
    "cluster-cidr": ["1.2.3.0/24", "1.2.3.0/24"],
    "cluster-name": ["k8s", "k8s"],
    "configure-cloud-routes": ["false", false],
    "contention-profiling": ["true", true],
    "controller-start-interval": ["2m", 2 * minute],
    "http2-max-streams-per-connection": ["47", 47],
    "kube-api-burst": ["100", 100],
    "kube-api-content-type": ["application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf"],
    "kube-api-qps": ["50.0", 50],
    kubeconfig: ["/kubeconfig", "/kubeconfig"],
    "leader-elect": ["false", false],
    "leader-elect-lease-duration": ["30s", 30_000],
    "leader-elect-renew-deadline": ["15s", 15_000],
    "leader-elect-resource-lock": ["leases", "leases"],
    "leader-elect-retry-period": ["5s", 5000],
    master: ["192.168.4.20", "192.168.4.20"],
    "min-resync-period": ["100m", 100 * minute],
    "node-status-update-frequency": ["10m", 10 * minute],
    profiling: ["false", false],
    "route-reconciliation-period": ["30s", 30_000],
    "secure-port": ["10001", 10_001],
    "use-service-account-credentials": ["false", false],
    "webhook-bind-address": ["0.0.0.0", "0.0.0.0"],
    "webhook-secure-port": ["10300", 10_300],
    "webhook-cert-dir": ["/test/webhook-cert", "/test/webhook-cert"],
    "webhook-disable-http2-serving": ["true", true],
    "webhook-tls-min-version": ["VersionTLS13", "VersionTLS13"],
    webhooks: ["foo,bar,-baz", ["foo", "bar", "-baz"]],
    "concurrent-node-syncs": ["5", 5],
    "concurrent-service-syncs": ["1", 1],
  };
  const { flags, problems } = readFlags(
    Object.entries(given).map(([name, [written]]) => `--${name}=${written}`),
  );

  for (const [name, [written, value]] of Object.entries(given)) {
    test(`TestAddFlags: reads --${name}=${written}`, () => {
      expect(flagFields).toHaveProperty([name]);
      expect(flags[name as keyof typeof flags] as unknown).toEqual(value);
    });
  }
  test("TestAddFlags: all given flags are valid", () => {
    expect(problems.filter(({ severity }) => severity === "error")).toEqual([]);
  });
  test("TestAddFlags (Fairlead): --controllers=foo,bar is rejected while reading", () => {
    // Upstream parses it and refuses it later, when it validates options. Both exit with an error.
    const texts = readFlags(["--controllers=foo,bar"]).problems.map(({ text }) => text);
    expect(texts.filter((text) => text.includes("unknown controller"))).toHaveLength(2);
  });
});

describe("TestCreateConfig", () => {
  const given = ["--secure-port=10200", "--leader-elect=false", "--concurrent-node-syncs=1"];

  test("TestCreateConfig: reads ports, webhooks, the number of workers and --master", () => {
    const more = ["--webhook-secure-port=10300", "--webhooks=*", "--master=https://127.0.0.1:6443"];
    const { flags, problems } = readFlags([...given, ...more]);
    expect(problems.filter(({ severity }) => severity === "error")).toEqual([]);
    expect([flags["secure-port"], flags["webhook-secure-port"], flags.webhooks]).toEqual([
      10_200,
      10_300,
      ["*"],
    ]);
    expect([flags["concurrent-node-syncs"], flags["leader-elect"]]).toEqual([1, false]);
    expect(flags.master).toBe("https://127.0.0.1:6443");
  });
  test("TestCreateConfigWithoutWebHooks: enables no webhook and opens no port without --webhooks", () => {
    expect(chooseWebhooks(readFlags(given).flags.webhooks ?? [], ["services"]).enabled).toEqual([]);
  });
  test("TestCreateConfigWithoutWebHooks (Fairlead): --concurrent-node-status-updates has no effect and causes a warning", () => {
    // Upstream needs a second pool of workers because every refresh asks the cloud per Node. Fairlead writes what one
    // listing reports.
    const { problems } = readFlags([...given, "--concurrent-node-status-updates=2"]);
    expect(problems.map(({ key, severity }) => [key, severity])).toContainEqual([
      "--concurrent-node-status-updates",
      "warning",
    ]);
  });
});

test("TestCloudControllerManagerConfigurationDefaults: no default is lost when all are written out and read again", () => {
  // Upstream writes its configuration into a ConfigMap. In Fairlead, flags are written and read.
  const first = readFlags([]).flags;
  const durations = new Set(
    Object.entries(flagFields)
      .filter(([, { expects }]) => expects.includes("duration"))
      .map(([name]) => name),
  );
  const written = Object.entries(first).flatMap(([name, value]) => {
    if (value === undefined || ["help", "version", "v"].includes(name)) return [];
    if (value instanceof Map) return [];
    const text = Array.isArray(value) ? value.join(",") : durations.has(name) ? `${value}ms` : String(value);
    return [`--${name}=${text}`];
  });
  expect(written.length).toBeGreaterThan(40);
  expect(readFlags(written).flags).toEqual(first);
});
