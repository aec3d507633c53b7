// `npm run test:clients`: the official clients of Hetzner Cloud and Fairlead's own manager drive the simulated one over loopback, with
// Prism in between when the OpenAPI document of the API is available. What is missing here is skipped, with a line that says why.

import { keepLoopbackDirect } from "../src/platform/environment.ts";
import {
  clients,
  openApiDocument,
  type PreparedClient,
} from "../test/providers/hetzner/clients/rig/clients.ts";
import { installPrism, type Prism, startPrism } from "../test/providers/hetzner/clients/rig/prism.ts";
import { startWorld } from "../test/providers/hetzner/clients/rig/world.ts";
import { Unavailable } from "../test/tools/rig/install.ts";

const usage = `Usage: npm run test:clients [-- ${Object.keys(clients).join("|")}...]

Runs official clients of Hetzner Cloud, and Fairlead's manager, against the simulated cloud. The clients are installed into \${XDG_CACHE_HOME:-~/.cache}/fairlead.
HCLOUD_OPENAPI   path of the API's OpenAPI document, to check every request, response and type of the provider against it
`;

const words = process.argv.slice(2);
if (words.includes("--help") || words.includes("-h")) {
  process.stdout.write(usage);
  process.exit(0);
}
const unknown = words.find((word) => !Object.hasOwn(clients, word));
if (unknown !== undefined) {
  process.stderr.write(`Unknown client ${unknown}.\n\n${usage}`);
  process.exit(2);
}
keepLoopbackDirect();

const total = { pass: 0, fail: 0, skip: 0 };

function skip(what: string, why: string): void {
  total.skip += 1;
  process.stdout.write(`(skip) ${what}: ${why}\n`);
}

/** Undefined when it cannot run here. */
function orSkip<T>(what: string, make: () => T): T | undefined {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
    skip(what, error.message);
    return undefined;
  }
}

function prismExecutable(): string {
  try {
    return installPrism();
  } catch (error) {
    const lines = String(error).trim().split("\n");
    throw new Unavailable(`Prism could not be installed: ${lines.at(-1) ?? ""}`);
  }
}

async function prismTo(endpoint: string): Promise<Prism | undefined> {
  const found = orSkip(
    "check against the OpenAPI document",
    () => [openApiDocument(), prismExecutable()] as const,
  );
  return found && startPrism(found[1], found[0], endpoint);
}

function countIn(output: string, word: string): number {
  return Number(new RegExp(`^ (\\d+) ${word}$`, "m").exec(output)?.[1] ?? 0);
}

async function runClient(
  { name, command }: PreparedClient,
  env: Readonly<Record<string, string>>,
): Promise<void> {
  const child = Bun.spawn([...command], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const texts = [child.stdout, child.stderr].map((stream) => new Response(stream).text());
  const output = (await Promise.all(texts)).join("");
  const code = await child.exited;
  const [pass, fail] = [countIn(output, "pass"), countIn(output, "fail")];
  total.pass += pass;
  total.fail += fail;
  process.stdout.write(output.replaceAll(/^ \d+ (pass|fail)\n/gm, ""));
  if (fail > 0 || (code === 0 && pass > 0)) return;
  total.fail += 1;
  process.stdout.write(`(fail) ${name} exited with ${code} without results\n`);
}

function result(isPassed: boolean, title: string): void {
  total[isPassed ? "pass" : "fail"] += 1;
  process.stdout.write(`(${isPassed ? "pass" : "fail"}) ${title}\n`);
}

/** Without it, a change of Prism's output would look like no violation. Returns how many violations there are afterwards. */
async function proveThatPrismReports(prism: Prism): Promise<number> {
  const before = prism.violations().length;
  const headers = { authorization: "Bearer token", "content-type": "application/json" };
  await fetch(`${prism.url}/load_balancers`, { method: "POST", headers, body: '{"name":1}' });
  const isReported = () => prism.violations().length > before;
  const deadline = performance.now() + 5000;
  while (!isReported() && performance.now() < deadline) await Bun.sleep(20);
  result(isReported(), "Prism reports a request that does not fit the OpenAPI document");
  return prism.violations().length;
}

function report(prism: Prism, provoked: number): void {
  const violations = prism.violations().slice(provoked);
  process.stdout.write(violations.map((line) => `${line}\n`).join(""));
  result(violations.length === 0, "every request and response fits the OpenAPI document");
}

const chosen = Object.entries(clients).filter(([name]) => words.length === 0 || words.includes(name));
const prepared = chosen
  .map(([name, make]) => orSkip(`client ${name}`, make))
  .filter((client) => client !== undefined);
if (prepared.length > 0) {
  await using world = startWorld();
  await using prism = await prismTo(world.endpoint);
  const provoked = prism === undefined ? 0 : await proveThatPrismReports(prism);
  for (const client of prepared) {
    // Each client sees one action that fails.
    world.cloud.project.actions.plan({ outcome: "fails", command: "reboot_server" });
    await runClient(client, world.env(prism?.url ?? world.endpoint));
  }
  if (prism !== undefined) report(prism, provoked);
}
// The lines of a summary of bun test, which .ci/run adds up, and one for people.
process.stdout.write(`\n ${total.pass} pass\n ${total.fail} fail\n ${total.skip} skip\n`);
process.stdout.write(`${total.pass} passed, ${total.fail} failed\n`);
process.exit(total.fail > 0 ? 1 : 0);
