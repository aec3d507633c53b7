import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";

const script = join(import.meta.dir, "../../scripts/start.ts");

/** Reads the output until it contains the path of the kubeconfig. */
const kubeconfigOf = async (lines: ReadableStream<Uint8Array>): Promise<string> => {
  let text = "";
  for await (const chunk of lines) {
    text += new TextDecoder().decode(chunk);
    const [, path] = /KUBECONFIG=(.*)\n/.exec(text) ?? [];
    if (path !== undefined) return path;
  }
  throw new Error(`The demo ended without printing a kubeconfig: ${text}`);
};

test.each([
  ["SIGHUP", 129],
  ["SIGTERM", 143],
] as const)("the demo removes its kubeconfig on %s", async (signal, code) => {
  const child = Bun.spawn([process.execPath, script, "--until-settled", "--nodes", "1"], {
    stdout: "pipe",
    stderr: "ignore",
  });
  const kubeconfig = await kubeconfigOf(child.stdout);
  expect(existsSync(kubeconfig)).toBe(true);
  child.kill(signal);
  expect(await child.exited).toBe(code);
  expect(existsSync(dirname(kubeconfig))).toBe(false);
});
