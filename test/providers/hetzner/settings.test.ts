// Hetzner settings: the Go manager's environment variables, with its defaults and validation.

import { expect, test } from "bun:test";
import { type Context, Secret } from "#ccm";
import { readSettings } from "#ccm/testing";
import { hetzner } from "../../../providers/hetzner/index.ts";

const { config } = hetzner;
const token = "t".repeat(64);

const settingsOf = (values: Readonly<Record<string, string>>) =>
  readSettings(config, values, { what: "setting" }).values;
const textsOf = (values: Readonly<Record<string, string>>) =>
  (hetzner.checkConfig?.(settingsOf(values)) ?? []).map(({ severity, text }) => `${severity}: ${text}`);

test("reads every environment variable of the Go manager [F50]", () => {
  const names = Object.values(config).map(({ env }) => env);
  const ofGo = [
    ...["HCLOUD_TOKEN", "HCLOUD_TOKEN_FILE", "HCLOUD_ENDPOINT", "HCLOUD_DEBUG", "HCLOUD_NETWORK"],
    ...["HCLOUD_NETWORK_DISABLE_ATTACHED_CHECK", "HCLOUD_NETWORK_ROUTES_ENABLED"],
    ...["HCLOUD_INSTANCES_ADDRESS_FAMILY", "HCLOUD_INSTANCES_ZONE_LABEL_ENABLED"],
    ...[
      "HCLOUD_SERVER_CACHE_MODE",
      "HCLOUD_SERVER_CACHE_MAX_AGE",
      "HCLOUD_METRICS_ENABLED",
      "HCLOUD_METRICS_ADDRESS",
    ],
    ...["ROBOT_ENABLED", "ROBOT_USER", "ROBOT_USER_FILE", "ROBOT_PASSWORD", "ROBOT_PASSWORD_FILE"],
    ...["ROBOT_CACHE_TIMEOUT", "ROBOT_RATE_LIMIT_WAIT_TIME", "ROBOT_FORWARD_INTERNAL_IPS"],
    ...[
      "ENABLED",
      "LOCATION",
      "NETWORK_ZONE",
      "TYPE",
      "ALGORITHM_TYPE",
      "DISABLE_PRIVATE_INGRESS",
      "USE_PRIVATE_IP",
    ].map((name) => `HCLOUD_LOAD_BALANCERS_${name}`),
    ...[
      "DISABLE_IPV6",
      "DISABLE_PUBLIC_NETWORK",
      "HEALTH_CHECK_INTERVAL",
      "HEALTH_CHECK_TIMEOUT",
      "HEALTH_CHECK_RETRIES",
    ].map((name) => `HCLOUD_LOAD_BALANCERS_${name}`),
    ...["PRIVATE_SUBNET_IP_RANGE", "USES_PROXYPROTOCOL"].map((name) => `HCLOUD_LOAD_BALANCERS_${name}`),
  ];
  expect(ofGo.filter((name) => !names.includes(name))).toEqual([]);
});

test("Hetzner's settings have the Go manager's defaults", () => {
  const set = Object.entries(settingsOf({})).filter(([, value]) => value !== undefined);
  expect(Object.fromEntries(set) as unknown).toEqual({
    endpoint: "https://api.hetzner.cloud/v1",
    "network-routes-enabled": true,
    "instances-address-family": "ipv4",
    "instances-zone-label-enabled": true,
    "robot-enabled": false,
    "robot-rate-limit-wait-time": 300_000,
    "robot-forward-internal-ips": true,
    "load-balancers-enabled": true,
  });
});

test("reports all problems of the settings together", () => {
  const texts = textsOf({
    endpoint: "here",
    network: "net",
    "robot-enabled": "true",
    "robot-user": "me",
    "load-balancers-location": "fsn1",
    "load-balancers-network-zone": "eu-central",
  });
  expect(texts).toEqual([
    "error: HCLOUD_TOKEN or HCLOUD_TOKEN_FILE is required: the API token of the project",
    'error: HCLOUD_ENDPOINT must be a URL, got "here"',
    "error: HCLOUD_LOAD_BALANCERS_LOCATION and HCLOUD_LOAD_BALANCERS_NETWORK_ZONE are both set. Remove one of them",
    "error: ROBOT_USER and ROBOT_PASSWORD must be set together, or neither of them",
    "error: ROBOT_ENABLED cannot be combined with routes in HCLOUD_NETWORK. Set HCLOUD_NETWORK_ROUTES_ENABLED=false",
  ]);
});

test("warns about a token of unusual length and about variables without effect", () => {
  expect(textsOf({ token: "short", "server-cache-mode": "one" })).toEqual([
    "warning: HCLOUD_SERVER_CACHE_MODE is ignored. Fairlead chooses between listings and lookups.",
    "warning: HCLOUD_TOKEN has 5 characters, but tokens have 64. It is used as it is",
  ]);
});

test("reports at the start that Robot is enabled without credentials", () => {
  expect(textsOf({ token, "robot-enabled": "true" })).toEqual([
    "warning: Robot support is enabled without credentials. Nodes of dedicated servers are neither initialized nor deleted, and are targets of load balancers only with use-private-ip, by their InternalIP. To manage them, set ROBOT_USER and ROBOT_PASSWORD",
  ]);
});

test("accepts a complete configuration without a message", () => {
  expect(textsOf({ token, network: "net", "load-balancers-location": "fsn1" })).toEqual([]);
});

test("reads the token from its file each time a credential is needed [F70]", async () => {
  let content = "first\n";
  const fetched: string[] = [];
  const context = {
    inputs: { file: () => new Secret(content), secret: () => undefined, configMap: () => undefined },
    account: (account: {
      readonly fetch: (plain: never, call: never) => Promise<{ readonly value: Secret }>;
    }) => {
      const read = async () =>
        fetched.push((await account.fetch(undefined as never, undefined as never)).value.reveal());
      return { transport: read, credential: read };
    },
    mark: { cluster: "prod", owner: "fairlead" },
  };
  const settings = settingsOf({ "token-file": "/token" });
  expect(hetzner.inputs?.(settings)).toEqual([{ kind: "File", path: "/token" }]);
  const cloud = hetzner.connect(settings, context as unknown as Context);
  const list = async () => {
    for await (const _ of cloud.instances?.sources[0].list({
      signal: new AbortController().signal,
      urgency: "refresh",
    }) ?? [])
      break;
  };
  await list().catch(() => undefined);
  content = "second\n";
  await list().catch(() => undefined);
  expect(fetched).toEqual(["first", "second"]);
});

test("accepts the values that the Go manager accepts, and warns about ambiguous values [F50]", () => {
  const names = ["interval", "timeout"].map((name) => `load-balancers-health-check-${name}`);
  const retries = "load-balancers-health-check-retries";
  const values = { token, "robot-rate-limit-wait-time": "0s", [retries]: "-1" };
  const durations = Object.fromEntries(names.map((name) => [name, "0s"]));
  const read = readSettings(config, { ...values, ...durations }, { what: "setting" });
  expect(read.problems).toEqual([]);
  expect(textsOf({ ...values, ...durations, "token-file": "/token" })).toEqual([
    "warning: HCLOUD_TOKEN and HCLOUD_TOKEN_FILE are both set. The file is not read. Remove one of them",
    "warning: HCLOUD_LOAD_BALANCERS_HEALTH_CHECK_RETRIES is negative, so it is ignored. Remove it, or set a positive value",
  ]);
});
