// DigitalOcean settings, and DigitalOcean's annotations in the webhook and in lint.

import { expect, test } from "bun:test";
import { asTransport } from "#ccm/testing";
import { digitalocean } from "../../../providers/digitalocean/index.ts";
import { annotationsWithDefaults } from "../../../src/app/configuration/cloud-settings.ts";
import { helpText } from "../../../src/app/flags/help-text.ts";
import { admitService } from "../../../src/controllers/service/admit.ts";
import { servesWithoutClass } from "../../../src/controllers/service/served-classes.ts";
import { readSettings } from "../../../src/core/read-settings.ts";
import type { AnyProvider } from "../../../src/provider/provider.ts";
import { runCommandIn } from "../../support/command-world.ts";
import { ServiceWorld } from "../../support/service-world.ts";
import { DigitalOceanWorld, prefix, token } from "./digitalocean-world.ts";

function textsOf(environment: Readonly<Record<string, string>>): readonly string[] {
  const { config } = digitalocean;
  const byName = new Map(Object.entries(config).map(([name, { env = "" }]) => [env, name] as const));
  const given = Object.fromEntries(
    Object.entries(environment).map(([env, value]) => [byName.get(env) ?? `no setting for ${env}`, value]),
  );
  const { values, problems } = readSettings(config, given, { what: "setting" });
  if (problems.length > 0) return problems.map(({ text }) => text);
  return (digitalocean.checkConfig?.(values) ?? []).map(({ severity, text }) => `${severity}: ${text}`);
}

const all = {
  DO_ACCESS_TOKEN: "t",
  DO_OVERRIDE_URL: "http://127.0.0.1:1",
  DO_CLUSTER_ID: "c",
  DO_CLUSTER_VPC_ID: "v",
  REGION: "nyc3",
  DEFAULT_LB_TYPE: "REGIONAL",
  PUBLIC_ACCESS_FIREWALL_NAME: "workers",
  PUBLIC_ACCESS_FIREWALL_TAGS: "worker,web",
};

test("accepts every variable of DigitalOcean's Go manager, and reports the variables without effect", () => {
  expect(textsOf(all)).toEqual([]);
  const ineffective = { DO_API_RATE_LIMIT_QPS: "2", DEBUG_ADDR: ":1", METRICS_ADDR: ":2" };
  const texts = textsOf({ ...all, ...ineffective });
  expect(texts).toHaveLength(3);
  for (const name of Object.keys(ineffective))
    expect(texts.join("\n")).toContain(`warning: ${name} is ignored. `);
  const help = helpText("acme", digitalocean as unknown as AnyProvider, {});
  for (const name of Object.keys(ineffective)) expect(help).toContain(`[${name}]\n          No effect. `);
});

test.each([
  [{}, "DO_ACCESS_TOKEN or token-file is required"],
  [{ ...all, DO_OVERRIDE_URL: "nowhere" }, "DO_OVERRIDE_URL must be a URL"],
  [{ ...all, PUBLIC_ACCESS_FIREWALL_TAGS: "" }, "are needed together, and only one of them is set"],
  [{ ...all, DEFAULT_LB_TYPE: "regional" }, "must be one of REGIONAL, REGIONAL_NETWORK"],
])("rejects settings that DigitalOcean's Go manager rejects or ignores: %p", (environment, text) => {
  expect(textsOf(environment).join("\n")).toContain(text);
});

const tableWith = (environment: Readonly<Record<string, string>>) =>
  annotationsWithDefaults(digitalocean as unknown as AnyProvider, () => ({ environment, given: new Map() }));
const table = tableWith({});

const service = (annotations: Readonly<Record<string, string>>) => ({
  metadata: { name: "web", namespace: "default", uid: "u", annotations },
  spec: { type: "LoadBalancer", ports: [{ port: 80 }] },
});
const wrong: readonly (readonly [string, string])[] = [
  ["type", "GLOBAL"],
  ["network", "internal"],
  ["network-stack", "IPV6"],
  ["protocol", "sctp"],
  ["http-ports", "80;81"],
  ["tls-ports", "0"],
  ["http3-port", "443,444"],
  ["size-slug", "lb-huge"],
  ["size-unit", "-1"],
  ["sticky-sessions-type", "cookie"],
  ["tls-passthrough", "yes"],
  ["enable-proxy-protocol", "on"],
  ["http-idle-timeout-seconds", "5"],
  ["healthcheck-check-interval-seconds", "1"],
  ["healthcheck-healthy-threshold", "20"],
  ["healthcheck-protocol", "udp"],
  ["allow-rules", "192.0.2.1"],
  ["name", "shop_1"],
];

test.each(wrong)("the webhook rejects an invalid annotation of DigitalOcean: %s %s [F48]", (name, value) => {
  const object = service({ [prefix + name]: value });
  expect(
    admitService({ operation: "CREATE", object, oldObject: null }, table, servesWithoutClass).refusal,
  ).toContain(name);
});

const contradictions: readonly (readonly [Readonly<Record<string, string>>, string])[] = [
  [{ type: "REGIONAL", "tls-ports": "80" }, "which needs either a certificate or tls-passthrough"],
  [
    { type: "REGIONAL", "tls-passthrough": "true", "certificate-id": "c", "tls-ports": "80" },
    "the Service has both",
  ],
  [{ type: "REGIONAL", "tls-passthrough": "true", "http3-port": "80" }, "http3, which needs a certificate"],
  [{ type: "REGIONAL", "http-ports": "80", "tls-ports": "80", "certificate-name": "c" }, "in several lists"],
  [{ "size-unit": "2", "size-slug": "lb-small" }, "The size is set twice"],
  [{ "sticky-sessions-type": "cookies" }, "need a name and a lifetime"],
  [{ "override-health-check": "", "healthcheck-port": "81" }, "no TCP port 81"],
  [{ network: "INTERNAL", "network-stack": "DUALSTACK" }, "Internal load balancers have no IPv6"],
  [
    { type: "REGIONAL", "certificate-name": "c", protocol: "http3" },
    "The protocol http3 needs a port with https or http2",
  ],
];
const keyed = (annotations: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(annotations).map(([name, value]) => [prefix + name, value]));

test.each(contradictions)(
  "the webhook and lint reject DigitalOcean annotations that contradict each other: %p [F47 F48]",
  async (annotations, text) => {
    const object = service(keyed(annotations));
    const created = admitService({ operation: "CREATE", object, oldObject: null }, table, servesWithoutClass);
    expect(created.refusal).toContain(text);
    // The Service had the contradiction before, so other changes are possible.
    const changed = { ...object, metadata: { ...object.metadata, labels: { a: "b" } } };
    expect(
      admitService({ operation: "UPDATE", object: changed, oldObject: object }, table, servesWithoutClass),
    ).toEqual({});
    const repaired = admitService(
      { operation: "UPDATE", object: service({}), oldObject: object },
      table,
      servesWithoutClass,
    );
    expect(repaired).toEqual({});
    const file = JSON.stringify({ apiVersion: "v1", kind: "Service", ...object });
    const { code, out } = await runCommandIn(new ServiceWorld(), ["lint", "a.json"], {
      provider: digitalocean as never,
      files: { "a.json": file },
    });
    expect([code, out]).toEqual([3, expect.stringContaining(text)]);
  },
);

const shop = { type: "REGIONAL", "http-ports": "80", "tls-ports": "443", "certificate-name": "shop" };
const effects: readonly (readonly [Readonly<Record<string, string>>, string])[] = [
  [
    { "redirect-http-to-https": "true" },
    "redirect-http-to-https has no effect, because service.beta.kubernetes.io/do-loadbalancer-type is REGIONAL_NETWORK by default. Set that to REGIONAL and recreate the Service, or remove the annotation.",
  ],
  [
    { "tls-ports": "443" },
    "tls-ports has no effect, because service.beta.kubernetes.io/do-loadbalancer-type is REGIONAL_NETWORK by default",
  ],
  [
    { "certificate-id": "c" },
    "certificate-id has no effect, because service.beta.kubernetes.io/do-loadbalancer-type is REGIONAL_NETWORK by default",
  ],
  [{ "enable-proxy-protocol": "true" }, "enable-proxy-protocol has no effect"],
  [{ "enable-backend-keepalive": "true" }, "enable-backend-keepalive has no effect"],
  [{ "http-idle-timeout-seconds": "90" }, "http-idle-timeout-seconds has no effect"],
  [
    { "sticky-sessions-cookie-name": "c" },
    "sticky-sessions-type is none by default. Set that to cookies, or remove the annotation.",
  ],
  [
    { ...shop, "redirect-http-to-https": "true", "tls-ports": "8443" },
    "no TCP port of the Service is 8443. Correct it.",
  ],
  [
    { ...shop, "redirect-http-to-https": "true", "http-ports": "" },
    "it redirects port 80 with the protocol http to port 443",
  ],
  [{ ...shop, "http3-port": "444" }, "no TCP port of the Service is 444. Correct it."],
  [
    { ...shop, "tls-ports": "8443", "http-ports": "80,443" },
    "certificate-name has no effect, because no port uses TLS",
  ],
  [{ ...shop, "certificate-id": "c" }, "certificate-id is c and takes precedence. Remove one of them."],
  [{ type: "REGIONAL", "http-idle-timeout-seconds": "90" }, "the load balancer reads no HTTP"],
  [
    { type: "REGIONAL", "tls-passthrough": "true", "enable-backend-keepalive": "true" },
    "the load balancer reads no HTTP",
  ],
  [
    { "override-health-check": "true", "healthcheck-protocol": "tcp", "healthcheck-path": "/ready" },
    "healthcheck-path has no effect, because",
  ],
  [{ "healthcheck-path": "/ready" }, "override-health-check is not set. Set that, or remove the annotation."],
  [{ hostname: "shop.example", "ip-mode": "Proxy" }, "hostname is shop.example and takes precedence"],
  [{ algorithm: "round_robin" }, "algorithm has no effect. The API ignores it. Remove it."],
];
const ofWeb = (annotations: Readonly<Record<string, string>>) => ({
  ...service(annotations),
  spec: { type: "LoadBalancer", ports: [80, 443].map((port) => ({ port, name: `p${port}` })) },
});
const warningsOf = (annotations: Readonly<Record<string, string>>, by = table) =>
  admitService(
    { operation: "CREATE", object: ofWeb(keyed(annotations)), oldObject: null },
    by,
    servesWithoutClass,
  );

test.each(effects)(
  "the webhook and lint warn about DigitalOcean annotations without effect: %p [F47 F48]",
  async (annotations, text) => {
    const { refusal, warnings = [] } = warningsOf(annotations);
    expect([refusal, warnings.filter((one) => one.includes(text))]).toEqual([
      undefined,
      [expect.any(String)],
    ]);
    const object = { apiVersion: "v1", kind: "Service", ...ofWeb(keyed(annotations)) };
    const { code, out } = await runCommandIn(new ServiceWorld(), ["lint", "a.json"], {
      provider: digitalocean as never,
      files: { "a.json": JSON.stringify(object) },
    });
    expect([code, out]).toEqual([3, expect.stringContaining(text)]);
  },
);

test("the webhook accepts DigitalOcean annotations that are valid together [F48]", () => {
  const sticky = {
    "sticky-sessions-type": "cookies",
    "sticky-sessions-cookie-name": "c",
    "sticky-sessions-cookie-ttl": "60",
  };
  const more = { "redirect-http-to-https": "true", "http3-port": "443", "enable-proxy-protocol": "true" };
  expect(warningsOf({ ...shop, ...sticky, ...more, "disable-lets-encrypt-dns-records": "true" })).toEqual({});
  expect(warningsOf({ "redirect-http-to-https": "false", "tls-ports": "", protocol: "tcp" })).toEqual({});
});

test("the checks use the DEFAULT_LB_TYPE of the operator where a Service has no type [F48]", () => {
  const regional = tableWith({ DEFAULT_LB_TYPE: "REGIONAL" });
  expect(warningsOf({ "tls-ports": "443" }, regional).refusal).toContain(
    "needs either a certificate or tls-passthrough",
  );
  expect(warningsOf({ "tls-ports": "443", "certificate-name": "c" }, regional)).toEqual({});
});

const managed = "kubernetes.digitalocean.com/firewall-managed";
test.each([
  ["NodePort", { [managed]: "of course" }, 3, "must be true or false"],
  ["NodePort", { "kubernetes.digitalocean.com/firewal-managed": "false" }, 3, `did you mean "${managed}"?`],
  ["NodePort", { [managed]: "false" }, 0, "no problems"],
  ["LoadBalancer", { [managed]: "false" }, 3, "it is for Services of type NodePort"],
  ["LoadBalancer", { "kubernetes.digitalocean.com/load-balancer-idd": "4" }, 3, 'load-balancer-id"?'],
  ["LoadBalancer", { "service.kubernetes.io/do-loadbalancer-disow": "true" }, 3, 'do-loadbalancer-disown"?'],
  ["LoadBalancer", { [`${prefix}name`]: "a", "load-balancer.hetzner.cloud/name": "a" }, 0, "hint: "],
])("lint checks a Service of type %s with %p [F47]", async (type, annotations, code, text) => {
  const { spec, ...rest } = service(annotations);
  const file = JSON.stringify({ apiVersion: "v1", kind: "Service", ...rest, spec: { ...spec, type } });
  const options = { provider: digitalocean as never, files: { "a.json": file } };
  const result = await runCommandIn(new ServiceWorld(), ["lint", "a.json"], options);
  expect([result.code, result.out]).toEqual([code, expect.stringContaining(text)]);
});

test("lint reports invalid DigitalOcean annotations with their lines, and accepts annotations that managers write [F47]", async () => {
  const lint = (annotations: string) =>
    runCommandIn(new ServiceWorld(), ["lint", "a.yaml"], {
      provider: digitalocean as never,
      files: {
        "a.yaml": `apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n  annotations:\n${annotations}spec: { type: LoadBalancer, ports: [{ port: 80 }] }\n`,
      },
    });
  const { code, out } = await lint(`    ${prefix}tls-ports: "443;8443"\n`);
  expect([code, out]).toEqual([
    3,
    expect.stringContaining("a comma-separated list of ports such as 80,8080"),
  ]);
  const ids = `    kubernetes.digitalocean.com/load-balancer-id: 4de7\n    ${prefix}type: REGIONAL\n`;
  expect((await lint(ids)).code).toBe(0);
});

test("doctor reports a REGION that DigitalOcean does not have, with a suggestion [N7]", async () => {
  const h = new DigitalOceanWorld({ nodes: 1 });
  const run = (REGION: string) =>
    runCommandIn(h.world, ["doctor", "--master=http://test-api-server", "--secure-port=0"], {
      provider: digitalocean as never,
      cloud: asTransport(h.cloud),
      environment: { DO_ACCESS_TOKEN: token, REGION },
    });
  const text = ({ out }: { readonly out: string }) => out.replace(/\s+/g, " ");
  expect(text(await run("nyc33"))).toContain(
    'REGION is "nyc33", which DigitalOcean does not have. Did you mean nyc3? No load balancer is created',
  );
  expect(text(await run("nyc3"))).not.toContain("REGION");
  h.cloud.faults.add({ kind: "status", status: 403, operation: "GET /v2/regions" });
  expect(text(await run("nyc3"))).toContain("CloudSettingsUnchecked The cloud refused GET /regions");
});
