import { expect, test } from "bun:test";
import { join } from "node:path";
import manifest from "../../package.json" with { type: "json" };
import { FakeCloud } from "../../providers/fake/simulator/fake-cloud.ts";
import { serveFakeCloud } from "../../providers/fake/simulator/http.ts";
import { systemClock } from "../../src/platform/clock.ts";

// What the commands print: `npm start` on a terminal, and `npm run cloud`.

const scripts = join(import.meta.dir, "../../scripts");

/** The output of the demo on a terminal of 80 columns, until it contains this text. */
const demoOutput = async (until: string, env: Readonly<Record<string, string>>): Promise<string> => {
  let output = "";
  const { NO_COLOR: _, ...inherited } = process.env;
  const shown = Promise.withResolvers<void>();
  const terminal = new Bun.Terminal({
    cols: 80,
    rows: 24,
    data: (_, chunk) => {
      output += new TextDecoder().decode(chunk);
      if (output.includes(until)) shown.resolve();
    },
  });
  const child = Bun.spawn([process.execPath, join(scripts, "start.ts"), "--nodes", "1"], {
    terminal,
    env: { ...inherited, TERM: "xterm", ...env },
  });
  await Promise.race([shown.promise, child.exited]);
  child.kill("SIGTERM");
  await child.exited;
  terminal.close();
  return output;
};

const escapeCode = String.fromCharCode(27);

test("the demo draws a view with colors on a terminal, and without colors if NO_COLOR is set", async () => {
  const [colored, plain] = await Promise.all([
    demoOutput("Recent changes", {}),
    demoOutput("Recent changes", { NO_COLOR: "1" }),
  ]);
  expect(colored).toContain(`${escapeCode}[1mRecent changes`);
  expect(plain).toContain(`${escapeCode}[H`);
  expect(plain.replaceAll(new RegExp(`${escapeCode}\\[([HKJ]|\\?\\d+[hl])`, "g"), "")).not.toContain(
    escapeCode,
  );
}, 30_000);

test("the demo prints plain lines on a dumb terminal", async () => {
  const output = await demoOutput("step 1 of", { TERM: "dumb" });
  expect(output).toContain("1 Node joins the cluster");
  expect(output).not.toContain(escapeCode);
}, 30_000);

const run = async (script: string, ...args: readonly string[]) => {
  const child = Bun.spawn([process.execPath, join(scripts, script), ...args], {
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, err] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  return { code: await child.exited, out, err };
};

test("npm start -- --version prints the version", async () => {
  expect(await run("start.ts", "--version")).toEqual({
    code: 0,
    out: `${manifest.version} from the sources\n`,
    err: "",
  });
});

test("npm run cloud names the port that is in use, and exits with 1", async () => {
  await using served = serveFakeCloud(new FakeCloud({ clock: systemClock }), 0);
  const { port } = new URL(served.url);
  expect(await run("cloud.ts", "fake", "--port", port)).toEqual({
    code: 1,
    out: "",
    err: `Port ${port} is in use, perhaps by another fake cloud. Stop that process, or choose another --port; 0 selects any free port.\n`,
  });
});

test("npm run cloud serves the simulated Hetzner Cloud with servers in a network", async () => {
  const script = join(scripts, "cloud.ts");
  const options = ["--port", "0", "--machines", "2", "--token", "good"];
  const cloud = Bun.spawn([process.execPath, script, "hetzner", ...options], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    const first = await cloud.stdout.getReader().read();
    const line = new TextDecoder().decode(first.value);
    const api = /Its API is (\S+),/.exec(line)?.[1] ?? "";
    const listing = await fetch(`${api}/servers`, { headers: { authorization: "Bearer good" } });
    expect(listing.headers.get("ratelimit-limit")).toBe("3600");
    expect(await listing.json()).toMatchObject({
      servers: [{ name: "node-0", private_net: [{ ip: "10.0.0.2" }] }, { name: "node-1" }],
    });
    expect((await fetch(`${api}/servers`)).status).toBe(401);
  } finally {
    cloud.kill();
    await cloud.exited;
  }
});
