// The settings of DigitalOcean, and its annotations in the webhook and in lint.

import { expect, test } from "bun:test";
import { asTransport } from "#ccm/testing";
import { digitalocean } from "../../../providers/digitalocean/index.ts";
import type { AnyProvider } from "../../../src/app/connect-cloud.ts";
import { annotationsOf } from "../../../src/app/connect-cloud.ts";
import { admitService } from "../../../src/controllers/service/admit.ts";
import { readSettings } from "../../../src/core/read-settings.ts";
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
  ...{
    DO_ACCESS_TOKEN: "t",
    DO_OVERRIDE_URL: "http://127.0.0.1:1",
    DO_CLUSTER_ID: "c",
    DO_CLUSTER_VPC_ID: "v",
  },
  ...{ REGION: "nyc3", DEFAULT_LB_TYPE: "REGIONAL" },
  ...{ PUBLIC_ACCESS_FIREWALL_NAME: "workers", PUBLIC_ACCESS_FIREWALL_TAGS: "worker,web" },
};

test("accepts every variable of DigitalOcean's Go manager, and reports those without effect", () => {
  expect(textsOf(all)).toEqual([]);
  const ineffective = {
    ...{ DO_API_RATE_LIMIT_QPS: "2", DEBUG_ADDR: ":1", METRICS_ADDR: ":2" },
  };
  const texts = textsOf({ ...all, ...ineffective });
  expect(texts).toHaveLength(3);
  for (const name of Object.keys(ineffective))
    expect(texts.join("\n")).toContain(`warning: ${name} is ignored. `);
});

test.each([
  [{}, "DO_ACCESS_TOKEN or token-file is required"],
  [{ ...all, DO_OVERRIDE_URL: "nowhere" }, "DO_OVERRIDE_URL must be a URL"],
  [{ ...all, PUBLIC_ACCESS_FIREWALL_TAGS: "" }, "are needed together, and only one of them is set"],
  [{ ...all, DEFAULT_LB_TYPE: "regional" }, "must be one of REGIONAL, REGIONAL_NETWORK"],
])("refuses settings that DigitalOcean's Go manager refuses or ignores: %p", (environment, text) => {
  expect(textsOf(environment).join("\n")).toContain(text);
});

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

test.each(wrong)("the webhook refuses a wrong annotation of DigitalOcean: %s %s [F48]", (name, value) => {
  const table = annotationsOf(digitalocean as unknown as AnyProvider);
  const object = service({ [prefix + name]: value });
  expect(admitService({ operation: "CREATE", object, oldObject: null }, table).refusal).toContain(name);
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
];
const keyed = (annotations: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(annotations).map(([name, value]) => [prefix + name, value]));

test.each(contradictions)(
  "the webhook and lint refuse annotations of DigitalOcean that contradict each other: %p [F47 F48]",
  async (annotations, text) => {
    const table = annotationsOf(digitalocean as unknown as AnyProvider);
    const object = service(keyed(annotations));
    const created = admitService({ operation: "CREATE", object, oldObject: null }, table);
    expect(created.refusal).toContain(text);
    // It had the contradiction before, so other changes are possible.
    const changed = { ...object, metadata: { ...object.metadata, labels: { a: "b" } } };
    expect(admitService({ operation: "UPDATE", object: changed, oldObject: object }, table)).toEqual({});
    const repaired = admitService({ operation: "UPDATE", object: service({}), oldObject: object }, table);
    expect(repaired).toEqual({});
    const file = JSON.stringify({ apiVersion: "v1", kind: "Service", ...object });
    const { code, out } = await runCommandIn(new ServiceWorld(), ["lint", "a.json"], {
      provider: digitalocean as never,
      files: { "a.json": file },
    });
    expect([code, out]).toEqual([3, expect.stringContaining(text)]);
  },
);

test("lint reports wrong annotations of DigitalOcean with their lines, and accepts those that managers write [F47]", async () => {
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
      ...{ provider: digitalocean as never, cloud: asTransport(h.cloud) },
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
