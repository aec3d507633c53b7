// A rejected promise that no code handles, in a separate process.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dir, "../..");
let folder: string;
let entry: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "fairlead-rejections-"));
  entry = join(folder, "entry.ts");
  writeFileSync(
    entry,
    `import { fake } from "${root}/providers/fake/index.ts";
import { runExecutable } from "${root}/src/app/run.ts";
const reject = (text) => void Promise.reject(new Error(text));
const lose = () => reject("the token tok-12345678 was rejected");
const loseOften = () => {
  for (let index = 0; index < 50; index += 1) lose();
  for (let index = 0; index < 50; index += 1) reject("machine " + index);
  setTimeout(() => process.stderr.write("LOST\\n"));
};
const provider = {
  ...fake,
  connect: (settings, context) => {
    setTimeout(loseOften);
    return fake.connect(settings, context);
  },
};
if (process.argv.includes("lint")) lose();
await runExecutable(provider as never);
`,
  );
  writeFileSync(
    join(folder, "kubeconfig"),
    "apiVersion: v1\nkind: Config\ncurrent-context: a\nclusters: [{ name: a, cluster: { server: http://127.0.0.1:9 } }]\ncontexts: [{ name: a, context: { cluster: a, user: a } }]\nusers: [{ name: a, user: {} }]\n",
  );
});
afterAll(() => rmSync(folder, { recursive: true }));

function start(...args: readonly string[]) {
  const flags = [
    "--kubeconfig=kubeconfig",
    "--secure-port=0",
    "--webhook-secure-port=0",
    "--logging-format=json",
  ];
  return Bun.spawn([process.execPath, entry, ...args, ...flags], {
    cwd: folder,
    stdin: "pipe",
    stdout: "ignore",
    stderr: "pipe",
    env: { PATH: process.env["PATH"] ?? "", FAKE_TOKEN: "tok-12345678", FAKE_ENDPOINT: "http://127.0.0.1:9" },
  });
}

test("continues after an unhandled rejection, and logs it once with the stack and without secrets", async () => {
  const manager = start();
  const lines: string[] = [];
  const decoder = new TextDecoder();
  let text = "";
  for await (const part of manager.stderr) {
    text += decoder.decode(part, { stream: true });
    lines.splice(0, lines.length, ...text.split("\n").slice(0, -1));
    // The first SIGTERM ends it in the usual way.
    if (lines.includes("LOST") && !manager.killed) manager.kill("SIGTERM");
  }
  expect([await manager.exited, lines.at(-1)]).toEqual([0, expect.stringContaining("Exiting")]);
  const entries = lines.filter((line) => line !== "LOST").map((line) => JSON.parse(line));
  const [logged, ...others] = entries.filter(({ msg }) => msg.includes("no code handles"));
  // Each message once, and at most ten different ones.
  expect(others.map(({ msg }) => msg.split("line: ")[1])).toEqual(
    Array.from({ length: 9 }, (_, index) => `machine ${index}`),
  );
  expect(logged).toMatchObject({
    level: "error",
    msg: "Internal error in Fairlead or the provider: no code handles the error of an asynchronous call. The manager continues, and the call is retried. Please file a bug with this line: the token [secret] was rejected",
  });
  expect(logged.stack).toContain("entry.ts");
  expect(text).not.toContain("tok-12345678");
});

test("a one-time command exits with code 1 after an unhandled rejection", async () => {
  // It waits for its input, and ends only because of the rejection.
  const command = start("lint", "-");
  expect([await command.exited, await new Response(command.stderr).text()]).toEqual([
    1,
    expect.stringContaining("internal error, please file a bug"),
  ]);
});
