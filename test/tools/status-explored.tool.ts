// Bombadil clicks, types and scrolls on the page /status at random, while objects come and go.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runsNightly } from "../../src/testing/breadth.ts";
import { uninitialized } from "../support/node-controllers.ts";
import { bombadilTool, type Exploration, explore } from "./explorer/bombadil.ts";
import { Browser } from "./rig/browser.ts";
import { debianTool, orSkipped } from "./rig/install.ts";
import { LocalWorld } from "./rig/local-world.ts";

const tools = orSkipped("exploration of the status page", () => ({
  bombadil: bombadilTool(),
  chromium: debianTool("chromium", ["chromium"]),
}));
const seconds = runsNightly ? 180 : 12;

describe.if(tools !== undefined)("Bombadil", () => {
  const { bombadil = "", chromium = "" } = tools ?? {};
  let browser: Browser;
  let into: string;
  // Bombadil ends the browser.
  beforeEach(async () => {
    browser = await Browser.start(chromium);
    into = mkdtempSync(join(tmpdir(), "fairlead-explored-"));
  });
  afterEach(async () => {
    await browser[Symbol.asyncDispose]();
    rmSync(into, { recursive: true, force: true });
  });

  const exploring = (url: string, headers: Exploration["headers"] = {}) =>
    explore(bombadil, {
      url,
      headers,
      seconds,
      into,
      browser: browser.address,
      properties: join(import.meta.dir, "explorer/status-properties.js"),
    });

  test(`finds no error, broken link or unreadable value on the status page in ${seconds} s`, async () => {
    await using world = await LocalWorld.open();
    for (let index = 1; index <= 120; index += 1) world.addNode(`node-${index}`);
    const status = { conditions: [{ type: "Ready", status: "True" }] };
    world.putNode({ name: "lost", spec: { taints: [uninitialized] }, status });
    world.addService("shop");
    world.addService("wrong", { "balancer.fake.example/algorithm": "fastest" });
    const { url } = await world.start("--cluster-cidr=10.244.0.0/16");
    let changes = 0;
    const timer = setInterval(() => {
      changes += 1;
      if (changes % 2 === 1) world.addService(`changing-${changes}`);
      else world.deleteService(`changing-${changes - 1}`);
    }, 1500);
    try {
      const { code, output } = await exploring(`${url}/status`, { authorization: `Bearer ${world.token}` });
      expect([code, code === 0 ? "" : output]).toEqual([0, ""]);
      expect(output).toContain("Test finished after time limit!");
      expect(output).toContain("Clicking");
    } finally {
      clearInterval(timer);
    }
  });

  test.each([
    ["a link without a target", "everyLinkHasItsTarget", 200, `<a href="#nowhere">Nodes</a>`],
    [
      "an uncaught error",
      "noUncaughtExceptions",
      200,
      "<script>setTimeout(() => { throw 1; }, 100)</script>",
    ],
    ["a value that is not readable", "everyValueIsReadable", 200, "<p>undefined Nodes</p>"],
    ["a page that is an error", "noHttpErrorCodes", 503, ""],
  ])("finds %s on another page", async (_, property, status, body) => {
    const page = `<!doctype html><title>Test</title><p id="summary">All is well.</p>${body}`;
    const headers = { "content-type": "text/html" };
    const fetch = (): Response => new Response(page, { status, headers });
    await using server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch });
    const { code, output } = await exploring(`http://127.0.0.1:${server.port}/status`);
    expect(output).toContain(property);
    expect(code).not.toBe(0);
  });
});
