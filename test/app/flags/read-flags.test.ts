import { describe, expect, test } from "bun:test";
import { fake } from "../../../providers/fake/index.ts";
import { configurationSchema } from "../../../src/app/configuration/json-schema.ts";
import { needsRestart } from "../../../src/app/flags/flag-notes.ts";
import { flagFields } from "../../../src/app/flags/flag-table.ts";
import { helpText } from "../../../src/app/flags/help-text.ts";
import { readFlags } from "../../../src/app/flags/read-flags.ts";
import { text } from "../../../src/core/fields.ts";
import type { AnyProvider } from "../../../src/provider/provider.ts";
import { ServiceWorld } from "../../support/service-world.ts";

// How flags are read: rejected before the start, or applied.

const errorsOf = (...args: readonly string[]) =>
  readFlags(args).problems.filter(({ severity }) => severity === "error");

test.each([
  ["--concurrent-service-syncs", "0x5", 5],
  ["--concurrent-node-syncs", "0b1_01", 5],
  ["--concurrent-node-syncs", "010", 8],
  ["--concurrent-service-syncs", "500", 500],
  ["--secure-port", "0o23_412", 9994],
  ["--concurrent-service-syncs", "+010", 8],
  ["--secure-port", "0", 0],
  ["--kube-api-burst", "0x10", 16],
  ["--v", "11", 11],
  ["--v", "010", 10],
  ["--kube-api-qps", "1e2", 100],
  ["--kube-api-qps", "010", 10],
] as const)("parses %s=%s as pflag does", (name, value, expected) => {
  const { flags, problems } = readFlags([`${name}=${value}`]);
  expect(problems).toEqual([]);
  expect((flags as Readonly<Record<string, unknown>>)[name.slice(2)]).toBe(expected);
});

test.each(["0x", "1__0", "_1", "0b2", "1.0", "08", "-0x5"])(
  "rejects --concurrent-service-syncs=%s",
  (value) => {
    expect(errorsOf(`--concurrent-service-syncs=${value}`).map(({ text }) => text)).toEqual([
      `--concurrent-service-syncs must be a whole number of at least 1, got "${value}"`,
    ]);
  },
);

test.each(["--node-status-update-frequency", "--route-reconciliation-period"])(
  "%s accepts 0s like upstream, and raises it to one second with a warning",
  (name) => {
    const { flags, routes, problems } = readFlags([`${name}=0s`]);
    const isNodes = name === "--node-status-update-frequency";
    expect(Number(isNodes ? flags["node-status-update-frequency"] : routes.fullCheck.every)).toBe(1000);
    expect(problems.map(({ severity, text }) => `${severity}: ${text}`)).toEqual([
      `warning: ${name} must be at least 1s, got "0s"; 1s is used`,
    ]);
  },
);

test("--controllers rejects an unknown controller, and accepts Fairlead's and upstream's names", () => {
  expect(
    errorsOf("--controllers=*,-nonsense")
      .map(({ text }) => text)
      .join(),
  ).toContain("nonsense");
  expect(errorsOf("--controllers=*,-service-lb-controller,-cloud-node-lifecycle-controller")).toEqual([]);
});

test.each([
  ["-nod", "did you mean -cloud-node or -cloud-node-lifecycle or -node-route?"],
  ["nodes", "did you mean cloud-node or cloud-node-lifecycle or node-route?"],
  ["-rout", "did you mean -route?"],
  [
    "ipam",
    "controllers: cloud-node, cloud-node-lifecycle, service, node-route, kubelet-serving-csr, volume, tagging",
  ],
])("rejects --controllers=%s and suggests the possible names", (word, hint) => {
  expect(errorsOf(`--controllers=*,${word}`).map(({ text }) => text)).toEqual([
    `--controllers contains the unknown controller ${JSON.stringify(word)}; ${hint}`,
  ]);
});

test("a controller that is disabled by upstream's name does not run", async () => {
  const w = new ServiceWorld();
  await w.start("--controllers=*,-service-lb-controller,-cloud-node,-cloud-node-lifecycle");
  w.create("web");
  await w.pass(60);
  expect(w.owners()).toEqual([]);
  await w.stop();
});

test("explicit flags take precedence over the upstream profile", () => {
  const { lifecycle } = readFlags(["--compatibility=upstream"]);
  expect(Number(lifecycle.confirmAfter)).toBe(0);
  const mixed = readFlags(["--compatibility=upstream", "--absence-confirmation=30s"]).lifecycle;
  expect(Number(mixed.confirmAfter)).toBe(30_000);
  expect(Number(mixed.minAge)).toBe(600_000);
  expect(mixed.removalLimit).toEqual(lifecycle.removalLimit);
});

test.each([
  "kubernetes.io/hostname",
  "node-restriction.kubernetes.io/*",
  "topology.k8s.io/zone",
  "team*x",
  "*",
])("--node-labels-from rejects the entry %s [F107 N25]", (entry) => {
  expect(readFlags([`--node-labels-from=team,${entry}`]).problems.map(({ text }) => text)).toEqual([
    `--node-labels-from must be a comma-separated list of label keys such as team,example.com/*, none of kubernetes.io or k8s.io, got ${JSON.stringify(entry)}`,
  ]);
});

test("--node-labels-from accepts keys and prefixes [F107]", () => {
  const { nodes, problems } = readFlags(["--node-labels-from=team, example.com/*,app*"]);
  expect([nodes.labelsFrom, problems]).toEqual([["team", "example.com/*", "app*"], []]);
});

test.each(["kubernetes.io/", "a.k8s.io/x", "/x", "a b"])(
  "--node-taints-from rejects the prefix %j [F107 N25]",
  (prefix) => {
    expect(readFlags([`--node-taints-from=${prefix}`]).problems.map(({ text }) => text)).toEqual([
      `--node-taints-from must be the beginning of a label key such as example.com/, not of kubernetes.io or k8s.io, got ${JSON.stringify(prefix)}`,
    ]);
  },
);

describe("presets of a provider", () => {
  const presets = {
    "node-status-update-frequency": "2m",
    "removal-limit": "35%",
    "label-policy": "acme/tier=report",
    "leader-elect": "false",
  };
  const provider = { name: "acme", config: {}, presets };

  test("provider presets set flags of upstream and of Fairlead, and explicit flags take precedence", () => {
    const { flags, lifecycle, problems } = readFlags(["--leader-elect"], { provider });
    expect(problems).toEqual([]);
    expect(Number(flags["node-status-update-frequency"])).toBe(120_000);
    expect(flags["leader-elect"]).toBe(true);
    expect(lifecycle.removalLimit).toMatchObject({ share: 0.35 });
  });

  test("with the upstream profile, provider presets apply to upstream's flags but not to Fairlead's", () => {
    const { flags, lifecycle } = readFlags(["--compatibility=upstream"], { provider });
    expect(Number(flags["node-status-update-frequency"])).toBe(120_000);
    expect(lifecycle.removalLimit).toBe("off");
  });

  test("shows the presets of a provider as defaults in the help and in the schema", () => {
    const help = helpText("acme", provider, {});
    const shown = (name: string) =>
      help
        .slice(help.indexOf(`\n      --${name}`))
        .split(/\n {2,6}-/, 2)[1]
        ?.replaceAll(/\s+/g, " ") ?? "";
    expect(shown("node-status-update-frequency")).toContain("(default 2m)");
    expect(shown("label-policy")).toContain("(default acme/tier=report)");
    expect(shown("removal-limit")).toContain("(default 35%)");
    expect(shown("leader-elect")).not.toContain("(default");
    const schema = JSON.stringify(
      configurationSchema({ ...fake, presets } as unknown as AnyProvider, "acme"),
    );
    expect(schema).toContain('"default":"35%"');
  });

  test("reports an unknown or invalid preset as a provider error", () => {
    const wrong = { ...provider, presets: { "concurrent-node-syncs": "0", "leader-elct": "true" } };
    expect(readFlags([], { provider: wrong }).problems.map(({ text }) => text)).toEqual([
      'Preset of the provider acme: --concurrent-node-syncs must be a whole number of at least 1, got "0"',
      'Preset of the provider acme: --leader-elct is not a known flag; did you mean "--leader-elect"?',
    ]);
  });
});

test("rejects a Lease duration below its deadlines, and names the flag", () => {
  const [problem] = errorsOf("--leader-elect-lease-duration=5s");
  expect(problem?.key).toBe("--leader-elect-lease-duration");
  expect(errorsOf("--leader-elect-lease-duration=60s")).toEqual([]);
});

test.each<[string, string, string, string]>([
  ["4s", "3s", "2s", "must be longer than the retry period (2s) and 2s"],
  ["3s", "2s", "1s", "would stop 1s after each renewal"],
])(
  "rejects a Lease duration of %s that leaves no time for writes, and states the minimum",
  (lease, renew, retry, text) => {
    const [problem] = errorsOf(
      `--leader-elect-lease-duration=${lease}`,
      `--leader-elect-renew-deadline=${renew}`,
      `--leader-elect-retry-period=${retry}`,
    );
    expect(problem?.text).toContain(text);
  },
);

test.each<[string, string, string, readonly string[]]>([
  ["15s", "10s", "2s", []],
  ["60s", "40s", "5s", []],
  ["8s", "7s", "3s", ["A lease duration of at least 8.5s avoids that", "stops writing after 6s"]],
  ["6s", "4s", "3s", ["A renewal may take 2s and begins 3s after the last one"]],
])(
  "checks whether the Lease duration %s with renew deadline %s and retry period %s allows slow renewals",
  (lease, renew, retry, texts) => {
    const { problems } = readFlags([
      `--leader-elect-lease-duration=${lease}`,
      `--leader-elect-renew-deadline=${renew}`,
      `--leader-elect-retry-period=${retry}`,
    ]);
    expect(problems.map(({ severity }) => severity)).toEqual(texts.map(() => "warning"));
    for (const [index, text] of texts.entries()) expect(problems[index]?.text).toContain(text);
  },
);

test("the command line takes precedence over the file", () => {
  const formatOf = (inFile: Readonly<Record<string, string>>, ...args: readonly string[]) => {
    const file = { path: "fairlead.yaml", flags: { raw: inFile, places: new Map() } };
    return readFlags(args, { file }).flags["logging-format"];
  };
  expect(formatOf({ "logging-format": "json" }, "--logging-format=text")).toBe("text");
  expect(formatOf({ "logging-format": "json" })).toBe("json");
  expect(errorsOf("--log-format=json").map(({ reason }) => reason)).toEqual(["UnknownFlag"]);
});

test("the former name of a cloud setting is not accepted as a flag", () => {
  const token = { ...text("A token."), flag: "cloud-token", renamedFrom: ["api-token"] };
  const { problems, cloud } = readFlags(["--api-token=x"], { provider: { config: { token } } });
  expect(problems.map(({ reason }) => reason)).toEqual(["UnknownFlag"]);
  expect(cloud.given.get("token")).toBeUndefined();
});

test("rejects a removed flag with its replacement, and an unknown flag with the nearest name", () => {
  const textOf = (flag: string) => errorsOf(flag)[0]?.text;
  expect(textOf("--logtostderr")).toBe(
    "unknown flag --logtostderr; Kubernetes 1.26 removed the klog flags; omit it, logs go to stderr",
  );
  expect(textOf("--port=0")).toContain("use --secure-port");
  expect(textOf("--secure-prot=1")).toContain("did you mean --secure-port?");
});

test("a setting that determines marks, ownership, leadership or controllers needs a restart", () => {
  const names = [
    ...["cluster-name", "cluster-cidr", "node-selector", "cloud-provider", "controllers", "mode"],
    ...["configure-cloud-routes", "leader-elect", "leader-elect-resource-name", "kubeconfig", "master"],
  ] as const;
  expect(names.filter((name) => !needsRestart(flagFields[name]))).toEqual([]);
});

describe("load balancer classes", () => {
  const read = (...args: readonly string[]) => {
    const { flags, problems } = readFlags(args);
    return [flags["load-balancer-class"], problems.map(({ text }) => text)];
  };

  test("--load-balancer-class is a list and may be repeated [F105]", () => {
    const args = ["--load-balancer-class=example.com/shop,internal", "--load-balancer-class=a.b"];
    expect(read(...args, "--load-balancer-class-only")).toEqual([
      ["example.com/shop", "internal", "a.b"],
      [],
    ]);
  });

  test.each(["example.com/", "/shop", "a/b/c", "Example.com/shop", "-shop", `${"x".repeat(64)}`, "a b", "*"])(
    "rejects the class %s, as the API server does [F105]",
    (name) => {
      expect(read(`--load-balancer-class=${name}`)[1]).toEqual([
        `--load-balancer-class must be a comma-separated list of load balancer classes such as example.com/shop, got ${JSON.stringify(name)}`,
      ]);
    },
  );

  test("requires classes when Services without a class are left to another manager [F105]", () => {
    expect(read("--load-balancer-class-only")[1]).toEqual([
      "--load-balancer-class-only needs --load-balancer-class: without a class, no Service would be served. Name the classes to serve, or omit it",
    ]);
  });
});
