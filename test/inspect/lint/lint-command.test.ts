import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { fake } from "../../../providers/fake/index.ts";
import { hetzner } from "../../../providers/hetzner/index.ts";
import { openstack } from "../../../providers/openstack/index.ts";
import { rancher } from "../../../providers/rancher/index.ts";
import { annotationsOf } from "../../../src/app/configuration/cloud-settings.ts";
import { servesWithoutClass } from "../../../src/controllers/service/served-classes.ts";
import { Linter } from "../../../src/inspect/lint/lint-files.ts";
import { atPlaceIn } from "../../../src/inspect/lint/lint-result.ts";
import type { AnyProvider } from "../../../src/provider/provider.ts";
import { type CommandOptions, runCommandIn } from "../../support/command-world.ts";
import { ServiceWorld } from "../../support/service-world.ts";

// The command `lint`: problems of Services, Nodes and configuration files, with their positions.

const root = join(import.meta.dir, "../../..");
const lint = (args: readonly string[], options: CommandOptions = {}) =>
  runCommandIn(new ServiceWorld(), ["lint", ...args], options);
const lintText = (text: string, ...args: readonly string[]) =>
  lint(["a.yaml", ...args], { files: { "a.yaml": text } });

const service = (metadata: string, spec = "ports: [{ port: 80 }]"): string =>
  `apiVersion: v1\nkind: Service\nmetadata: { name: web, ${metadata} }\nspec: { type: LoadBalancer, ${spec} }\n`;
const annotated = (annotation: string): string => service(`annotations: { ${annotation} }`);

test("lint finds no problem in a valid Service, with exit code 0 [F47 F49]", async () => {
  const { code, out, err, kube, cloud } = await lintText(
    annotated("balancer.fake.example/algorithm: least-connections, other.example/x: y"),
  );
  expect([code, out, err]).toEqual([0, "Checked 1 Service, 0 configurations in 1 file: no problems.\n", ""]);
  expect([kube, cloud]).toEqual([[], []]);
});

test("lint warns about source ranges that the cloud does not support, even without its credentials [F30]", async () => {
  const text = service("", "ports: [{ port: 80 }], loadBalancerSourceRanges: [10.0.0.0/8]");
  const { code, out } = await lint(["a.yaml"], { files: { "a.yaml": text }, provider: hetzner as never });
  expect([code, out]).toEqual([
    3,
    expect.stringContaining("source ranges (it forwards the traffic of every client)"),
  ]);
});

test("lint gives a hint about a Service with annotations of several clouds that include this cloud [F47]", async () => {
  const text = annotated(
    "load-balancer.hetzner.cloud/location: fsn1, balancer.fake.example/algorithm: round-robin",
  );
  const { code, out } = await lintText(text);
  const hint =
    "hint: Service default/web: load-balancer.hetzner.cloud/location is for the manager of Hetzner Cloud. This one reads balancer.fake.example/…, so the annotation has no effect. Remove it, unless the file is for both clouds [AnnotationOfOtherCloud]";
  expect([code, out]).toEqual([
    0,
    `a.yaml:3:39: ${hint}\nChecked 1 Service, 0 configurations in 1 file: no problems, 1 hint.\n`,
  ]);
  expect((await lintText(text, "--output=github")).out).toStartWith("::notice file=a.yaml,line=3,col=39,");
});

test.each(["ClusterIP", "NodePort"])(
  "lint checks only the annotation values of a Service of type %s [F47]",
  async (type) => {
    const ofType = (annotation: string) =>
      annotated(annotation).replace("type: LoadBalancer, ports: [{ port: 80 }]", `type: ${type}`);
    const { code, out } = await lintText(ofType("balancer.fake.example/algorithm: fastest"));
    expect([code, out]).toEqual([
      3,
      expect.stringContaining('round-robin, least-connections, got "fastest"'),
    ]);
    expect(out).toEndWith("Checked 1 Service, 0 configurations in 1 file: 1 error, 0 warnings.\n");
    const valid = await lintText(ofType("balancer.fake.example/algorithm: round-robin"));
    expect([valid.code, valid.out]).toEqual([0, expect.stringContaining("Checked 1 Service")]);
    const other = await lintText(ofType("other.example/x: y"));
    expect([other.code, other.out]).toEqual([0, expect.stringContaining("Checked 0 Services")]);
  },
);

test("lint warns about spec.loadBalancerIP if the cloud ignores it [F47]", async () => {
  const text = service("", "ports: [{ port: 80 }], loadBalancerIP: 192.0.2.7");
  const files = { "a.yaml": text };
  const ignored = await lint(["a.yaml"], { files, provider: hetzner as never });
  expect([ignored.code, ignored.out]).toEqual([
    3,
    expect.stringContaining(
      "4:52: warning: Service default/web: spec.loadBalancerIP 192.0.2.7 has no effect",
    ),
  ]);
  const environment = { CATTLE_URL: "https://192.0.2.1" };
  const honored = await lint(["a.yaml"], { files, provider: rancher as never, environment });
  expect(honored.out).not.toContain("loadBalancerIP");
});

test("lint warns about a Hetzner annotation without effect for the protocol [F47]", async () => {
  const text = annotated("load-balancer.hetzner.cloud/http-redirect-http: 'true'");
  const { code, out } = await lint(["a.yaml"], { files: { "a.yaml": text }, provider: hetzner as never });
  expect([code, out]).toEqual([
    3,
    expect.stringContaining(
      "3:39: warning: Service default/web: load-balancer.hetzner.cloud/http-redirect-http has no effect",
    ),
  ]);
});

const wrongServices: readonly (readonly [string, string, string])[] = [
  [
    annotated("balancer.fake.example/algorithm: fastest"),
    "3:39: error",
    'algorithm must be one of round-robin, least-connections, got "fastest" [InvalidAnnotation]',
  ],
  [
    annotated("balancer.fake.example/algoritm: round-robin"),
    "3:39: warning",
    'did you mean "balancer.fake.example/algorithm"? [UnknownAnnotation]',
  ],
  [annotated("fairlead.dev/pausd: 'true'"), "3:39: warning", "fairlead.dev/pausd is not a known annotation"],
  [
    annotated("fairlead.dev/paused: true"),
    "3:39: error",
    "fairlead.dev/paused must be a string, got the boolean true; put it in quotes [InvalidAnnotation]",
  ],
  [
    service("", "ports: [{ port: 80 }], loadBalancerIP: x"),
    "4:52: error",
    "spec.loadBalancerIP must be an IP address",
  ],
  [
    service("", "ports: [{ port: 80 }], loadBalancerSourceRanges: [10.0.0.0/33]"),
    "4:52: error",
    'got "10.0.0.0/33" [InvalidSourceRange]',
  ],
  [service("", "ports: []"), "4:29: error", "spec.ports is empty"],
  [
    annotated("load-balancer.hetzner.cloud/location: fsn1"),
    "3:39: warning",
    "load-balancer.hetzner.cloud/location is for the manager of Hetzner Cloud. This one reads balancer.fake.example/…, so the annotation has no effect.",
  ],
  [
    service("", "ports: [{ port: 0 }]"),
    "4:39: error",
    "spec.ports[0].port must be a number from 1 to 65535, got the number 0",
  ],
  [service("", "ports: [{ port: '80' }]"), "4:39: error", "got the string 80"],
  [
    service("", "ports: [{ port: 80, name: a }, { port: 80, name: b }]"),
    "4:62: error",
    "spec.ports[1] has the port 80/TCP of spec.ports[0]; keep one of them",
  ],
  [
    service("", "ports: [{ port: 80, name: a }, { port: 81, name: a }]"),
    "4:72: error",
    'spec.ports[1].name "a" is also the name of spec.ports[0]',
  ],
  [
    service("", "ports: [{ port: 80, name: a }, { port: 81 }]"),
    "4:62: error",
    "spec.ports[1].name is missing",
  ],
  [
    service("", "ports: [{ port: 80 }], sessionAffinity: ClientIP"),
    "4:1: warning",
    "do not support: sessionAffinity ClientIP (a client may reach several Nodes)",
  ],
  [
    `${service("")}---\n${service("")}`,
    "8:13: error",
    "the Service default/web is also in line 3, and the one that is applied last overwrites the other",
  ],
  [
    `${annotated("balancer.fake.example/adopt: b7")}---\n${annotated("balancer.fake.example/adopt: b7").replace("name: web", "name: shop")}`,
    "8:25: error",
    "Service default/shop: it asks to adopt the load balancer b7, and so does default/web.",
  ],
  [
    "apiVersion: v1\nkind: Node\nmetadata: { name: n, annotations: { fairlead.dev/node-deletion: nevr } }\n",
    "3:37: warning",
    'Node n: fairlead.dev/node-deletion must be "never" or "confirmed", got "nevr". Did you mean "never"?',
  ],
  [
    "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Service\n  metadata: { name: web, namespace: shop }\n  spec: { type: LoadBalancer }\n",
    "7:3: error",
    "Service shop/web: spec.ports is empty",
  ],
  ["a: *b\n", "1:1: error", "invalid YAML: Unresolved alias"],
  ["a: [\n", "2:1: error", "invalid YAML: "],
  ["kind: Service\nkind: Service\n", "2:1: error", "invalid YAML: Map keys must be unique"],
];
test.each(wrongServices)("lint reports %j with its position [F47 F49]", async (text, place, message) => {
  const { code, out } = await lintText(text);
  expect(code).toBe(3);
  expect(out).toContain(`a.yaml:${place}: `);
  expect(out).toContain(message);
});

const configuration = (rest: string): string =>
  `apiVersion: fairlead.dev/v1alpha1\nkind: FairleadConfiguration\n${rest}`;
const wrongConfigurations: readonly (readonly [string, string, string])[] = [
  ["flags:\n  cluster-nmae: prod\n", "4:3: error", "did you mean cluster-name? [UnknownKey]"],
  [
    "flags:\n  concurrent-node-syncs: 0\n",
    "4:26: error",
    "--concurrent-node-syncs must be a whole number of at least 1",
  ],
  ["cloud:\n  tokn: x\n", "4:3: error", "did you mean token? [UnknownKey]"],
  ["cloud:\n  endpoint: nonsense\n", "4:13: error", "must be a URL such as"],
  ["flags:\n  server: https://x\n", "4:3: error", "server can only be set on the command line"],
];
test.each(wrongConfigurations)(
  "lint reports a configuration with %j with its position [F78]",
  async (text, place, message) => {
    const { code, out } = await lintText(configuration(text));
    expect(code).toBe(3);
    expect(out).toContain(`a.yaml:${place}: `);
    expect(out).toContain(message);
    expect(out).toEndWith("1 configuration in 1 file: 1 error, 0 warnings.\n");
  },
);

test("lint keeps the positions of a configuration behind other documents [F78]", async () => {
  const { out } = await lintText(
    `${service("")}---\n# a comment\n${configuration("flags:\n  cluster-nmae: x\n")}`,
  );
  expect(out).toContain("a.yaml:10:3: error: unknown flag cluster-nmae");
});

test("lint does not report a missing required setting that a variable can set, and ignores other objects [F78]", async () => {
  const { hetzner } = await import("../../../providers/hetzner/index.ts");
  const files = {
    "a.yaml": `${configuration("flags:\n  cluster-name: prod\n")}---\napiVersion: v1\nkind: ConfigMap\nmetadata: { name: x }\n`,
  };
  const { code, out } = await lint(["a.yaml"], { provider: hetzner, files });
  expect([code, out]).toEqual([0, "Checked 0 Services, 1 configuration in 1 file: no problems.\n"]);
});

describe("the output of lint", () => {
  const text = annotated("balancer.fake.example/algorithm: 'a,b: 100%'");

  test("lint prints JSON with the severity of each problem [F47]", async () => {
    const { code, out } = await lintText(text, "-o", "json");
    expect([code, JSON.parse(out)]).toEqual([
      3,
      {
        problems: [
          {
            file: "a.yaml",
            line: 3,
            column: 39,
            severity: "error",
            reason: "InvalidAnnotation",
            text: expect.stringContaining('got "a,b: 100%"'),
            object: "Service default/web",
          },
        ],
        checked: { files: 1, services: 1, nodes: 0, configurations: 0 },
      },
    ]);
  });

  test("lint prints escaped annotations for GitHub Actions [F47]", async () => {
    const { out } = await lintText(text, "--output=github");
    expect(out).toStartWith(
      "::error file=a.yaml,line=3,col=39,title=InvalidAnnotation::Service default/web: ",
    );
    expect(out).toContain('got "a,b: 100%25"\n');
  });
});

test("lint reads stdin and several files, and names the files that it cannot read [F47]", async () => {
  const files = {
    "a.yaml": service(""),
    "b.json": JSON.stringify({
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "b" },
      spec: { type: "LoadBalancer" },
    }),
  };
  const both = await lint(["a.yaml", "b.json"], { files });
  expect([both.code, both.out]).toEqual([3, expect.stringContaining("b.json:1:")]);
  const piped = await lint(["-"], { stdin: annotated("balancer.fake.example/algorithm: x") });
  expect([piped.code, piped.out]).toEqual([3, expect.stringContaining("stdin:3:39: error: ")]);
  const missing = await lint(["a.yaml", "nowhere.yaml"], { files });
  expect([missing.code, missing.err]).toEqual([
    1,
    "fake-cloud-controller-manager: cannot read nowhere.yaml: the file does not exist\n",
  ]);
  expect(missing.out).toEndWith(" in 1 file: no problems. 1 file could not be read.\n");
  const none = await lint([]);
  expect([none.code, none.err]).toEqual([2, expect.stringContaining("lint requires at least one file")]);
});

test("lint finds no problem in the manifests of this repository [F47]", async () => {
  const paths = ["deploy", "test/docs"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith(".yaml") && !path.includes("templates"))
      .map((path) => join(folder, path)),
  );
  const files = Object.fromEntries(paths.map((path) => [path, readFileSync(join(root, path), "utf8")]));
  const { code, out } = await lint(paths, { files });
  expect([code, out]).toEqual([0, expect.stringContaining(`in ${paths.length} files: no problems.`)]);
});

test("lint accepts any text, and never places a problem outside the file [F47]", () => {
  const word = fc.constantFrom(
    ...[
      "apiVersion: v1\n",
      "kind: Service\n",
      "kind: List\n",
      "items:\n",
      "- ",
      "  ",
      "spec: ",
      "metadata: ",
      "{",
      "}",
      "[",
      "]",
    ],
    ...[
      "type: LoadBalancer\n",
      "ports: ",
      "annotations: ",
      "&a ",
      "*a ",
      "<<: ",
      "null",
      "---\n",
      "kind: FairleadConfiguration\n",
      "\t",
      "é",
      ": ",
    ],
  );
  fc.assert(
    fc.property(fc.array(fc.oneof(word, fc.string()), { maxLength: 40 }), (parts) => {
      const text = parts.join("");
      const linter = new Linter({
        provider: fake as unknown as AnyProvider,
        environment: {},
        services: {
          classes: servesWithoutClass,
          table: annotationsOf(fake as unknown as AnyProvider),
          facts: {},
          balancers: undefined,
        },
      });
      linter.lint("a.yaml", text);
      const lines = text.split(/\r\n|\n|\r/).length;
      for (const { line, column } of linter.result.problems) {
        expect(line).toBeGreaterThan(0);
        expect(column).toBeGreaterThan(0);
        expect(line).toBeLessThanOrEqual(lines + 1);
      }
    }),
    { numRuns: 400 },
  );
});

test("lint places a problem without a position at the beginning of the file [F78]", () => {
  const problem = { severity: "error", reason: "X", text: "something" } as const;
  expect(atPlaceIn("a.yaml", problem)).toMatchObject({ line: 1, column: 1, text: "something" });
  expect(atPlaceIn("a.yaml", { ...problem, place: { file: "a.yaml", line: 7 } })).toMatchObject({
    line: 7,
    column: 1,
    text: "something",
  });
  expect(atPlaceIn("a.yaml", { ...problem, place: { file: "b.yaml", line: 7 } })).toMatchObject({
    line: 1,
    text: "b.yaml:7: something",
  });
});

describe("lint --cloud-config", () => {
  const lintCloud = (text: string | undefined, ...args: readonly string[]) =>
    lint(["--cloud-config=cloud.conf", ...args], {
      provider: openstack as never,
      files: text === undefined ? {} : { "cloud.conf": text },
    });

  test("lint --cloud-config checks the cloud's file, and assumes that variables set all missing settings [F77 F78]", async () => {
    const valid = await lintCloud("[Global]\nauth-url = https://k.example\n");
    expect([valid.code, valid.out]).toEqual([
      0,
      "Checked 0 Services, 1 configuration in 1 file: no problems.\n",
    ]);
    const wrong = await lintCloud("[Global]\nauth-url = k\n[LoadBalancer]\nenabled = maybe\n");
    expect([wrong.code, wrong.err]).toEqual([3, ""]);
    expect(wrong.out).toBe(
      [
        'cloud.conf:2:1: error: auth-url in [Global] must be a URL such as https://keystone.example:5000/v3, got "k" [InvalidSetting]',
        'cloud.conf:4:1: error: enabled in [LoadBalancer] must be true or false, got "maybe" [InvalidSetting]',
        "Checked 0 Services, 1 configuration in 1 file: 2 errors, 0 warnings.\n",
      ].join("\n"),
    );
  });

  test("lint --cloud-config fails if the file cannot be read, and if the cloud has no such file", async () => {
    const missing = await lintCloud(undefined);
    expect([missing.code, missing.err]).toEqual([1, expect.stringContaining("cannot read --cloud-config")]);
    const other = await lint(["--cloud-config=x"], { files: { x: "" }, provider: hetzner as never });
    expect([other.code, other.err]).toEqual([1, expect.stringContaining("--cloud-config has no effect")]);
  });
});

test("lint checks a Service of a class if the flags make the manager serve the class [F47 F105]", async () => {
  const text = service(
    "annotations: { balancer.fake.example/algorithm: fastest }",
    "ports: [{ port: 80 }], loadBalancerClass: example.com/shop",
  );
  const skipped = await lintText(text);
  expect([skipped.code, skipped.out]).toEqual([0, expect.stringContaining("Checked 0 Services")]);
  const checked = await lintText(text, "--load-balancer-class=example.com/shop");
  expect([checked.code, checked.out]).toEqual([3, expect.stringContaining('got "fastest"')]);
});
