// Prism between a client and the simulated cloud: it checks every request and every response against the OpenAPI document of the
// API, and responds with an error if one violates it.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../../../cluster/rig/free-port.ts";
import { cached, run } from "../../../../tools/rig/cached.ts";

const version = "5.14.2";

/** Throws when Prism cannot be installed. */
export function installPrism(): string {
  const folder = cached(`prism-${version}`, (target) => {
    writeFileSync(join(target, "package.json"), '{"private": true}');
    const quiet = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"];
    run(["npm", "install", ...quiet, `@stoplight/prism-cli@${version}`], target);
  });
  return join(folder, "node_modules/.bin/prism");
}

/**
 * The document as Prism needs it: its paths begin below `/v1`. It is from February 2026; later changes of the API are applied:
 * - 2026-07: servers have no `datacenter`
 * - 2026-10: the deletion of a load balancer returns an action
 */
export function adapt(text: string): string {
  // The document is not validated: Prism does that.
  const document = JSON.parse(text);
  document.servers = [{ url: "/" }];
  for (const path of Object.values<{ servers?: unknown }>(document.paths)) delete path.servers;
  const { server } = document.components.schemas;
  server.required = server.required.filter((name: string) => name !== "datacenter");
  const { responses } = document.paths["/load_balancers/{id}"].delete;
  responses["201"] = document.paths["/load_balancers/{id}/actions/change_protection"].post.responses["201"];
  delete responses["204"];
  // Prism accepts ranges of statuses only in capitals.
  return JSON.stringify(document).replaceAll(/"([45])xx":/g, '"$1XX":');
}

export interface Prism extends AsyncDisposable {
  readonly url: string;
  /** The requests and responses that Prism reported as violations. */
  violations(): readonly string[];
}

/** `executable` is the result of `installPrism`. */
export async function startPrism(executable: string, document: string, upstream: string): Promise<Prism> {
  const folder = mkdtempSync(join(tmpdir(), "fairlead-prism-"));
  const adapted = join(folder, "api.json");
  writeFileSync(adapted, adapt(readFileSync(document, "utf8")));
  const port = freePort();
  const address = ["-h", "127.0.0.1", "-p", String(port)];
  const prism = Bun.spawn(["node", executable, "proxy", adapted, upstream, "--errors", ...address], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, NO_COLOR: "1", FORCE_COLOR: "0" },
  });
  let output = "";
  const ready = Promise.withResolvers<void>();
  const read = async (stream: ReadableStream<Uint8Array>) => {
    const decoder = new TextDecoder();
    for await (const chunk of stream) {
      output += decoder.decode(chunk, { stream: true });
      if (output.includes("Prism is listening")) ready.resolve();
    }
  };
  const reading = Promise.all([read(prism.stdout), read(prism.stderr)]);
  const died = prism.exited.then((code) => {
    throw new Error(`Prism exited with ${code}:\n${output}`);
  });
  await Promise.race([ready.promise, died]);
  died.catch(() => {});
  return {
    url: `http://127.0.0.1:${port}`,
    // Prism rejects a request that violates the document, and reports a violation of a response.
    violations: () =>
      output.split("\n").filter((line) => /violation|request terminated with error/i.test(line)),
    [Symbol.asyncDispose]: async () => {
      prism.kill();
      await prism.exited;
      await reading;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
