// The page /status of the executable in a real browser: its contents, its updates, and whether people can use it with a keyboard,
// with a screen reader, on a phone, and without scripts.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "../cluster/rig/until.ts";
import { uninitialized } from "../support/node-controllers.ts";
import { Browser, type BrowserPage, type PageOptions } from "./rig/browser.ts";
import { debianTool, orSkipped } from "./rig/install.ts";
import { LocalWorld, type Replica } from "./rig/local-world.ts";

const chromium = orSkipped("the status page in a browser", () => debianTool("chromium", ["chromium"]));
const axe = readFileSync(join(import.meta.dir, "../../node_modules/axe-core/axe.min.js"), "utf8");

const desktop = { width: 1280, height: 900 };
const phone = { width: 390, height: 844 };
/** A hostile text in messages and in names of the cluster and the cloud. */
const hostile = `<img src=x onerror="window.hacked=1">'</script><script>window.hacked=2</script>`;

let world: LocalWorld;
let browser: Browser;
let leader: Replica;
let standby: Replica;

const open = async (
  { url }: Replica = leader,
  options: Partial<PageOptions> = {},
  query = "",
): Promise<BrowserPage> => {
  const headers = { authorization: `Bearer ${world.token}` };
  const page = await browser.page({ ...desktop, headers, ...options });
  // This updates the page every second instead of every five.
  await page.hurry(5);
  await page.open(`${url}/status${query}`);
  return page;
};

describe.if(chromium !== undefined)("the page /status in Chromium", () => {
  beforeAll(async () => {
    world = await LocalWorld.open();
    for (let index = 1; index <= 120; index += 1) world.addNode(`node-${String(index).padStart(3, "0")}`);
    const status = { conditions: [{ type: "Ready", status: "True" }] };
    world.putNode({ name: "lost", spec: { taints: [uninitialized] }, status });
    world.putNode({
      name: `hostile${hostile}`,
      annotations: { "fairlead.dev/paused": hostile },
      spec: { providerID: `other://${hostile}`, taints: [uninitialized] },
      status,
    });
    world.addService("shop");
    world.addService("wrong", { "balancer.fake.example/algorithm": hostile });
    leader = await world.start("--cluster-cidr=10.244.0.0/16");
    const state = async () => (await world.read(leader, "/status")).text();
    await until("the state to be complete", async () => {
      const html = await state();
      return (
        html.includes("NotFoundInCloud") && html.includes("InvalidAnnotation") && html.includes("192.0.2.")
      );
    });
    standby = await world.start("--cluster-cidr=10.244.0.0/16");
    browser = await Browser.start(chromium ?? "");
  });
  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
  });

  test("the status page shows the state without browser errors, and requests only its own server [F91]", async () => {
    const page = await open();
    expect(await page.text("#role")).toContain("Leader");
    expect(await page.text("#summary")).toBe("1 Node and 1 Service need attention.");
    expect(await page.text("#nodes-table")).toContain("NotFoundInCloud");
    expect(await page.text("#services-table")).toMatch(/default\/shop\s+Settled\s+192\.0\.2\./);
    expect(await page.text("#cloud")).toContain("GET /machines");
    await until("an update", () => page.requests.length > 1, { seconds: 180 });
    expect(page.requests.filter((url) => !url.startsWith(leader.url))).toEqual([]);
    expect(page.complaints).toEqual([]);
  });

  test("the status page rejects a browser without credentials, as /debug/state does", async () => {
    for (const path of ["/status", "/debug/state"]) {
      const statuses = ["", "Bearer wrong"].map(async (authorization) => {
        const tls = { rejectUnauthorized: false };
        return (await fetch(`${leader.url}${path}`, { headers: { authorization }, tls })).status;
      });
      expect(await Promise.all(statuses)).toEqual([403, 401]);
    }
  });

  test("the status page shows hostile names and messages as text", async () => {
    const page = await open(leader, {}, `?filter=${encodeURIComponent("hostile<img")}`);
    expect(await page.text("#nodes-table")).toContain(`hostile${hostile}`);
    expect(await page.text("#nodes-table")).toContain(`other://${hostile}`);
    const all = await open();
    expect(await all.text("#services-table")).toContain("window.hacked");
    for (const each of [page, all]) {
      expect(await each.run("[window.hacked, document.images.length, document.scripts.length]")).toEqual([
        null,
        0,
        1,
      ]);
      expect(each.complaints).toEqual([]);
    }
  });

  test("the status page shows a new Service without a reload, and keeps the focus and the text of the filter", async () => {
    const page = await open();
    await page.run(`window.isSame = true; document.getElementById("filter-text").focus()`);
    world.addService("fresh");
    await until(
      "the new Service",
      async () => String(await page.text("#services-table")).includes("default/fresh"),
      {
        seconds: 180,
      },
    );
    expect(await page.run("window.isSame")).toBe(true);
    await page.type("node-00");
    await until("the filtered Nodes", async () => !String(await page.text("#nodes")).includes("node-011"), {
      seconds: 180,
    });
    expect(await page.text("#nodes")).toContain("node-009");
    expect(
      await page.run("[document.activeElement.id, document.activeElement.value, location.search]"),
    ).toEqual(["filter-text", "node-00", "?filter=node-00"]);
    expect(page.complaints).toEqual([]);
  });

  test("the status page can be used with the keyboard alone", async () => {
    const page = await open();
    const focused = () =>
      page.run(`(() => {
        const { tagName, id, innerText } = document.activeElement;
        const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
        return { name: id || tagName, text: innerText.split("\\n")[0], outline: outlineStyle + " " + outlineWidth };
      })()`) as Promise<{ name: string; text: string; outline: string }>;
    const order: string[] = [];
    for (let count = 0; count < 20; count += 1) {
      await page.press("Tab");
      const { name, text, outline } = await focused();
      order.push(name === "A" ? text : name);
      expect([name, text, outline]).toEqual([name, text, "solid 3px"]);
    }
    expect(order).toEqual([
      ...["Skip to the content", "pause"],
      ...["Nodes", "Services", "Routes", "Volumes", "Holds", "Decisions", "Cloud", "This replica"],
      ...["Nodes", "Services", "Routes", "Holds", "Decisions", "Cloud requests"],
      ...["filter-text", "filter-unsettled", "BUTTON", "nodes-next"],
    ]);
    await page.press("Enter");
    await until(
      "the next page",
      async () => String(await page.text("#nodes .pager")).includes("Page 2 of 3"),
      {
        seconds: 180,
      },
    );
  });

  test("the status page pauses its updates and continues", async () => {
    const page = await open();
    await page.run(`document.getElementById("pause").focus()`);
    await page.press(" ");
    const before = page.requests.length;
    expect(await page.run(`document.getElementById("pause").getAttribute("aria-pressed")`)).toBe("true");
    // Longer than the interval: without the pause, an update would be sent.
    await Bun.sleep(1500);
    expect(page.requests.length).toBe(before);
    await page.press(" ");
    await until("an update", () => page.requests.length > before);
  });

  test("the status page has headings, landmarks, tables and a polite status for a screen reader", async () => {
    const page = await open(leader, phone);
    const nodes = await page.accessible();
    const named = (role: string) => nodes.filter((node) => node.role === role).map(({ name }) => name);
    expect(named("heading").slice(0, 5)).toEqual([
      "fake-cloud-controller-manager",
      "Overview",
      "Nodes",
      "Services",
      "Routes",
    ]);
    for (const role of ["banner", "main", "search"]) expect(named(role)).toHaveLength(1);
    expect(named("navigation")).toContain("Sections");
    expect(named("region")).toContain("Decisions");
    // This includes a phone, where the rows look like cards.
    expect(named("table")).toContain("Nodes with their state, address, provider id and problem");
    expect(named("columnheader")).toContain("Provider id");
    expect(named("rowheader")).toContain("lost");
    expect(named("searchbox")).toEqual(["Find a Node, Service, volume or change"]);
    expect(nodes.some(({ role }) => role === "status")).toBe(true);
  });

  test.each([
    ["desktop", "light"],
    ["desktop", "dark"],
    ["phone", "light"],
    ["phone", "dark"],
  ] as const)(
    "the status page has no accessibility problem that axe finds on a %s in %s",
    async (device, scheme) => {
      const page = await open(leader, { ...(device === "phone" ? phone : desktop), scheme });
      const folder =
        process.env["FAIRLEAD_SCREENSHOTS"] ?? mkdtempSync(join(tmpdir(), "fairlead-screenshots-"));
      await page.screenshot(join(folder, `status-${device}-${scheme}.png`));
      await page.run(`document.documentElement.style.scrollBehavior = "auto"`);
      await page.run(`document.getElementById("holds").scrollIntoView()`);
      await page.screenshot(join(folder, `status-${device}-${scheme}-holds.png`));
      process.stderr.write(`Screenshots: ${folder}\n`);
      await page.run(axe);
      const { violations, passes } = JSON.parse(
        String(await page.run("axe.run().then((result) => JSON.stringify(result))")),
      );
      expect(passes.map(({ id }: { id: string }) => id)).toContain("color-contrast");
      expect(
        violations.map(({ id, nodes }: { id: string; nodes: { html: string; failureSummary: string }[] }) => [
          id,
          nodes.slice(0, 3).map(({ html, failureSummary }) => `${html} ${failureSummary}`),
        ]),
      ).toEqual([]);
      expect(await page.run("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
    },
  );

  test("the status page is complete without scripts", async () => {
    const page = await open(leader, { hasScript: false }, "?show=unsettled");
    expect(await page.text("#nodes-table")).toContain("NotFoundInCloud");
    expect(await page.text("#nodes-table")).not.toContain("node-001");
    expect(await page.run(`document.getElementById("pause").hidden`)).toBe(true);
  });

  test("the status page names the leader on a standby replica", async () => {
    const page = await open(standby);
    expect(await page.text("#role")).toContain("Standby");
    expect(await page.text("#notices")).toMatch(
      /This replica is on standby: \S+ leads \(Lease cloud-controller-manager\)/,
    );
    expect(await page.text("#nodes")).toContain("node-001");
    expect(page.complaints).toEqual([]);
  });

  test("the status page shows that it is outdated when the manager is gone", async () => {
    const page = await open(standby);
    await standby.process.stop();
    await until(
      "the message",
      async () => String(await page.text("#summary")).includes("This page is not up to date"),
      {
        seconds: 180,
      },
    );
    expect(await page.text("#summary")).toMatch(/Next attempt in \d+ seconds\./);
    expect(await page.text("#nodes")).toContain("node-001");
  });
});
