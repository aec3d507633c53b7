import { expect, test } from "bun:test";
import { join } from "node:path";
import manifest from "../../package.json" with { type: "json" };
import { FakeCloud } from "../../providers/fake/simulator/fake-cloud.ts";
import { serveFakeCloud } from "../../providers/fake/simulator/http.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { runsAllTests } from "../../src/testing/breadth.ts";

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
});

test("the demo prints plain lines on a dumb terminal", async () => {
  const output = await demoOutput("step 1 of", { TERM: "dumb" });
  expect(output).toContain("1 Node joins the cluster");
  expect(output).not.toContain(escapeCode);
});

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

/** The output of a command until this text, and the command, which continues to run. */
const outputUntil = async (text: string, script: string, ...args: readonly string[]) => {
  const child = Bun.spawn([process.execPath, join(scripts, script), ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  for await (const chunk of child.stdout) {
    output += new TextDecoder().decode(chunk);
    if (output.includes(text)) break;
  }
  const stop = async () => {
    child.kill();
    await child.exited;
  };
  return { output, [Symbol.asyncDispose]: stop };
};

/** The variables that the output exports. */
const variablesIn = (output: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    [...output.matchAll(/^ {2}export (\w+)=(.*)$/gm)].map(([, name = "", value = ""]) => [name, value]),
  );

test("npm run cloud hetzner serves servers in a network, and prints how to use it", async () => {
  const options = ["--port", "0", "--machines", "2", "--token", "good"];
  await using cloud = await outputUntil("_LOCATION=fsn1\n", "cloud.ts", "hetzner", ...options);
  const variables = variablesIn(cloud.output);
  const api = variables["HCLOUD_ENDPOINT"] ?? "";
  expect(variables).toEqual({
    HCLOUD_ENDPOINT: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/v1$/),
    HCLOUD_TOKEN: "good",
    HCLOUD_NETWORK: "cluster",
    HCLOUD_LOAD_BALANCERS_LOCATION: "fsn1",
  });
  const authorized = { headers: { authorization: `Bearer ${variables["HCLOUD_TOKEN"]}` } };
  const networks = await fetch(`${api}/networks?name=${variables["HCLOUD_NETWORK"]}`, authorized);
  expect(await networks.json()).toMatchObject({
    networks: [{ servers: [expect.any(Number), expect.any(Number)] }],
  });
  const listing = await fetch(`${api}/servers`, authorized);
  expect(listing.headers.get("ratelimit-limit")).toBe("3600");
  expect(await listing.json()).toMatchObject({
    servers: [{ name: "node-0", private_net: [{ ip: "10.0.0.2" }] }, { name: "node-1" }],
  });
  expect((await fetch(`${api}/servers`)).status).toBe(401);
});

test("npm run cloud hetzner accepts only the token that it prints, and faults that are planned by HTTP", async () => {
  await using cloud = await outputUntil("_LOCATION=fsn1\n", "cloud.ts", "hetzner", "--port", "0");
  const { HCLOUD_ENDPOINT, HCLOUD_TOKEN = "" } = variablesIn(cloud.output);
  expect(HCLOUD_TOKEN).toHaveLength(64);
  const listing = await fetch(`${HCLOUD_ENDPOINT}/servers`, {
    headers: { authorization: `Bearer ${HCLOUD_TOKEN}` },
  });
  expect(listing.status).toBe(200);
  const ask = (token: string) =>
    fetch(`${HCLOUD_ENDPOINT}/servers`, { headers: { authorization: `Bearer ${token}` } });
  expect((await ask("other")).status).toBe(401);
  const faults = `${new URL(HCLOUD_ENDPOINT ?? "").origin}/simulator/faults`;
  const plan = (fault: object) => fetch(faults, { method: "POST", body: JSON.stringify(fault) });
  const unknown = await plan({ kind: "statsu" });
  expect([unknown.status, await unknown.text()]).toEqual([
    400,
    expect.stringContaining("status, page, refused"),
  ]);
  expect((await plan({ kind: "status", status: 503, calls: 2 })).status).toBe(204);
  expect((await ask(HCLOUD_TOKEN)).status).toBe(503);
  await fetch(faults, { method: "DELETE" });
  expect((await ask(HCLOUD_TOKEN)).status).toBe(200);
});

test("npm run cloud fake prints how to use it", async () => {
  await using cloud = await outputUntil("FAKE_TOKEN", "cloud.ts", "fake", "--port", "0", "--machines", "1");
  const { FAKE_ENDPOINT, FAKE_TOKEN } = variablesIn(cloud.output);
  const listing = await fetch(`${FAKE_ENDPOINT}/v1/machines`, {
    headers: { authorization: `Bearer ${FAKE_TOKEN}` },
  });
  expect(await listing.json()).toMatchObject({ machines: [{ name: "node-0" }] });
});

test("npm run cloud rancher prints how to use it, and accepts only the given key", async () => {
  await using cloud = await outputUntil(
    ...([
      "CATTLE_SECRET_KEY",
      "cloud.ts",
      "rancher",
      "--port",
      "0",
      "--machines",
      "2",
      "--token",
      "one:two",
    ] as const),
  );
  const { CATTLE_URL, CATTLE_ACCESS_KEY, CATTLE_SECRET_KEY } = variablesIn(cloud.output);
  expect([CATTLE_ACCESS_KEY, CATTLE_SECRET_KEY]).toEqual(["one", "two"]);
  const ask = (key: string) =>
    fetch(`${CATTLE_URL}/hosts`, { headers: { authorization: `Basic ${btoa(key)}` } });
  expect(await (await ask("one:two")).json()).toMatchObject({
    data: [{ hostname: "node-0" }, { hostname: "node-1" }],
  });
  expect((await ask("one:three")).status).toBe(401);
});

const mistakes = [
  [
    "cloud.ts",
    ["rancher", "--requests-per-hour", "5"],
    "--requests-per-hour has no effect: the rancher cloud has no",
  ],
  ["cloud.ts", ["hetzer"], 'Unknown cloud "hetzer". Did you mean hetzner?'],
  [
    "cloud.ts",
    ["xyz"],
    'Unknown cloud "xyz". Known: fake, hetzner, rancher, digitalocean, openstack, aws, vsphere.',
  ],
  ["cloud.ts", [], "Expected the name of the cloud to serve."],
  ["cloud.ts", ["hetzner", "fake"], 'Unexpected argument "fake".'],
  ["start.ts", ["--cloud", "hetzer"], 'Unknown cloud "hetzer". Did you mean hetzner?'],
  ["start.ts", ["--cloud=Fake"], 'Unknown cloud "Fake". Did you mean fake?'],
  ["start.ts", ["--clout=fake"], "Unknown option --clout. Did you mean --cloud?"],
] as const;
const firstOfEach = mistakes.filter(
  ([script], index) => index === mistakes.findIndex(([each]) => each === script),
);

test.each(runsAllTests ? mistakes : firstOfEach)(
  "%s %p exits with 2 and names the problem",
  async (script, args, problem) => {
    const { code, out, err } = await run(script, ...args);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err.split("\n")[0]).toStartWith(problem);
  },
);
