import { expect, test } from "bun:test";
import { digitalocean } from "../../../providers/digitalocean/index.ts";
import { fake } from "../../../providers/fake/index.ts";
import { hetzner } from "../../../providers/hetzner/index.ts";
import { rancher } from "../../../providers/rancher/index.ts";
import { readConfiguration } from "../../../src/app/configuration/configuration.ts";
import { unknownVariables } from "../../../src/app/configuration/unknown-variables.ts";
import type { AnyProvider } from "../../../src/provider/provider.ts";
import { MemoryFiles } from "../../../src/testing/virtual-time/memory-files.ts";

// Environment variables whose names resemble cloud settings.

const problemsOf = (
  environment: Readonly<Record<string, string>>,
  isAllowed = false,
  provider: unknown = hetzner,
) =>
  unknownVariables(provider as AnyProvider, environment, isAllowed).map(
    ({ severity, key, text }) => `${severity} ${key} ${/did you mean "(\w+)"/.exec(text)?.[1]}`,
  );

test.each([
  ["HCLOUD_NETWRK", "HCLOUD_NETWORK"],
  ["HCLOUD_NETWORKS", "HCLOUD_NETWORK"],
  ["HCLOUD_LOADBALANCERS_LOCATION", "HCLOUD_LOAD_BALANCERS_LOCATION"],
  ["HCLUOD_NETWORK", "HCLOUD_NETWORK"],
  ["HCLOUDNETWORK", "HCLOUD_NETWORK"],
  ["ROBOT_USR", "ROBOT_USER"],
])("a typo in a variable prevents the start and names the setting: %s", (name, meant) => {
  expect(problemsOf({ [name]: "x" })).toEqual([`error ${name} ${meant}`]);
});

test.each([
  ["HCLOUD_LOAD_BALANCERS_NAME", "HCLOUD_LOAD_BALANCERS_TYPE"],
  ["HCLOUD_LOAD_BALANCERS_NODE", "HCLOUD_LOAD_BALANCERS_TYPE"],
  ["HCLOUD_LOAD_BALANCERS_DISABLE_IPV4", "HCLOUD_LOAD_BALANCERS_DISABLE_IPV6"],
])("warns about a variable that only resembles a setting, and names the setting: %s", (name, similar) => {
  expect(problemsOf({ [name]: "x" })).toEqual([`warning ${name} ${similar}`]);
});

test.each(["DO_CLUSTER_IDD", "DO_CLUSTER_DI", "DO_CLUSTR_ID"])(
  "a typo in a short word of a variable prevents the start: %s",
  (name) => {
    expect(problemsOf({ [name]: "x" }, false, digitalocean)).toEqual([`error ${name} DO_CLUSTER_ID`]);
  },
);

test.each(["DO_CLUSTER_UID", "DO_CLUSTER_IDS"])(
  "a variable with a different short word is not treated as a typo: %s",
  (name) => {
    expect(problemsOf({ [name]: "x" }, false, digitalocean)).toEqual([`warning ${name} DO_CLUSTER_ID`]);
  },
);

test.each([
  ["DIGITALOCEAN_ACCESS_TOKEN", "DO_ACCESS_TOKEN", digitalocean],
  ["DIGITALOCEAN_TOKEN", "DO_ACCESS_TOKEN", digitalocean],
  ["DO_TOKEN", "DO_ACCESS_TOKEN", digitalocean],
  ["HETZNER_API_TOKEN", "HCLOUD_TOKEN", hetzner],
  ["HETZNER_ROBOT_PASSWORD", "ROBOT_PASSWORD", hetzner],
  ["RANCHER_SECRET_KEY", "CATTLE_SECRET_KEY", rancher],
] as const)(
  "warns about a credential under another client's variable name, and names the setting: %s",
  (name, meant, provider) => {
    expect(problemsOf({ [name]: "x" }, false, provider)).toEqual([`warning ${name} ${meant}`]);
    const isForeign = !Object.values(provider.config).some(
      ({ env = "" }) => env.split("_")[0] === name.split("_")[0],
    );
    const both = problemsOf({ [name]: "x", [meant]: "x" }, false, provider);
    expect(both).toEqual(isForeign ? [] : [`warning ${name} undefined`]);
  },
);

test("only warns about a typo in a variable if unknown variables are allowed", () => {
  expect(problemsOf({ HCLOUD_NETWRK: "x" }, true)).toEqual(["warning HCLOUD_NETWRK HCLOUD_NETWORK"]);
  expect(problemsOf({ HCLUOD_NETWORK: "x" }, true)).toEqual(["warning HCLUOD_NETWORK HCLOUD_NETWORK"]);
});

test.each([
  ["HCLOUD_TOKEN_OLD", "HCLOUD_TOKEN", "warning HCLOUD_TOKEN_OLD undefined"],
  ["HCLOUD_TOKEN2", "HCLOUD_TOKEN_FILE", "warning HCLOUD_TOKEN2 undefined"],
  ["HCLOUD_NETWORK_ID", "HCLOUD_NETWORK", "warning HCLOUD_NETWORK_ID undefined"],
  ["GCLOUD_TOKEN", "HCLOUD_TOKEN", undefined],
])("%s does not prevent the start while %s has a value", (name, given, warning) => {
  expect(problemsOf({ [name]: "x", [given]: "x" })).toEqual(warning === undefined ? [] : [warning]);
});

test("warns about an unknown variable with the prefix of a setting", () => {
  expect(problemsOf({ HCLOUD_CONTEXT: "x", ROBOT_WEBHOOK: "x" })).toEqual([
    "warning HCLOUD_CONTEXT undefined",
    "warning ROBOT_WEBHOOK undefined",
  ]);
});

test("does not report variables that are known, empty, unrelated or set by Kubernetes for a Service", () => {
  const known = Object.values(hetzner.config).flatMap(({ env }) => env ?? []);
  const ofServices = ["HCLOUD", "HCLOUD_NETWORKS"].flatMap((name) =>
    ["SERVICE_HOST", "SERVICE_PORT", "SERVICE_PORT_HTTPS", "PORT", "PORT_443_TCP"]
      .concat(["PROTO", "PORT", "ADDR"].map((part) => `PORT_443_TCP_${part}`))
      .map((rest) => `${name}_${rest}`),
  );
  const foreign = ["PATH", "HOME", "HOSTNAME", "KUBERNETES_PORT", "NODE_NAME", "GITHUB_TOKEN", "HTTP_PROXY"];
  const environment = Object.fromEntries([...known, ...ofServices, ...foreign].map((name) => [name, "x"]));
  expect(problemsOf({ ...environment, HCLOUD_NETWRK: "" })).toEqual([]);
});

test("no variable of a cloud counts as a typo of another cloud's variable", () => {
  const providers = [fake, hetzner, rancher, digitalocean] as unknown as readonly AnyProvider[];
  const all = providers.flatMap(({ config }) => Object.values(config).flatMap(({ env }) => env ?? []));
  const environment = Object.fromEntries(all.map((name) => [name, "x"]));
  for (const provider of providers) expect(unknownVariables(provider, environment, false)).toEqual([]);
});

test("reports a typo in a variable as a configuration error, unless a flag allows it", async () => {
  const read = (...args: readonly string[]) =>
    readConfiguration({
      provider: hetzner as unknown as AnyProvider,
      args,
      environment: { HCLOUD_TOKEN: "t".repeat(64), HCLOUD_NETWRK: "cluster" },
      files: new MemoryFiles({}).files,
    });
  const severities = async (...args: readonly string[]) =>
    (await read(...args)).problems.map(({ severity }) => severity);
  expect((await read()).problems.map(({ text }) => text)).toEqual([
    'The environment variable HCLOUD_NETWRK is not known; did you mean "HCLOUD_NETWORK"? Nothing is started, because HCLOUD_NETWORK would not have the value that was probably meant. Correct or remove the variable, or set --allow-unknown-variables',
  ]);
  expect(await severities()).toEqual(["error"]);
  expect(await severities("--allow-unknown-variables")).toEqual(["warning"]);
});
