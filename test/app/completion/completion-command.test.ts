import { describe, expect, test } from "bun:test";
import { hetzner } from "../../../providers/hetzner/index.ts";
import { completedFlags, menuText } from "../../../src/app/completion/complete-words.ts";
import { flagFields } from "../../../src/app/flags/flag-table.ts";
import type { AnyProvider } from "../../../src/provider/provider.ts";
import { runCommandIn } from "../../support/command-world.ts";
import { ServiceWorld } from "../../support/service-world.ts";

// The commands `completion` and `man`. test/tools runs them with real shells and with groff.

const run = (...args: readonly string[]) => runCommandIn(new ServiceWorld(), args);
const commands = [
  "run",
  "explain",
  "plan",
  "doctor",
  "lint",
  "cleanup",
  "marks",
  "smoke",
  "support-bundle",
  "manifests",
  "rbac",
  "policy",
  "webhook-manifest",
  "schema",
  "csi-controller",
  "node-volumes",
  "completion",
  "man",
  "version",
  "help",
];

test.each(["bash", "zsh", "fish", "powershell"])(
  "the completion script for %s calls the program",
  async (shell) => {
    const { code, out, err } = await run("completion", shell);
    expect([code, err]).toEqual([0, ""]);
    expect(out).toContain("fake-cloud-controller-manager");
    expect(out).toContain(" __complete ");
  },
);

/** The reaction of a script to each kind of answer, as in cobra's scripts. */
test.each([
  ["asks with an empty last word after a space", "if ($wordToComplete -eq '') { $words +="],
  ["lets PowerShell complete paths when the program offers files", "-eq ':0') { return }"],
  ["suppresses paths when the program offers nothing", "if ($lines.Count -eq 1) { return '' }"],
  ["splits the description from the word at the tab", '-split "`t", 2'],
])("the completion for PowerShell %s", async (_, line) => {
  expect((await run("completion", "powershell")).out).toContain(line);
});

test("completes every flag that has an effect, including the cloud's flags", () => {
  const names = completedFlags(hetzner as unknown as AnyProvider).map(([name]) => name);
  expect(names.length).toBeGreaterThan(90);
  expect(names).toContain("removal-limit");
  expect(names).not.toContain("vmodule");
});

test.each([
  [["completion"], "completion requires a shell; use bash, zsh, fish, powershell"],
  [["completion", "bsh"], 'completion knows no shell "bsh"; did you mean bash?'],
  [["completion", "bash", "zsh"], 'unexpected argument "zsh" after completion'],
  [
    ["completion", "bash", "--output=json"],
    "--output is for the command explain or plan or doctor or lint or cleanup or marks, not for completion",
  ],
  [["man", "page"], 'unexpected argument "page" after man'],
])("rejects %j with exit code 2", async (args, text) => {
  const { code, out, err } = await run(...args);
  expect([code, out]).toEqual([2, ""]);
  expect(err).toContain(text);
});

test.each([
  ["kubectl", ""],
  ["a shell", "__complete"],
])("%s completes the last word, and never starts a manager", async (_, asked) => {
  const complete = async (...words: readonly string[]) => {
    const options = asked === "" ? { invokedAs: "/usr/bin/kubectl_complete-fairlead" } : {};
    const args = asked === "" ? words : [asked, ...words];
    const { code, out, kube, cloud } = await runCommandIn(new ServiceWorld(), args, options);
    expect([code, kube, cloud]).toEqual([0, [], []]);
    return out.split("\n").flatMap((line) => line.split("\t")[0] || []);
  };
  expect(await complete()).toEqual([...commands, ":4"]);
  expect(await complete("expl")).toEqual(["explain", ":4"]);
  expect(await complete("explain", "")).toEqual(["node", "service", "pvc", "pv", ":4"]);
  expect(await complete("explain", "service", "")).toEqual([":4"]);
  expect(await complete("explain", "--serv")).toEqual(["--server", "--server-ca-file", ":4"]);
  expect(await complete("plan", "--serv")).toEqual([":4"]);
  expect(await complete("explain", "-o", "j")).toEqual(["json", ":4"]);
  expect(await complete("explain", "--output=")).toEqual([
    "--output=text",
    "--output=json",
    "--output=github",
    ":4",
  ]);
  expect(await complete("explain", "--offline", "n")).toEqual([":4"]);
  expect(await complete("lint", "a")).toEqual([":0"]);
  expect(await complete("explain", "--server-ca-file", "")).toEqual([":0"]);
  expect(await complete("explain", "--nonsense=")).toEqual([":4"]);
  expect(await complete("--cluster-name", "")).toEqual([":4"]);
  expect(await complete("--cert-dir", "")).toEqual([":0"]);
  expect(await complete("--mode", "")).toEqual(["enforce", "observe", ":4"]);
  // The words as bash splits them.
  expect(await complete("explain", "--output", "=", "js")).toEqual(["--output=json", ":4"]);
  expect(await complete("explain", "--output", "=")).toHaveLength(4);
});

test("each completion description is one short sentence", () => {
  expect(menuText("Log verbosity: 0 logs decisions.\nMore.")).toBe("Log verbosity");
  expect(menuText("Addresses such as 10.0.0.1 are\nlisted. More.")).toBe(
    "Addresses such as 10.0.0.1 are listed",
  );
  expect(menuText("x".repeat(200))).toHaveLength(80);
});

describe("reference pages", () => {
  test("man lists every command, flag and setting, and contains no line that roff would interpret as a request", async () => {
    const { code, out } = await run("man");
    expect(code).toBe(0);
    expect(out).toStartWith('.TH "FAKE\\-CLOUD\\-CONTROLLER\\-MANAGER" 8 ');
    for (const command of commands) expect(out).toContain(`.SS "${command.replace("-", "\\-")}"\n`);
    for (const name of Object.keys(flagFields).filter((one) =>
      ["kubeconfig", "output", "mode", "v"].includes(one),
    ))
      expect(out).toContain(`\\fB\\-\\-${name}\\fP`);
    expect(out).toContain("\\fBFAKE_TOKEN\\fP");
    const requests = out.split("\n").filter((line) => /^['.]/.test(line));
    expect(requests.filter((line) => !/^\.(TH|SH|SS|PP|TP|nf|fi)( |$)/.test(line))).toEqual([]);
    expect(out).not.toMatch(/[^\n -~]/);
  });
});

test("help lists every command, and prints the page of a command", async () => {
  const { out } = await run("--help");
  for (const command of commands) expect(out).toContain(`\n  ${command}\n`);
  for (const command of commands.filter((name) => name !== "run" && name !== "help")) {
    const page = await run(command, "--help");
    expect(page.code).toBe(0);
    expect(page.out).toContain(`  fake-cloud-controller-manager ${command} `);
    expect(page.out).not.toContain("Cloud settings");
    expect((await run("help", command)).out).toBe(page.out);
  }
});
