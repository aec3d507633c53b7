import { describe, expect, test } from "bun:test";
import { fake } from "../../../providers/fake/index.ts";
import { hetzner } from "../../../providers/hetzner/index.ts";
import { rancher } from "../../../providers/rancher/index.ts";
import { readConfig } from "../../../src/app/configuration/cloud-settings.ts";
import { readConfiguration } from "../../../src/app/configuration/configuration.ts";
import { diffConfigurations } from "../../../src/app/configuration/configuration-diff.ts";
import { connectCloud } from "../../../src/app/connect-cloud.ts";
import type { AccountContext } from "../../../src/cloud/account.ts";
import { text } from "../../../src/core/fields.ts";
import { messageIn } from "../../../src/core/problem.ts";
import type { Call } from "../../../src/provider/call.ts";
import type { AnyProvider } from "../../../src/provider/provider.ts";
import { MemoryFiles } from "../../../src/testing/virtual-time/memory-files.ts";

// The source of each value, and which source takes precedence.

const provider = fake as unknown as AnyProvider;
const head = "apiVersion: fairlead.dev/v1alpha1\nkind: FairleadConfiguration\n";
const config = "/etc/fairlead.yaml";
const own = "/etc/cloud.conf";

const read = async (
  contents: Readonly<Record<string, string>>,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  cloud: AnyProvider = provider,
) => {
  const whole = await readConfiguration({
    provider: cloud,
    args,
    environment,
    files: new MemoryFiles(contents).files,
  });
  const { values } = readConfig(cloud, { environment, ...whole.settings.cloud });
  return { ...whole, values, reported: whole.problems.map(messageIn) };
};

describe("flags in the configuration file", () => {
  const file = { [config]: `${head}flags:\n  cluster-name: of-file\n  kube-api-qps: 5\n` };

  test("a flag in the configuration file overrides its default and yields to the command line [F77]", async () => {
    const { settings, problems } = await read(file, [`--config=${config}`, "--kube-api-qps=7"]);
    expect(problems).toEqual([]);
    expect(settings.flags["cluster-name"]).toBe("of-file");
    expect(settings.flags["kube-api-qps"]).toBe(7);
  });

  test("a flag in the configuration file overrides a profile in the same file", async () => {
    const body = `${head}flags:\n  compatibility: upstream\n  absence-confirmation: 30s\n`;
    const { settings } = await read({ [config]: body }, [`--config=${config}`]);
    expect(Number(settings.lifecycle.confirmAfter)).toBe(30_000);
    expect(settings.lifecycle.removalLimit).toBe("off");
  });

  test("reports a flag without effect in the configuration file, with its position", async () => {
    const { reported } = await read({ [config]: `${head}flags:\n  contention-profiling: true\n` }, [
      "--config",
      config,
    ]);
    expect(reported).toHaveLength(1);
    expect(reported[0]).toStartWith(`${config}:4:25: --contention-profiling has no effect`);
  });
});

test("cloud settings take precedence in this order: flag, variable, --config, cloud file [F77]", async () => {
  const contents = {
    [own]: "# comment\nendpoint = http://own\ntoken = own\npage-size = 1\nlookup-limit = 1\n",
    [config]: `${head}cloud:\n  endpoint: http://config\n  token: config\n  page-size: 2\n`,
  };
  const { values, problems } = await read(
    contents,
    [`--cloud-config=${own}`, `--config=${config}`, "--config-set=endpoint=http://flag"],
    { FAKE_ENDPOINT: "http://variable", FAKE_TOKEN: "variable" },
  );
  expect(problems).toEqual([]);
  expect({ ...values, token: (values["token"] as { reveal(): string }).reveal() }).toMatchObject({
    endpoint: "http://flag",
    token: "variable",
    "page-size": 2,
    "lookup-limit": 1,
  });
});

test("reports errors in both files together, each with its position [F78]", async () => {
  const contents = {
    [own]: "endpont = x\nnonsense\npage-size = none\n",
    [config]: `${head}flags:\n  mode: dry\ncloud:\n  lookup-limit: 100000\n`,
  };
  const { reported } = await read(contents, [`--cloud-config=${own}`, `--config=${config}`]);
  expect(reported.toSorted()).toEqual([
    `${own}:1: endpont is not a known setting; did you mean "endpoint"?`,
    `${own}:2: expected a line such as name = value`,
    `${own}:3: page-size must be a whole number from 1 to 500, got "none"`,
    `${config}:4:9: --mode must be one of enforce, observe, got "dry"`,
    `${config}:6:17: lookup-limit must be a whole number from 1 to 500, got "100000"`,
  ]);
});

test.each(["--version", "--notices", "--help"])("%s reads no cloud settings", async (flag) => {
  const environment = { FAKE_TOKN: "a" };
  const { problems, versions } = await read({}, [flag, `--cloud-config=${own}`], environment);
  expect([problems, [...versions.keys()]]).toEqual([[], []]);
  const { problems: whole } = await read({}, [`--cloud-config=${own}`], environment);
  expect(whole.map(({ reason }) => reason)).toContain("UnknownVariable");
});

test("reports a missing or overlong file as an error that names the file", async () => {
  const { reported } = await read({ [own]: "x".repeat(300_000) }, [
    `--cloud-config=${own}`,
    "--config=/etc/none",
  ]);
  expect(reported).toEqual([
    "/etc/none: cannot read --config: no such file: /etc/none",
    `${own}: the file has 300000 characters; the limit is 262144`,
  ]);
});

test("reports a syntax error in the --config file on one line, and does not report the file's settings as missing", async () => {
  const required = {
    ...provider,
    config: { ...provider.config, endpoint: text("URL.", { required: true }) },
  };
  const body = `${head}flags:\n  leader-elect-lease-duration: 60s\n\tcloud:\n  endpoint: http://x\n`;
  const args = [`--config=${config}`, "--leader-elect-renew-deadline=40s"];
  const { reported } = await read({ [config]: body }, args, {}, required as AnyProvider);
  expect(reported).toEqual([
    `${config}:5:1: invalid YAML: Tabs are not allowed as indentation. Indent with spaces.`,
  ]);
});

test("reports no missing settings after an unreadable line in the cloud's file", async () => {
  const required = {
    ...provider,
    config: { ...provider.config, endpoint: text("URL.", { required: true }) },
  };
  const { reported } = await read(
    { [own]: "endpoint http://x\n" },
    [`--cloud-config=${own}`],
    {},
    required as AnyProvider,
  );
  expect(reported).toEqual([`${own}:1: expected a line such as name = value`]);
});

test("reports the position of a setting that the cloud rejects, unless it came from a variable", async () => {
  const file = { [config]: `${head}cloud:\n  page-size: 2\n  endpoint: nowhere\n` };
  const { reported } = await read(file, [`--config=${config}`]);
  expect(reported).toHaveLength(1);
  expect(reported[0]).toStartWith(`${config}:5:13: endpoint must be a URL`);
  const other = await read(file, [`--config=${config}`], { FAKE_ENDPOINT: "elsewhere" });
  expect(other.reported[0]).toStartWith("FAKE_ENDPOINT must be a URL");
});

describe("errors from a provider's check of the settings", () => {
  const ranchersFile = (url: string) =>
    `[Global]\ncattle-url = ${url}\nproject-id = 1a7\ncattle-access-key = a\ncattle-secret-key = b\n`;
  const rancher1a5 = "http://rancher/v2-beta/projects/1a5";
  const readOf = async (cloud: unknown, ...[contents, args, environment]: Parameters<typeof read>) =>
    (await read(contents, args, environment, cloud as AnyProvider)).reported;

  test("a provider's check names settings by their keys in the cloud's file", async () => {
    const args = [`--cloud-config=${own}`];
    expect(await readOf(rancher, { [own]: ranchersFile(rancher1a5) }, args)).toEqual([
      `${own}:3: project-id in [Global] is 1a7, but cattle-url in [Global] names 1a5. Remove one of them`,
    ]);
    expect(await readOf(rancher, { [own]: ranchersFile("http://rancher/v3") }, args)).toEqual([
      `${own}:2: cattle-url in [Global] is the API of Rancher 2.x. Fairlead supports Rancher 1.6, whose API ends in /v2-beta`,
    ]);
  });

  test("a provider's check names each setting by its source when the settings come from several sources", async () => {
    const variables = { CATTLE_URL: rancher1a5 };
    const args = [`--cloud-config=${own}`, "--config-set=project-id=1a8"];
    expect(await readOf(rancher, { [own]: ranchersFile("http://other") }, args, variables)).toEqual([
      "project-id is 1a8, but CATTLE_URL names 1a5. Remove one of them",
    ]);
  });

  test("a provider's check names settings by their keys in the --config file, except for values that equal the default", async () => {
    const body = `${head}cloud:\n  token: ${"x".repeat(64)}\n  load-balancers-use-private-ip: true\n`;
    expect(await readOf(hetzner, { [config]: body }, [`--config=${config}`])).toEqual([
      `${config}:5:34: load-balancers-use-private-ip requires HCLOUD_NETWORK, which is not set. Load balancers get no targets`,
    ]);
  });

  test("a provider's check names settings by their source when the cloud checks the settings", async () => {
    const text = 'FAKE_ENDPOINT is "FAKE_ENDPOINT", not http://page-size.';
    const problem = { severity: "error", reason: "InvalidSetting", key: "endpoint", text };
    const asked = { ...fake, connect: () => ({ checkSettings: async () => [problem] }) };
    const { settings } = await read({ [own]: "endpoint = http://x\npage-size = 2\n" }, [
      `--cloud-config=${own}`,
    ]);
    const { connected } = connectCloud(
      asked as unknown as AnyProvider,
      { environment: {}, ...settings.cloud, cluster: "prod" },
      {} as AccountContext,
    );
    const found = await connected?.cloud.checkSettings?.({} as Call);
    expect(found?.map(messageIn)).toEqual([`${own}:1: endpoint is "FAKE_ENDPOINT", not http://page-size.`]);
  });
});

test("reports an unknown setting in --config-set with the flag, the nearest name and the known names", async () => {
  const { reported } = await read({}, ["--config-set=foo=bar", "--config-set=endpiont=http://x"]);
  const all = "(settings: endpoint, token, page-size, lookup-limit, target-limit, answer-any-node)";
  expect(reported).toEqual([
    `--config-set: foo is not a known setting ${all}`,
    `--config-set: endpiont is not a known setting; did you mean "endpoint"? ${all}`,
  ]);
});

test("warns that --cloud-config has no effect when the cloud has no configuration file", async () => {
  const { readConfigFile: _, ...without } = provider;
  const { problems } = await read({}, ["--cloud-config=/etc/any"], {}, without as AnyProvider);
  expect(problems.map(({ key, severity }) => `${severity} ${key}`)).toEqual(["warning --cloud-config"]);
});

test("a configuration diff names changes and required restarts, and hides secrets", async () => {
  const args = [`--config=${config}`];
  const before = await read({ [config]: `${head}flags:\n  v: 1\ncloud:\n  token: hunter1\n` }, args);
  const body = `${head}flags:\n  v: 4\n  secure-port: 0\n  drain-timeout: 90s\n  cluster-name: new\ncloud:\n  token: hunter2\n`;
  const after = await read({ [config]: body }, args);
  const diff = diffConfigurations(before, after, { provider, environment: {} });
  expect(diff).toEqual({
    changes: ["--drain-timeout: 10s -> 1m30s", "--v: 1 -> 4", "token: changed"],
    pending: [
      { name: "--cluster-name", text: '--cluster-name: "kubernetes" -> "new"' },
      { name: "--secure-port", text: "--secure-port: 10258 -> 0" },
    ],
    affectsControllers: true,
  });
});

test("a change of the log verbosity alone affects no controller", async () => {
  const [before, after] = [await read({}, ["--v=0"]), await read({}, ["--v=4"])];
  expect(diffConfigurations(before, after, { provider, environment: {} })).toEqual({
    changes: ["--v: 0 -> 4"],
    pending: [],
    affectsControllers: false,
  });
});
