// The choice of the cloud in kubectl-fairlead, and the names with which kubectl starts a plugin.

import { describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { resolve } from "node:path";
import { chooseCloud } from "../../../src/app/commands/choose-cloud.ts";
import { asPlugin, isPluginCompletion, pluginFile, pluginName } from "../../../src/app/plugin-name.ts";
import { seededRandom } from "../../../src/platform/random.ts";
import type { AnyProvider } from "../../../src/provider/provider.ts";
import { MemoryFiles } from "../../../src/testing/virtual-time/memory-files.ts";
import { VirtualClock } from "../../../src/testing/virtual-time/virtual-clock.ts";

const folder = resolve(import.meta.dir, "../../../providers");
const names = readdirSync(folder).toSorted();
const all = names.join(", ");

/** Returns what happened, with the names of the loaded providers. */
async function choose(
  args: readonly string[],
  {
    ids = [],
    invokedAs = "kubectl-fairlead",
    status = 200,
  }: { readonly ids?: readonly string[]; readonly invokedAs?: string; readonly status?: number } = {},
) {
  const loaded: string[] = [];
  const load = Object.fromEntries(
    names.map((name) => [
      name,
      async () => {
        loaded.push(name);
        const module = (await import(`${folder}/${name}/index.ts`)) as Record<string, AnyProvider>;
        return module[name] as AnyProvider;
      },
    ]),
  );
  const requests: string[] = [];
  const items = ids.map((providerID, index) => ({
    metadata: { name: `n${index}`, uid: `u${index}`, resourceVersion: "1" },
    spec: { providerID },
    status: {},
  }));
  const transport = async ({ method, url }: { readonly method: string; readonly url: string }) => {
    requests.push(`${method} ${new URL(url).pathname}`);
    return Response.json({ metadata: { resourceVersion: "9" }, items }, { status });
  };
  const platform = {
    clock: new VirtualClock(),
    random: seededRandom(1),
    files: new MemoryFiles({}).files,
    transport,
    cloudTransport: transport,
    environment: {},
  };
  const { signal } = new AbortController();
  const question = { args: ["--master=http://api.example", ...args], invokedAs, platform, signal };
  const chosen = await chooseCloud(load, question);
  return {
    ...("provider" in chosen ? { name: chosen.provider.name } : chosen),
    loaded,
    requests,
  };
}

describe("the cloud of kubectl-fairlead", () => {
  test.each(names)("chooses %s with --cloud-provider, and loads no other provider", async (name) => {
    const { loaded, requests, ...chosen } = await choose(["explain", `--cloud-provider=${name}`]);
    expect([loaded, requests]).toEqual([[name], []]);
    expect(chosen).toHaveProperty("name");
  });

  test("chooses the cloud by the name of its Go manager", async () => {
    expect(await choose(["plan", "--cloud-provider=hcloud"])).toMatchObject({ name: "hcloud", requests: [] });
  });

  test.each([
    ["hcloud", ["", "hcloud://1", "unknown://2"]],
    ["hcloud", ["hrobot://3"]],
    ["aws", ["aws:///eu-central-1a/i-1"]],
  ])("chooses %s when the Nodes have the provider ids %j", async (name, ids) => {
    expect(await choose(["explain", "node", "n0"], { ids })).toMatchObject({
      name,
      requests: ["GET /api/v1/nodes"],
    });
  });

  test.each([
    ["no Node has a provider id", [], "no Node has a provider id of a known cloud"],
    [
      "the Nodes are of two clouds",
      ["aws:///a/i-1", "fake://m1"],
      "the Nodes have provider ids of aws and fake",
    ],
  ])("asks for the cloud when %s", async (_, ids, why) => {
    expect(await choose(["doctor"], { ids })).toMatchObject({
      refused: `${why}; set --cloud-provider to one of ${all}`,
      exitCode: 2,
    });
  });

  test("asks for the cloud when the Nodes cannot be read", async () => {
    const { refused } = (await choose(["doctor"], { status: 403 })) as { readonly refused?: string };
    expect(refused).toStartWith(
      "the Nodes, which show the cloud, cannot be read: The API server returned 403",
    );
    expect(refused).toEndWith(`Or set --cloud-provider to one of ${all}.`);
  });

  test("rejects an unknown cloud", async () => {
    expect(await choose(["doctor", "--cloud-provider=hetzer"])).toMatchObject({
      refused: '--cloud-provider is "hetzer", which is not a known cloud; did you mean hetzner?',
      exitCode: 2,
    });
  });

  test.each([
    [[]],
    [["help", "doctor"]],
    [["doctor", "--help"]],
    [["--version"]],
    [["version"]],
    [["completion", "powershell"]],
    [["__complete", "expl"]],
    [["explian"]],
  ])("loads no provider and sends no request for the arguments %j", async (args) => {
    expect(await choose(args)).toEqual({ name: "fairlead", loaded: [], requests: [] });
  });

  test("needs no cloud when kubectl completes a word", async () => {
    const invokedAs = "/usr/bin/kubectl_complete-fairlead";
    expect(await choose(["doctor", "--cloud-provider=het"], { invokedAs })).toMatchObject({ requests: [] });
  });

  test.each(["run", "csi-controller", "node-volumes"])(
    "rejects the command %s even when a cloud is chosen",
    async (command) => {
      expect(await choose([command, "--cloud-provider=fake"])).toMatchObject({ exitCode: 2, loaded: [] });
    },
  );
});

test.each([
  ["/usr/local/bin/kubectl-fairlead", "kubectl-fairlead", "kubectl fairlead"],
  ["C:\\bin\\kubectl-fairlead.exe", "kubectl-fairlead", "kubectl fairlead"],
  ["kubectl-my_cloud-check", "kubectl-my_cloud-check", "kubectl my-cloud check"],
  ["/opt/kubectl-x/hetzner-cloud-controller-manager", undefined, undefined],
])("recognizes a process started as %s as the plugin %s", (invokedAs, file, name) => {
  expect([pluginFile(invokedAs), pluginName(invokedAs)]).toEqual([file, name]);
});

test("treats a plugin-only program as a plugin even under a different name", () => {
  expect(asPlugin("/tmp/fl")).toBe("kubectl-fairlead");
  expect(asPlugin("kubectl_complete-fairlead.exe")).toBe("kubectl_complete-fairlead.exe");
  expect(isPluginCompletion("kubectl_complete-fairlead.exe")).toBe(true);
});
