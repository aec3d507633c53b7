import { afterEach, expect, test } from "bun:test";
import { fake } from "../../../providers/fake/index.ts";
import { readConfig } from "../../../src/app/configuration/cloud-settings.ts";
import { readConfiguration } from "../../../src/app/configuration/configuration.ts";
import { ConfigurationReloads } from "../../../src/app/configuration/configuration-reloads.ts";
import { ReloadRequests } from "../../../src/app/configuration/reload-requests.ts";
import { seconds } from "../../../src/core/brand.ts";
import { secret, text } from "../../../src/core/fields.ts";
import { records } from "../../../src/core/record-fields.ts";
import { Secret } from "../../../src/core/secret.ts";
import type { AnyProvider } from "../../../src/provider/provider.ts";
import { createLog } from "../../../src/telemetry/log.ts";
import { MemoryFiles } from "../../../src/testing/virtual-time/memory-files.ts";
import { VirtualClock } from "../../../src/testing/virtual-time/virtual-clock.ts";

// While a changed setting waits for a restart, credentials are still rotated, because the process may run for weeks.

const path = "/etc/fairlead.yaml";
const head = "apiVersion: fairlead.dev/v1alpha1\nkind: FairleadConfiguration\ncloud:\n";

let end: (() => Promise<void>) | undefined;
afterEach(() => end?.());

const start = async (definition: object, cloud: string, contents: Readonly<Record<string, string>> = {}) => {
  const provider = {
    ...fake,
    checkConfig: () => [],
    readConfigFile: undefined,
    ...definition,
  } as unknown as AnyProvider;
  const disk = new MemoryFiles({ [path]: head + cloud, ...contents });
  const clock = new VirtualClock();
  const lines: string[] = [];
  const log = createLog({ format: "text", verbosity: 0, clock, write: (line) => lines.push(line) });
  const source = { provider, args: [`--config=${path}`], environment: {}, files: disk.files };
  /** The values with which the provider would connect, the latest last. */
  const applied: string[] = [];
  const revealed = (value: unknown): unknown => {
    if (value instanceof Secret) return value.reveal();
    if (Array.isArray(value)) return value.map(revealed);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, revealed(each)]));
  };
  const stop = new AbortController();
  const reloads = new ConfigurationReloads({
    ...source,
    clock,
    log,
    reloads: new ReloadRequests(),
    onReload: () => undefined,
    first: await readConfiguration(source),
    readConfiguration: () => readConfiguration(source),
    prepare:
      ({ settings: { cloud: next } }) =>
      async () => {
        const { values } = readConfig(provider, { environment: {}, ...next });
        applied.push(JSON.stringify(revealed([values, [...(next.inputFiles ?? [])]])));
      },
  });
  const done = reloads.run(stop.signal);
  end = async () => {
    stop.abort();
    await clock.advance(seconds(6));
    await done;
  };
  const put = async (where: string, content: string): Promise<void> => {
    disk.put(where, content);
    await clock.advance(seconds(6));
  };
  return { lines, applied, reloads, put, write: (next: string) => put(path, head + next) };
};

const regions = (unique: "name" | undefined) => ({
  config: {
    regions: records(
      "The regions.",
      { name: text("Its name."), network: text("Its network."), token: secret("Its token.") },
      unique === undefined ? {} : { unique },
    ),
  },
});

const region = (name: string, network: string, token: string): string =>
  `    - { name: ${name}, network: ${network}, token: ${token} }\n`;

test("applies rotated secrets in a list while other changes to the list wait for a restart", async () => {
  const first = `  regions:\n${region("north", "n1", "a")}${region("south", "n1", "b")}`;
  const { write, applied, reloads, lines } = await start(regions("name"), first);
  await write(`${first}${region("west", "n1", "c")}`);
  expect([applied, reloads.pendingRestart]).toEqual([[], ["regions: changed"]]);
  // The network of one entry needs a restart, so the entry stays unchanged.
  const rotated = [region("north", "n1", "a2"), region("south", "n2", "b2"), region("west", "n1", "c2")];
  await write(`  regions:\n${rotated.join("")}`);
  const expected = [
    { name: "north", network: "n1", token: "a2" },
    { name: "south", network: "n1", token: "b" },
  ];
  expect(applied).toEqual([JSON.stringify([{ regions: expected }, []])]);
  expect(lines.join("")).not.toMatch(/a2|b2|c2/);
  expect(reloads.pendingRestart).toEqual(["regions: changed"]);
});

test("list entries that differ only in their secrets keep their secrets until the restart", async () => {
  const first = `  regions:\n${region("north", "n1", "a")}${region("north", "n1", "b")}`;
  const { write, applied } = await start(regions(undefined), first);
  await write(`  regions:\n${region("north", "n1", "c")}`);
  expect(applied).toEqual([]);
});

test("reloads a file while the setting that names a different file waits for a restart", async () => {
  const definition = {
    config: { "key-file": text("The file with the key.") },
    inputs: (values: Readonly<Record<string, string>>) => [{ kind: "File", path: values["key-file"] }],
  };
  const contents = { "/old": "1", "/new": "2" };
  const { write, put, applied, lines } = await start(definition, "  key-file: /old\n", contents);
  await write("  key-file: /new\n");
  expect(applied).toEqual([]);
  await put("/old", "rotated");
  expect(
    lines.filter((line) => line.includes("Applied the changed configuration: /old: changed")),
  ).toHaveLength(1);
  expect(applied).toHaveLength(1);
  expect(applied[0]).toContain('{"key-file":"/old"}');
  expect(applied[0]).toContain('["/old","rotated"]');
});
