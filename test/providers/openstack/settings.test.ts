// OpenStack settings: the Go manager's cloud.conf, clouds.yaml, and validation.

import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { readSettings } from "#ccm/testing";
import { readClouds, readConfigFile } from "../../../providers/openstack/config-file.ts";
import { openstack } from "../../../providers/openstack/index.ts";
import { balancerClass, scope, sections } from "../../../providers/openstack/settings.ts";
import { readConfiguration } from "../../../src/app/configuration/configuration.ts";
import { messageIn } from "../../../src/core/problem.ts";
import type { AnyProvider } from "../../../src/provider/provider.ts";
import { MemoryFiles } from "../../../src/testing/virtual-time/memory-files.ts";

const textsOf = (values: Readonly<Record<string, string>>) => {
  const { values: settings } = readSettings(openstack.config, values, { what: "setting" });
  return (openstack.checkConfig?.(settings) ?? []).map(({ severity, text }) => `${severity}: ${text}`);
};

/** Every key of the structs that the Go manager decodes its file into, version 1.35.0. */
const keysOfGo = {
  Global: [
    ...["auth-url", "user-id", "username", "password", "tenant-id", "tenant-name", "trust-id", "trustee-id"],
    ...[
      "trustee-password",
      "domain-id",
      "domain-name",
      "tenant-domain-id",
      "tenant-domain-name",
      "user-domain-id",
    ],
    ...["user-domain-name", "region", "os-endpoint-type", "ca-file", "tls-insecure", "token", "cert-file"],
    ...["key-file", "use-clouds", "clouds-file", "cloud", "application-credential-id"],
    ...["application-credential-name", "application-credential-secret"],
  ],
  Networking: ["ipv6-support-disabled", "public-network-name", "internal-network-name", "address-sort-order"],
  Route: ["router-id"],
  Metadata: ["search-order", "request-timeout"],
  LoadBalancer: [
    ...["enabled", "lb-version", "subnet-id", "member-subnet-id", "network-id", "floating-network-id"],
    ...["floating-subnet-id", "floating-subnet", "floating-subnet-tags", "lb-method", "lb-provider"],
    ...[
      "create-monitor",
      "monitor-delay",
      "monitor-timeout",
      "monitor-max-retries",
      "monitor-max-retries-down",
    ],
    ...["manage-security-groups", "internal-lb", "node-selector", "cascade-delete", "flavor-id"],
    ...["availability-zone", "enable-ingress-hostname", "ingress-hostname-suffix", "max-shared-lb"],
    ...["container-store", "provider-requires-serial-api-calls", "default-tls-container-ref"],
  ],
} as const;

describe("cloud.conf", () => {
  test("the table of the page has every key of the Go manager, each in its section", () => {
    const page = readFileSync(new URL("../../../docs/clouds/openstack.md", import.meta.url), "utf8");
    const named = { ...sections, LoadBalancerClass: balancerClass, Scope: scope };
    for (const [section, fields] of Object.entries(named)) {
      const row = page.split("\n").find((line) => line.startsWith(`| \`[${section}`)) ?? "";
      const keys = Object.keys(fields).flatMap((name) =>
        name === "name" ? [] : name === "load-balancers-enabled" ? "enabled" : name,
      );
      const found = [...row.matchAll(/`([^`]+)`/g)].flatMap(([, word]) => word ?? []).slice(1);
      expect(found.toSorted()).toEqual(keys.toSorted());
    }
  });

  test("accepts every key in the Go manager's configuration file [F77]", () => {
    const text = Object.entries(keysOfGo)
      .map(([section, keys]) => [`[${section}]`, ...keys.map((key) => `${key} = x`)].join("\n"))
      .join("\n");
    const { settings, problems } = readConfigFile(text);
    expect(problems).toEqual([]);
    expect(Object.keys(settings).filter((name) => !Object.hasOwn(openstack.config, name))).toEqual([]);
    expect(Object.keys(settings)).toHaveLength(Object.values(keysOfGo).flat().length);
  });

  test("reads the file as the Go manager's parser does", () => {
    const { settings, problems } = readConfigFile(
      [
        "; a comment",
        "[Global]",
        'Password = "se;cret#\\"1 " # the quotes keep what is inside',
        "username=admin ; a comment",
        "use-clouds",
        "[Networking]",
        "public-network-name = one",
        "public-network-name = two",
        "[LoadBalancer]",
        "enabled = false",
        "network-id = a\\",
        "bc",
        '[LoadBalancerClass "internet \\"x\\""]',
        "floating-network-id = ext",
        '[Scope "two"]',
        "region = RegionTwo",
      ].join("\n"),
    );
    expect(problems).toEqual([]);
    const withoutTitles = JSON.stringify(settings, (key, value) => (key === "title" ? undefined : value));
    expect(JSON.parse(withoutTitles)).toEqual({
      password: { text: 'se;cret#"1 ', line: 3 },
      username: { text: "admin", line: 4 },
      "use-clouds": { text: "true", line: 5 },
      "public-network-name": { text: "one\ntwo", line: 8 },
      "load-balancers-enabled": { text: "false", line: 10 },
      "network-id": { text: "abc", line: 11 },
      "load-balancer-classes": [
        {
          line: 13,
          values: {
            name: { text: 'internet "x"', line: 13 },
            "floating-network-id": { text: "ext", line: 14 },
          },
        },
      ],
      scopes: [
        {
          line: 15,
          values: { name: { text: "two", line: 15 }, region: { text: "RegionTwo", line: 16 } },
        },
      ],
    });
  });

  test("reports unreadable lines, without a secret", () => {
    const { problems } = readConfigFile(
      ["password = s3cret", "[Global]", "s3cret word", 'password = "s3cret', "region"].join("\n"),
    );
    expect(problems.map(({ line, severity, text }) => `${line} ${severity}: ${text}`)).toEqual([
      "1 error: password must be in a section such as [Global]",
      "3 error: expected a line such as auth-url = https://keystone.example:5000/v3",
      "4 error: the value of password has a quote that is not closed",
      "5 error: region has no value; expected a line such as auth-url = https://keystone.example:5000/v3",
    ]);
  });

  test("reports keys that the Go manager ignores: misspelled or misplaced keys as errors, unknown keys as warnings [F77]", () => {
    const { settings, problems } = readConfigFile(
      [
        ...["[Global]", "auth-url = https://k.example", "router-id = r1", "regoin = RegionOne"],
        ...["[LoadBalancer]", "use-octavia = true", "Subnet-ID = s1", "[BlockStorage]", "bs-version = v2"],
        ...["trust-device-path = no", "ignore-volume-az = yes", "[Storage]", "region = RegionTwo"],
        ...['[Global "east"]', "region = RegionTwo", "[LoadBalancerClass]", "subnet-id = s2"],
        ...['[LoadBalancerClass "a"]', "region = RegionTwo"],
      ].join("\n"),
    );
    expect(Object.keys(settings).toSorted()).toEqual([
      ...["auth-url", "ignore-volume-az", "load-balancer-classes", "subnet-id"],
    ]);
    const expected =
      'expected [Global], [Networking], [Metadata], [Route], [LoadBalancer], [BlockStorage], [LoadBalancerClass "name"] or [Scope "name"]. Its settings are not read.';
    expect(problems.map(({ line, severity, text }) => `${line} ${severity}: ${text}`)).toEqual([
      "3 error: router-id in [Global] has no effect, because it belongs in [Route]",
      '4 error: regoin in [Global] is not a known setting, so it has no effect; did you mean "region"?',
      "6 warning: use-octavia in [LoadBalancer] is not a known setting, so it has no effect",
      "9 warning: bs-version in [BlockStorage] is not a known setting, so it has no effect",
      "10 warning: trust-device-path in [BlockStorage] is not a known setting, so it has no effect",
      `12 warning: section [Storage] is unknown; ${expected}`,
      `14 error: section [Global "east"] is unknown; ${expected}`,
      `16 error: section [LoadBalancerClass] is unknown; ${expected}`,
      '19 error: region in [LoadBalancerClass "a"] has no effect, because it belongs in [Global]',
    ]);
  });

  test("accepts exactly the words for true and false of the Go manager's parser [F77]", () => {
    const read = (line: string) => {
      const [value] = Object.values(readConfigFile(`[LoadBalancer]\n${line}`).settings);
      return value !== undefined && "text" in value ? value.text : undefined;
    };
    for (const word of ["true", "yes", "on", "1", "YES", "tRuE"])
      expect(read(`enabled = ${word}`)).toBe("true");
    for (const word of ["false", "no", "off", "0", "Off"]) expect(read(`enabled = ${word}`)).toBe("false");
    expect([read("enabled"), read("enabled ; on"), read("enabled = maybe")]).toEqual([
      "true",
      "true",
      "maybe",
    ]);
    // The Go manager reads this value as a text, and only true disables the verification.
    expect(readConfigFile("[Global]\ntls-insecure = yes").settings).toMatchObject({
      "tls-insecure": { text: "yes" },
    });
    expect(openstack.config["tls-insecure"].parse("yes")).toMatchObject({ wrong: '"yes"' });
  });

  test("treats an empty value as unset, as in the Go manager's example, except for numbers and booleans [F77]", () => {
    const { settings, problems } = readConfigFile(
      [
        ...["[Global]", "username = admin", "tenant-id =", 'domain-id = "" ; none', "region = a", "region ="],
        ...["[Networking]", "public-network-name =", "public-network-name = b", "[LoadBalancer]"],
        ...["lb-method =", "enabled =", "max-shared-lb =", "monitor-delay ="],
      ].join("\n"),
    );
    expect(problems).toEqual([]);
    const texts = Object.entries(settings).map(([name, value]) => [name, "text" in value && value.text]);
    expect(Object.fromEntries(texts)).toEqual({
      username: "admin",
      "public-network-name": "b",
      "load-balancers-enabled": "",
      "max-shared-lb": "",
      "monitor-delay": "",
    });
  });
});

describe("a cloud.conf with several mistakes", () => {
  const problemsOf = async (lines: readonly string[], environment: Readonly<Record<string, string>> = {}) => {
    const { files } = new MemoryFiles({ "/cloud.conf": lines.join("\n") });
    const provider = openstack as unknown as AnyProvider;
    const args = ["--cloud-config=/cloud.conf"];
    return (await readConfiguration({ provider, args, files, environment })).problems.map(messageIn);
  };
  const secret = "application-credential-secret = s3cret";

  test("reports a cloud.conf with several mistakes immediately, with the keys and sections of the file [F77 F78]", async () => {
    const lines = [
      ...[
        "[Global]",
        "auth-url = keystone",
        secret,
        "ca-file = /none.pem",
        "[LoadBalancer]",
        "enabled = maybe",
      ],
      ...["monitor-delay = soon", "lb-provider = ovn", "lb-method = ROUND_ROBIN", "[Blockstorge]"],
      ...['[Scope "two"]', "regoin = RegionTwo", '[Scope "two"]', "region = RegionTwo"],
    ];
    expect((await problemsOf(lines)).toSorted()).toEqual(
      [
        '/cloud.conf:2: auth-url in [Global] must be a URL such as https://keystone.example:5000/v3, got "keystone"',
        '/cloud.conf:6: enabled in [LoadBalancer] must be true or false, got "maybe"',
        '/cloud.conf:7: monitor-delay in [LoadBalancer] must be a duration such as 15s or 1h30m of at least 1s, got "soon"',
        "/cloud.conf:9: lb-method in [LoadBalancer] is ROUND_ROBIN, but the provider ovn has SOURCE_IP_PORT only. Remove lb-method in [LoadBalancer]",
        '/cloud.conf:10: section [Blockstorge] is unknown; expected [Global], [Networking], [Metadata], [Route], [LoadBalancer], [BlockStorage], [LoadBalancerClass "name"] or [Scope "name"]. Its settings are not read.',
        '/cloud.conf:12: regoin in [Scope "two"] is not a known setting; did you mean "region"?',
        '/cloud.conf:13: the name of [Scope "two"] must differ from the name of [Scope "two"], got "two" twice',
        "/none.pem: cannot read a file named in the cloud's settings: no such file: /none.pem",
      ].toSorted(),
    );
  });

  test("reports problems of a section [Scope] with the setting names and the line of that section", async () => {
    const access = ["[Global]", "auth-url = https://k.example", secret, "tenant-id = p1"];
    expect(await problemsOf([...access, '[Scope "two"]', "region = a", "tenant-id = p2"])).toEqual([
      '/cloud.conf:7: [Scope "two"] sets tenant-id, but only a user with a password in [Global] can choose a project. Set cloud instead, with other credentials in clouds.yaml',
    ]);
    const scopes = ['[Scope "two"]', "region = a", '[Scope "three"]', "region = a"];
    expect(await problemsOf([...access, ...scopes])).toEqual([
      expect.stringMatching(/^\/cloud\.conf:7: \[Scope "three"\] leads to .* of \[Scope "two"\], /),
    ]);
  });

  test("does not report a setting as missing if an unreadable line has it [F78]", async () => {
    const url = "auth-url = https://k.example";
    const withoutCredentials = async (lines: readonly string[]) =>
      (await problemsOf(lines)).filter((text) => text.startsWith("no credentials are set"));
    expect(await withoutCredentials(["[Global]", url, 'password = "x'])).toEqual([]);
    expect(await withoutCredentials(["[Global]", url, "[Globl]", "password = x"])).toEqual([]);
    expect(await withoutCredentials(["[Global]", url, "aplication-credential-secret = x"])).toEqual([]);
    // An unknown key is only a warning, because it is known to have no effect.
    expect(await withoutCredentials(["[Global]", url, "[Storage]", "password = x"])).toHaveLength(1);
    expect(await withoutCredentials(["[Global]", url, "monitor-delay = 5x"])).toHaveLength(1);
  });

  test("starts with the example of the Go manager, and keys of its other components", async () => {
    const lines = [
      ...["[Global]", "auth-url=http://192.128.1.15:5000/v3", "username=admin", "# user-id="],
      ...["password=passw0rd", "region=RegionOne", "tenant-id=", "domain-id="],
      ...["[LoadBalancer]", "use-octavia=yes", "floating-network-id=80c9fc78", "create-monitor=yes"],
      ...["[BlockStorage]", "bs-version=v2"],
    ];
    expect(await problemsOf(lines)).toEqual([
      "/cloud.conf:10: use-octavia in [LoadBalancer] is not a known setting, so it has no effect",
      "/cloud.conf:14: bs-version in [BlockStorage] is not a known setting, so it has no effect",
    ]);
  });

  test("reports a variable that takes precedence over the file", async () => {
    const [problem] = await problemsOf(["[Global]", "auth-url = keystone", secret], {
      OS_AUTH_URL: "nowhere",
    });
    expect(problem).toStartWith("OS_AUTH_URL must be a URL");
  });
});

describe("clouds.yaml", () => {
  const file = `
clouds:
  prod:
    auth: { auth_url: https://k.example, application_credential_id: id1, application_credential_secret: s1 }
    region_name: RegionTwo
    interface: internal
    verify: false
  other: { auth: { auth_url: https://o.example } }
`;

  test("reads the settings of the given cloud from clouds.yaml [F77]", () => {
    expect(readClouds(file, "prod")).toEqual({
      "auth-url": "https://k.example",
      "application-credential-id": "id1",
      "application-credential-secret": "s1",
      region: "RegionTwo",
      "os-endpoint-type": "internal",
      "tls-insecure": "true",
    });
  });

  test.each([
    [file, undefined, "it has the clouds prod, other, and cloud names none of them"],
    [file, "dev", 'it has the clouds prod, other, and not "dev"'],
    ["clouds: [", "dev", "it is not YAML"],
    ["a: 1", "dev", 'it has no clouds, and not "dev"'],
  ])("reports why clouds.yaml cannot be used (%#)", (text, name, expected) => {
    expect(readClouds(text, name)).toBe(expected);
  });
});

test.each([
  [{}, "error: auth-url (OS_AUTH_URL) is required: the URL of Keystone. Set it, or use-clouds"],
  [
    { "auth-url": "https://k.example" },
    "error: no credentials are set. Set application-credential-id and application-credential-secret, or username and password, or use-clouds",
  ],
  [
    { "auth-url": "https://k.example", password: "x", "lb-provider": "ovn", "lb-method": "ROUND_ROBIN" },
    "error: lb-method is ROUND_ROBIN, but the provider ovn has SOURCE_IP_PORT only. Remove lb-method",
  ],
  [
    { cloud: "prod", "tls-insecure": "true" },
    "warning: the certificates of the services are not verified. Set ca-file instead",
  ],
])("reports settings that contradict each other (%#)", (values, expected) => {
  expect(textsOf(values as Readonly<Record<string, string>>)).toContain(expected);
});

const twice =
  "so each server there is found twice, and its Node stays as it is. Correct region, tenant-id or cloud of the section, or remove it.";

test.each([
  [
    { name: "two" },
    '[Scope "two"] sets no region, tenant-id or cloud, so it has the same servers as [Global]. Set one, or remove the section',
  ],
  [{ name: "Global", region: "two" }, '[Scope "Global"] has the name of [Global] in messages. Rename it'],
  [
    { name: "two", cloud: "c", "tenant-id": "p" },
    '[Scope "two"] sets both cloud and tenant-id, and cloud has a project. Remove tenant-id',
  ],
  [
    { name: "two", "tenant-id": "p" },
    '[Scope "two"] sets tenant-id, but only a user with a password in [Global] can choose a project. Set cloud instead, with other credentials in clouds.yaml',
  ],
  [
    { name: "two", region: "RegionOne" },
    `[Scope "two"] leads to the project and region of [Global], ${twice}`,
  ],
])("reports a section [Scope] that cannot be used (%#)", (scope, expected) => {
  const access = {
    "auth-url": "https://k.example",
    region: "RegionOne",
    "application-credential-secret": "x",
  };
  expect(textsOf({ ...access, scopes: JSON.stringify([scope]) })).toEqual([`error: ${expected}`]);
});

test.each([
  [{ region: "two" }, { region: "two" }],
  [{ cloud: "c" }, { cloud: "c" }],
])("reports two sections [Scope] that lead to the same project and region (%j)", (one, other) => {
  const access = { "auth-url": "https://k.example", "application-credential-secret": "x" };
  const scopes = (second: object) =>
    JSON.stringify([
      { name: "a", ...one },
      { name: "b", ...second },
    ]);
  expect(textsOf({ ...access, scopes: scopes(other) })).toEqual([
    `error: [Scope "b"] leads to the project and region of [Scope "a"], ${twice}`,
  ]);
  expect(textsOf({ ...access, scopes: scopes({ ...other, region: "three" }) })).toEqual([]);
});

test("lets a user with a password choose the project of a section [Scope]", () => {
  const access = { "auth-url": "https://k.example", username: "u", password: "x" };
  const scopes = JSON.stringify([{ name: "two", "tenant-id": "p" }]);
  expect(textsOf({ ...access, scopes })).toEqual([]);
  expect(textsOf({ ...access, "trust-id": "t", scopes })).toHaveLength(1);
});

test("needs no other setting with clouds.yaml", () => {
  expect(textsOf({ cloud: "prod" })).toEqual([]);
});
