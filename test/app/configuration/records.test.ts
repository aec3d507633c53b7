// A list of records from each source: the --config file, the cloud's own file, a variable, and --config-set, which rejects it.

import { expect, test } from "bun:test";
import { fake } from "../../../providers/fake/index.ts";
import { configProblems, readConfig } from "../../../src/app/configuration/cloud-settings.ts";
import { readConfiguration } from "../../../src/app/configuration/configuration.ts";
import { diffConfigurations } from "../../../src/app/configuration/configuration-diff.ts";
import { configurationSchema } from "../../../src/app/configuration/json-schema.ts";
import { helpText } from "../../../src/app/flags/help-text.ts";
import { credentialHint } from "../../../src/cloud/credential-hint.ts";
import { integer, secret, text } from "../../../src/core/fields.ts";
import { list } from "../../../src/core/list-fields.ts";
import { messageIn } from "../../../src/core/problem.ts";
import { records } from "../../../src/core/record-fields.ts";
import { CloudError } from "../../../src/provider/errors.ts";
import type { AnyProvider, ConfigFile } from "../../../src/provider/provider.ts";
import { MemoryFiles } from "../../../src/testing/virtual-time/memory-files.ts";

const path = "/etc/fairlead.yaml";
const own = "/etc/cloud.conf";
const fields = {
  regions: records(
    "The regions to manage.",
    {
      name: text("Name of the region.", { required: true }),
      endpoint: text("URL of its API.", { required: true }),
      network: text("Its network."),
      "page-size": integer("Entries per page.", { min: 1 }, { fallback: 50 }),
      zones: list("Its zones."),
      token: secret("Its token."),
    },
    { required: true, unique: "name", env: "ACME_REGIONS" },
  ),
};
/** Sections such as `[region north]`, as in the files of some Go managers. */
function readConfigFile(content: string): ConfigFile {
  const regions: { line: number; values: Record<string, { text: string; line: number }> }[] = [];
  for (const [index, row] of content.split("\n").entries()) {
    const line = index + 1;
    const section = /^\[region (\w+)\]$/.exec(row)?.[1];
    const [name = "", value = ""] = row.split("=");
    if (section !== undefined) regions.push({ line, values: { name: { text: section, line } } });
    else if (row !== "") Object.assign(regions.at(-1)?.values ?? {}, { [name]: { text: value, line } });
  }
  return { settings: { regions }, problems: [] };
}
const provider = { ...fake, config: fields, readConfigFile, checkConfig: () => [] } as unknown as AnyProvider;
const head = "apiVersion: fairlead.dev/v1alpha1\nkind: FairleadConfiguration\ncloud:\n";

const read = async (
  cloud: string | undefined,
  { args = [], environment = {}, conf = "" }: { args?: string[]; environment?: object; conf?: string } = {},
) => {
  const files = new MemoryFiles({ ...(cloud && { [path]: head + cloud }), ...(conf && { [own]: conf }) });
  const whole = await readConfiguration({
    provider,
    args: [
      ...(cloud === undefined ? [] : [`--config=${path}`]),
      ...(conf && [`--cloud-config=${own}`]),
      ...args,
    ],
    environment: environment as Record<string, string>,
    files: files.files,
  });
  const sources = { environment: environment as Record<string, string>, ...whole.settings.cloud };
  const { regions } = readConfig(provider, sources).values as { regions?: readonly object[] };
  return { ...whole, regions, sources, reported: whole.problems.map(messageIn) };
};

const valid = `  regions:
    - name: north
      endpoint: https://north.example/v1
      network: net-1
      page-size: 20
      zones: [a, b]
    - { name: south, endpoint: "https://south.example/v1", token: hunter1 }
`;

test("parses each value in a list of mappings as the type of its field", async () => {
  const { regions, reported } = await read(valid);
  expect(reported).toEqual([]);
  expect(regions).toMatchObject([
    { name: "north", network: "net-1", "page-size": 20, zones: ["a", "b"] },
    { name: "south", "page-size": 50 },
  ]);
});

test("reports all errors in all entries together, each with its line and column", async () => {
  const { reported } = await read(`  regions:
    - name: north
      endpiont: https://north.example
      page-size: 0
    - name: north
      endpoint: [a]
      page-size: "20"
    - south
`);
  expect(reported.toSorted()).toEqual(
    [
      `${path}:6:7: unknown setting of the cloud regions[0].endpiont; did you mean endpoint?`,
      `${path}:9:17: regions[1].endpoint must be a string, got a list`,
      `${path}:10:18: regions[1].page-size must be a number, got a string`,
      `${path}:11:7: regions[2] must be a mapping, got a string`,
      `${path}:5:7: regions[0].endpoint is required but not set; it must be a non-empty string`,
      `${path}:7:18: regions[0].page-size must be a whole number of at least 1, got "0"`,
      `${path}:8:13: regions[1].name must differ from regions[0].name, got "north" twice`,
    ].toSorted(),
  );
});

test("rejects a value that is not a list, without reporting the setting as missing", async () => {
  expect((await read("  regions: north\n")).reported).toEqual([
    `${path}:4:12: regions must be a list of mappings, got a string`,
  ]);
});

test("reads the sections of the cloud's file with their line numbers", async () => {
  const conf = "[region north]\nendpoint=http://n\n\n[region south]\nendpiont=http://s\npage-size=x\n";
  const { reported } = await read(undefined, { conf });
  expect(reported).toEqual([
    `${own}:4: regions[1].endpoint is required but not set; it must be a non-empty string`,
    `${own}:6: regions[1].page-size must be a whole number of at least 1, got "x"`,
    `${own}:5: regions[1].endpiont is not a known setting; did you mean "regions[1].endpoint"?`,
  ]);
});

test("a JSON variable takes precedence over both files, and its errors have no line number", async () => {
  const conf = "[region west]\nendpoint=http://w\n";
  const below = await read(valid, { conf });
  expect(below.regions).toHaveLength(2);
  const environment = { ACME_REGIONS: '[{"name": "east", "endpoint": "http://e", "page-size": 0}]' };
  expect((await read(valid, { conf, environment })).reported).toEqual([
    'ACME_REGIONS: regions[0].page-size must be a whole number of at least 1, got "0"',
  ]);
});

test("errors in a section of the --config file do not have line numbers of the cloud's file", async () => {
  const conf = "[region west]\nendpoint=http://w\nnetwork=\n";
  const { reported } = await read("  regions:\n    - { name: a, endpoint: b, network: '' }\n", { conf });
  expect(reported).toEqual([
    `${path}:5:40: regions[0].network must be a non-empty string, got an empty string`,
  ]);
});

test("--config-set rejects a list of mappings and names the alternatives", async () => {
  const { reported } = await read(valid, { args: ["--config-set=regions=north"] });
  expect(reported).toContain(
    "--config-set cannot set regions, a list of mappings; write it under cloud in the --config file, or set ACME_REGIONS to a JSON array of objects",
  );
});

test.each(["x[=1", "regions[=1", "[=1", "a.b[0].c=1"])(
  "reports the invalid setting name %p",
  async (given) => {
    const { sources } = await read(valid, { args: [`--config-set=${given}`] });
    expect(configProblems(provider, sources)).not.toEqual([]);
  },
);

test("a diff finds a changed secret in an entry, and shows no value from the list", async () => {
  const [before, after] = [await read(valid), await read(valid.replace("hunter1", "hunter2"))];
  const diff = diffConfigurations(before, after, { provider, environment: {} });
  expect(diff).toMatchObject({ changes: ["regions: changed"] });
  expect(diffConfigurations(before, before, { provider, environment: {} }).changes).toEqual([]);
});

test("the help names every value of an entry, and the credential hint names the secret of an entry", () => {
  const help = helpText("acme", provider, {});
  expect(help).toContain(
    "  regions [ACME_REGIONS]\n          The regions to manage. A list of mappings: set it in the --config file, or as a JSON\n          array of objects in ACME_REGIONS.\n",
  );
  const withFlag = {
    ...provider,
    config: { zone: text("Its zone.", { env: "ZONE", flag: "acme-zone" }) },
  };
  expect(helpText("acme", withFlag, {})).toContain("  zone [ZONE, --acme-zone]\n");
  expect(help).toContain("  regions[].page-size\n          Entries per page. (default 50)\n");
  const hint = credentialHint(provider.config, (name) =>
    name === "regions[].token" ? [{ name, source: "/etc/acme.yaml:3:5" }] : [],
  );
  const rejected = new CloudError("unauthorized", "no", { operation: "GET /x" });
  expect(hint?.(rejected)).toBe(
    "The setting regions[].token is set by /etc/acme.yaml:3:5: the value was probably revoked, or is incomplete. Replace it with one that is valid for the same project, account or server; the manager reads it again without a restart.",
  );
});

test("the schema describes list entries and names their required fields [F103]", () => {
  const schema = configurationSchema(provider, "acme") as {
    properties: { cloud: { properties: Record<string, object> } };
  };
  expect(schema.properties.cloud.properties["regions"]).toMatchObject({
    type: "array",
    minItems: 1,
    items: {
      type: "object",
      additionalProperties: false,
      required: ["name", "endpoint"],
      properties: { "page-size": { type: "number", default: 50 }, zones: { type: "array" } },
    },
  });
});
