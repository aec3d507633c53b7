import { expect, test } from "bun:test";
import { fake } from "../../../providers/fake/index.ts";
import { configurationSchema } from "../../../src/app/configuration/json-schema.ts";
import { commandFlagNames, flagFields } from "../../../src/app/flags/flag-table.ts";
import { parseConfiguration } from "../../../src/config-file/parse-configuration.ts";
import { parseYaml } from "../../../src/config-file/parse-yaml.ts";
import { ownAnnotations } from "../../../src/controllers/service/annotations/annotations.ts";
import type { AnyProvider } from "../../../src/provider/provider.ts";

// The schema and the reader agree: the reader accepts what the schema allows, and rejects what it forbids.

interface Schema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Schema>>;
}
const provider = fake as unknown as AnyProvider;
const schema = configurationSchema(provider, "fake-cloud-controller-manager") as unknown as Schema & {
  readonly $defs: Readonly<Record<string, Schema>>;
};
const samples: Readonly<Record<string, unknown>> = {
  boolean: true,
  number: 7,
  array: ["a"],
  object: { a: "b" },
  string: "a",
};

const refusalsOf = (section: string, key: string, value: unknown): readonly string[] => {
  const file = {
    apiVersion: "fairlead.dev/v1alpha1",
    kind: "FairleadConfiguration",
    [section]: { [key]: value },
  };
  const tables = { flags: flagFields, cloud: provider.config, notInFile: {} };
  return parseConfiguration(parseYaml(JSON.stringify(file)), tables).problems.map(({ text }) => text);
};

for (const section of ["flags", "cloud"] as const) {
  const properties = Object.entries(schema.properties?.[section]?.properties ?? {});
  test(`the schema of ${section} allows for each setting exactly the kind of value that the reader accepts [F103]`, () => {
    expect(properties.length).toBeGreaterThan(1);
    for (const [key, { type }] of properties) {
      for (const [kind, value] of Object.entries(samples)) {
        const isTaken = refusalsOf(section, key, value).length === 0;
        expect([key, kind, isTaken]).toEqual([key, kind, kind === type]);
      }
    }
  });
}

test("the schema contains exactly the flags that a file may contain [F103]", () => {
  const names = Object.keys(schema.properties?.["flags"]?.properties ?? {});
  const here = Object.keys(flagFields).filter((name) => names.includes(name));
  const absent = Object.keys(flagFields).filter((name) => !names.includes(name));
  const ofCommandLine = ["config", "config-set", "help", "notices", "version", ...commandFlagNames];
  expect(absent.toSorted()).toEqual(ofCommandLine.toSorted());
  expect(here.length + absent.length).toBe(Object.keys(flagFields).length);
});

test("the schema of annotations contains the annotations of the cloud and of Fairlead, with their allowed values [F103]", () => {
  const { properties = {} } = schema.$defs["serviceAnnotations"] ?? {};
  expect(properties["balancer.fake.example/algorithm"]?.enum).toEqual(["round-robin", "least-connections"]);
  for (const name of Object.keys(ownAnnotations))
    expect(properties[`fairlead.dev/${name}`]?.type).toBe("string");
});

test("the schema contains no secret and no default of a secret", () => {
  expect(JSON.stringify(schema)).not.toContain("[redacted]");
  expect(schema.properties?.["cloud"]?.properties?.["token"]).not.toHaveProperty("default");
});
