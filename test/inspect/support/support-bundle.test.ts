import { afterEach, describe, expect, test } from "bun:test";
import { gunzipSync } from "node:zlib";
import { withoutCredentials } from "../../../src/inspect/support/bundle-redaction.ts";
import type { BundleEntry } from "../../../src/inspect/support/collect.ts";
import { tar } from "../../../src/inspect/support/tar.ts";
import { type CommandOptions, type CommandResult, runCommandIn } from "../../support/command-world.ts";
import { ServiceWorld } from "../../support/service-world.ts";

// The command `support-bundle`: its content, and the absence of secrets.

let world: ServiceWorld | undefined;
afterEach(() => world?.stop());

const bundle = (w: ServiceWorld, args: readonly string[] = [], options: CommandOptions = {}) =>
  runCommandIn(w, ["support-bundle", "--master=http://test-api-server", "--file=b.tar.gz", ...args], options);

/** Reads the archive like tar: names, sizes and checksums of the headers. */
function untar(bytes: Uint8Array): readonly BundleEntry[] {
  const text = (from: number, length: number) =>
    new TextDecoder().decode(bytes.subarray(from, from + length)).split("\0")[0] ?? "";
  const entries: BundleEntry[] = [];
  for (let at = 0; text(at, 100) !== ""; ) {
    const header = bytes.slice(at, at + 512);
    const sum = Number.parseInt(text(at + 148, 8), 8);
    header.fill(0x20, 148, 156);
    expect(header.reduce((total, byte) => total + byte, 0)).toBe(sum);
    expect(text(at + 257, 6)).toBe("ustar");
    const size = Number.parseInt(text(at + 124, 12), 8);
    entries.push({
      name: text(at, 100),
      content: new TextDecoder().decode(bytes.subarray(at + 512, at + 512 + size)),
    });
    at += 512 + Math.ceil(size / 512) * 512;
  }
  return entries;
}

const entriesOf = ({ written }: CommandResult): readonly BundleEntry[] => {
  const file = written.get("b.tar.gz");
  if (file === undefined) throw new Error("There is no bundle.");
  return untar(gunzipSync(file.content));
};
const contentOf = (result: CommandResult, name: string): string =>
  entriesOf(result).find((entry) => entry.name === name)?.content ?? "";

const secrets = {
  flag: "flag-s3cr3t/with+signs=",
  variable: "variable-s3cr3t",
  file: "file-s3cr3t",
  annotation: "annotation-s3cr3t",
  url: "url-s3cr3t",
  other: "other-s3cr3t",
  page: "page-s3cr3t",
  query: "query-s3cr3t",
};

const config = `apiVersion: fairlead.dev/v1alpha1
kind: FairleadConfiguration
cloud:
  token: ${secrets.file}
  endpoint: https://admin:${secrets.url}@fake.example/v1?sig=${secrets.query}
`;

const manager = ({ url }: { readonly url: string }): Response | undefined => {
  if (!url.startsWith("https://manager.example")) return undefined;
  const { pathname } = new URL(url);
  if (pathname === "/readyz") return new Response("[-]cloud failed", { status: 500 });
  if (pathname === "/flagz") return new Response("denied", { status: 403 });
  return new Response(
    JSON.stringify({
      pathname,
      headers: { Authorization: `Bearer ${secrets.page}` },
      nested: JSON.stringify({ "x-auth-token": secrets.page }),
      text: `password=${secrets.page} and ${Buffer.from(secrets.flag).toString("base64")}`,
      seen: [secrets.variable, secrets.flag, secrets.file, secrets.annotation, secrets.other],
    }),
  );
};

/** A cluster with secrets in every possible place. */
async function withSecrets(): Promise<ServiceWorld> {
  const w = new ServiceWorld();
  world = w;
  await w.start();
  w.create("web", {
    annotations: {
      "example.com/registry-token": secrets.annotation,
      "balancer.fake.example/algorithm": secrets.annotation,
    },
  });
  await w.pass(30);
  await w.stop();
  return w;
}

const options: CommandOptions = {
  files: { "config.yaml": config },
  environment: { FAKE_TOKEN: secrets.variable, REGISTRY_PASSWORD: secrets.other },
  others: manager,
};

describe("support-bundle", () => {
  test("a support bundle contains no secret of settings, files, variables, annotations and URLs, and lists no secret", async () => {
    const w = await withSecrets();
    const flags = [
      "--config=config.yaml",
      `--config-set=token=${secrets.flag}`,
      "--server=https://manager.example",
    ];
    const result = await bundle(w, flags, options);
    const whole = entriesOf(result)
      .map(({ name, content }) => name + content)
      .join("\n");
    expect(whole).toContain("algorithm must be one of");
    for (const secret of Object.values(secrets)) {
      for (const form of [secret, btoa(secret), encodeURIComponent(secret)]) {
        expect(whole).not.toContain(form);
        expect(result.out + result.err).not.toContain(form);
      }
    }
  });

  test("a support bundle contains no annotation secret of any object, however many there are", async () => {
    const w = new ServiceWorld();
    world = w;
    await w.start();
    // More than one page, and the last object by name.
    for (let index = 0; index < 510; index++) w.create(`a${index}`, { spec: { type: "ClusterIP" } });
    const annotations = {
      "example.com/token": secrets.annotation,
      "balancer.fake.example/algorithm": secrets.annotation,
    };
    w.create("zzz", { annotations });
    await w.pass(30);
    await w.stop();
    const texts = entriesOf(await bundle(w)).map(({ content }) => content);
    expect(texts.join("\n")).toContain("default/zzz");
    expect(texts.join("\n")).not.toContain(secrets.annotation);
  });

  test("a support bundle contains version, configuration, pages of the manager, objects, events and a list of missing parts", async () => {
    const w = await withSecrets();
    const flags = ["--config=config.yaml", "--server=https://manager.example"];
    const result = await bundle(w, flags, options);
    expect(entriesOf(result).map(({ name }) => name)).toEqual([
      "version.json",
      "configuration.json",
      "cluster/objects.json",
      "cluster/events-of-nodes.json",
      "cluster/events-of-services.json",
      ...["manager/state.json", "manager/explain.json", "manager/metrics.txt", "manager/configz.json"],
      ...["manager/version.json", "manager/statusz.txt", "manager/healthz.txt", "manager/readyz.txt"],
      "missing.txt",
    ]);
    expect(result.code).toBe(3);
    for (const { name } of entriesOf(result)) expect(result.out).toContain(`  ${name}\n`);
    expect(contentOf(result, "missing.txt")).toContain(
      "manager/flagz.txt: the manager at https://manager.example answered 403; you need the verb get on /flagz",
    );
    expect(contentOf(result, "missing.txt")).toContain("cluster/lease.json: ");
    expect(contentOf(result, "manager/readyz.txt")).toBe("[-]cloud failed");
    const configuration = JSON.parse(contentOf(result, "configuration.json"));
    expect(configuration).toMatchObject({ provider: "fake", cloud: { token: "[secret]" } });
    expect(configuration.variables).toContain("REGISTRY_PASSWORD");
    expect(JSON.parse(contentOf(result, "cluster/events-of-services.json"))[0]).toMatchObject({
      object: "default/web",
    });
  });

  test("a support bundle is written with mode 0600, and sends no write", async () => {
    const w = await withSecrets();
    const result = await bundle(w, [], options);
    expect(result.written.get("b.tar.gz")?.mode).toBe(0o600);
    expect([...result.kube, ...result.cloud].filter((request) => !request.startsWith("GET "))).toEqual([]);
  });

  test("a support bundle is written without an API server and with an invalid configuration, which it shows", async () => {
    const w = new ServiceWorld();
    const others = (): undefined => {
      throw Object.assign(new Error("refused"), { code: "ECONNREFUSED" });
    };
    const result = await bundle(w, ["--config-set=tokn=misplaced-s3cr3t", "--mode=sometimes"], { others });
    expect(result.code).toBe(3);
    const text = contentOf(result, "configuration.json");
    expect(text).toContain("tokn");
    expect(text).not.toContain("misplaced-s3cr3t");
    expect(contentOf(result, "missing.txt")).toContain("Cannot reach the API server");
  });

  test("a support bundle sends no credential to a server without TLS", async () => {
    const result = await bundle(new ServiceWorld(), ["--server=http://manager.example"]);
    expect(result).toMatchObject({ code: 2, out: "", kube: [] });
    expect(result.err).toContain("--server must be a URL such as https://localhost:10258");
  });

  test("a support bundle does not replace an existing file", async () => {
    const result = await bundle(new ServiceWorld(), [], { files: { "b.tar.gz": "mine" } });
    expect([result.code, result.out, result.written.size]).toEqual([2, "", 0]);
    expect(result.err).toContain("b.tar.gz exists already");
  });
});

test.each([
  ["https://user:pass@host/x", "https://[secret]@host/x"],
  ["Authorization: Bearer abcdefgh", "Authorization: [secret] [secret]"],
  ['{"api_key": "abc", "name": "web"}', '{"api_key": "[secret]", "name": "web"}'],
  ["--token-file=/var/run/token is read", "--token-file=/var/run/token is read"],
  ["eyJhbGciOiJub25l.eyJzdWIi.c2ln", "[secret]"],
  ["-----BEGIN PRIVATE KEY-----\nMII\n-----END PRIVATE KEY-----", "[secret]"],
  ["10.0.0.1:10258 answered", "10.0.0.1:10258 answered"],
])("redaction turns the text %j into %j", (text, expected) => {
  expect(withoutCredentials(text)).toBe(expected);
});

test("an archive contains files of every length", () => {
  const entries = [
    ...[0, 1, 511, 512, 513, 5000].map((length) => ({ name: `of-${length}`, content: "x".repeat(length) })),
    { name: "utf-8", content: "ä€" },
  ];
  const files = entries.map(({ name, content }) => {
    return { path: name, mode: 0o600, content: new TextEncoder().encode(content) };
  });
  expect(untar(tar(files, 0))).toEqual(entries);
});

describe("the logs of pods in a support bundle", () => {
  const program = "fake-cloud-controller-manager";
  const pods = {
    items: [
      {
        metadata: { name: "ccm-x" },
        spec: { containers: [{ name: "manager", image: `registry/${program}:1` }] },
      },
      { metadata: { name: "dns" }, spec: { containers: [{ name: "dns", image: "registry/dns:1" }] } },
    ],
  };
  const podLog = (answer: () => Response) => (request: { readonly url: string }) => {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === "/api/v1/namespaces/kube-system/pods") return Response.json(pods);
    if (!pathname.endsWith("/pods/ccm-x/log")) return undefined;
    expect(Object.fromEntries(searchParams)).toEqual({
      container: "manager",
      tailLines: "5000",
      limitBytes: "4000000",
    });
    return answer();
  };

  test("a support bundle contains the logs of the replicas' pods, without secrets", async () => {
    const others = podLog(() => new Response(`I1123 token=${secrets.variable}\n`));
    const result = await bundle(new ServiceWorld(), [], {
      others,
      environment: { FAKE_TOKEN: secrets.variable },
    });
    expect(contentOf(result, "pods/ccm-x.log")).toStartWith("I1123 token=");
    expect(contentOf(result, "pods/ccm-x.log")).not.toContain(secrets.variable);
    expect(entriesOf(result).map(({ name }) => name)).not.toContain("pods/dns.log");
  });

  test("a support bundle lists missing pod logs with the permission that they need", async () => {
    const others = podLog(() => new Response("no", { status: 403 }));
    const result = await bundle(new ServiceWorld(), [], { others });
    expect(contentOf(result, "missing.txt")).toContain(
      "pods/ccm-x.log: the API server answered 403; you need the verb get on pods/log",
    );
  });
});
