// The page /status of a whole manager in virtual time: its content, and the headers that protect it. test/tools/status.tool.ts
// shows it in a real browser.

import { afterEach, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { cloudPart } from "../../../src/inspect/status/cloud-sections.ts";
import { statusPage } from "../../../src/inspect/status/status-page.ts";
import { statusViewOf } from "../../../src/inspect/status/status-view.ts";
import type { PageRequest } from "../../../src/server/secure-port.ts";
import { uninitialized } from "../../support/node-controllers.ts";
import { ServiceWorld } from "../../support/service-world.ts";

let world: ServiceWorld | undefined;
afterEach(() => world?.stop());

/** The offset of the monotonic clock of a world's first process. */
const ahead = 1_000_000;

async function open(
  options: ConstructorParameters<typeof ServiceWorld>[0] = {},
  ...flags: readonly string[]
) {
  const w = new ServiceWorld(options);
  world = w;
  await w.start(...flags);
  const { clock } = w;
  const own = { now: () => clock.now(), monotonic: () => clock.monotonic() + ahead };
  const page = statusPage({ manager: w.manager, program: "fake-cloud-controller-manager", clock: own });
  const get = async (query = "", method = "GET") => {
    const request: PageRequest = {
      method,
      path: "/status",
      query: new URLSearchParams(query),
      headers: [],
      body: async () => "",
    };
    return page(request);
  };
  return { w, get, body: async (query?: string) => (await get(query)).body };
}

const all = ["--controllers=*", "--cluster-cidr=10.244.0.0/16"];
const section = (html: string, id: string): string =>
  html.slice(html.indexOf(`<section id="${id}"`)).split("</section>")[0] ?? "";
const rowOf = (html: string, name: string): string =>
  /<tr[\s\S]*?<\/tr>/.exec(html.slice(html.indexOf(`rowheader" class="text">${name}<`) - 40))?.[0] ?? "";

/** The figure and text of a tile. */
const tileOf = (html: string, title: string): string =>
  new RegExp(`>${title}</span> <span class="figure">(.*?)</span> <span class="text">(.*?)<`)
    .exec(html)
    ?.slice(1)
    .join(" ") ?? "";

describe("the page /status", () => {
  test("/status reports that nothing is reconciled while the leader waits for lists [N23]", async () => {
    const { w, body } = await open({}, "--leader-elect=true");
    w.create("web");
    await w.pass(30);
    expect(await body()).toContain("No Node, Service or route needs attention.");
    await w.stop();
    w.readFault = (path) => (/(nodes|services)$/.test(path) ? new Response("", { status: 500 }) : undefined);
    await w.start("--leader-elect=true");
    await w.pass(60);
    const clock = { now: () => w.clock.now(), monotonic: () => w.clock.monotonic() + 2 * ahead };
    const page = statusPage({ manager: w.manager, program: "fake-cloud-controller-manager", clock });
    const query = new URLSearchParams();
    const html = (await page({ method: "GET", path: "/status", query, headers: [], body: async () => "" }))
      .body;
    expect(html).not.toContain("No Node, Service or route needs attention.");
    expect(html).toContain("Nothing is reconciled:");
    expect(html).toContain("The controllers wait for a complete list of nodes and services");
  });

  test("/status shows Nodes, Services, routes, decisions and requests with their reasons [F91]", async () => {
    const { w, body } = await open({}, ...all);
    w.create("web");
    w.create("wrong", { annotations: { "balancer.fake.example/algorithm": "fastest" } });
    await w.pass(60);
    const html = await body();
    expect(rowOf(section(html, "nodes"), "node-0")).toContain("<code>fake://1</code>");
    expect(rowOf(section(html, "services"), "default/web")).toMatch(/Settled[\s\S]*192\.0\.2\.\d+/);
    expect(rowOf(section(html, "services"), "default/wrong")).toMatch(
      /Problem[\s\S]*<strong>InvalidAnnotation<\/strong>[\s\S]*algorithm must be one of/,
    );
    expect(section(html, "decisions")).toContain("default/web: load balancer needed");
    expect(section(html, "cloud")).toMatch(
      /POST \/balancers<\/code>[\s\S]*?class="number" data-title="Requests">1</,
    );
    expect(section(html, "cloud")).toMatch(/Instances: machines[\s\S]*?Listed/);
    expect(section(html, "replica")).toMatch(/service[\s\S]*?services[\s\S]*?Synced/);
    expect(html).toContain('<p id="summary" role="status">1 Service needs attention.</p>');
  });

  test("/status counts a failing cloud operation until it succeeds, and shows the age of the listing [F91]", async () => {
    const { w, body } = await open();
    w.cloud.faults.add({ kind: "status", status: 402, operation: "POST /balancers", calls: 3 });
    w.create("web");
    await w.pass(30);
    const html = await body();
    expect(section(html, "services")).toMatch(/As the cloud listed load balancers \d+s ago\./);
    expect(html).toMatch(
      /Cloud requests<\/span> <span class="figure">\d+<\/span> <span class="text">1 operation fails</,
    );
    expect(html).toContain("1 failing operation of the cloud need");
    await w.until(() => w.addressesOf("web").length === 1, "an address", 1800);
    expect(await body()).toContain('<span class="text">no failure<');
  });

  test("/status shows the cloud's current answer and its start time, not an earlier answer [F91]", async () => {
    const { w, body } = await open({}, ...all);
    const account = async () =>
      /<td[^>]*data-title="State"[^>]*>(.*?)<\/td>/.exec(section(await body(), "cloud"))?.[1] ?? "";
    w.create("web");
    await w.pass(60);
    expect(await account()).toContain(">Reachable<");
    w.cloud.faults.add({ kind: "status", status: 503, calls: 1_000_000 });
    w.create("second");
    await w.pass(20);
    expect(await account()).toMatch(/class="badge bad">Has failed for \d+s: 503</);
    expect(tileOf(await body(), "Cloud requests")).toMatch(/^\d+ [1-9] operations? fails?$/);
    w.cloud.faults.clear();
    await w.until(() => w.addressesOf("second").length === 1, "an address", 1800);
    expect(await account()).toContain(">Reachable<");
    w.cloud.faults.add({ kind: "status", status: 401, calls: 1_000_000 });
    w.create("third");
    await w.pass(20);
    expect(await account()).toMatch(/class="badge bad">Has rejected the credentials for \d+s: 401</);
  });

  test("/status shows a 429 next to the cloud's contradicting count, and shows the count once [F91]", async () => {
    const { w, body } = await open();
    w.create("web");
    await w.pass(30);
    w.cloud.faults.add({ kind: "status", status: 429, calls: 1_000_000 });
    w.create("second");
    await w.pass(5);
    expect(section(await body(), "cloud")).toMatch(/class="badge bad">Has refused requests for \d+s: 429/);
    const view = statusViewOf(w.manager);
    const accounts = view.report.accounts.map((account) => ({
      ...account,
      budget: { ...account.budget, limit: 3600, remaining: 3599 },
    }));
    const shown = cloudPart({ ...view, report: { ...view.report, accounts } }).text;
    expect(shown.match(/3,599 of 3,600 left/g)).toHaveLength(1);
  });

  test("/status counts a deletion that an annotation holds among the holds, and lists the deletion there [F91]", async () => {
    const { w, body } = await open();
    w.create("web");
    await w.pass(30);
    w.annotate("web", { "fairlead.dev/on-delete": "keep" });
    expect(tileOf(await body(), "Holds")).toBe("0 none");
    w.delete("web");
    await w.pass(30);
    const html = await body();
    expect(tileOf(html, "Holds")).toBe("1 wait for you");
    expect(section(html, "holds")).toMatch(/default\/web<[\s\S]*DeletionHeld[\s\S]*Deletion is on hold/);
  });

  test("/status names load balancers that wait for a proof in the summary and in the tile, each once [F91]", async () => {
    const { w, body } = await open({}, ...all);
    w.create("web");
    await w.pass(60);
    for (const { id } of w.cloud.balancers.list()) w.cloud.balancers.remove(id);
    w.manager.balancers?.request(Number.POSITIVE_INFINITY, "refresh");
    await w.pass(5);
    const html = await body();
    expect(html).toContain(
      '<p id="summary" role="status">No Node, Service or route needs attention. 1 load balancer waits for a proof of the cloud.</p>',
    );
    expect(html).toContain(
      '<span class="title">Holds</span> <span class="figure">1</span> <span class="text">wait for a proof</span>',
    );
  });

  test("/status shows the objects that a mass limit holds, and how to release them [N1]", async () => {
    const { w, body } = await open({ nodes: 8 }, ...all, "--absence-confirmation=5s");
    await w.pass(30);
    for (const name of ["node-0", "node-1", "node-2", "node-3", "node-4"]) {
      w.cloud.machines.remove(name);
      w.setReady(name, "Unknown");
    }
    await w.pass(120);
    const html = await body();
    expect(rowOf(section(html, "nodes"), "node-0")).toMatch(
      /On hold[\s\S]*<strong>MassDeletionHeld<\/strong>/,
    );
    expect(section(html, "holds")).toMatch(/--removal-limit[\s\S]*node-0, node-1, node-2, node-3, node-4/);
    expect(section(html, "holds")).toContain("set --removal-limit");
    expect(html).toContain('<p id="summary" role="status">5 Nodes need attention.</p>');
  });

  test("/status reports that Nodes without a known instance keep their routes, which are currently not desired [F91]", async () => {
    const { w, body } = await open({ nodes: 3 }, ...all, "--absence-confirmation=5s");
    for (const [index, name] of ["node-0", "node-1", "node-2"].entries())
      w.changeNode(name, (node) => ({ ...node, spec: { ...node.spec, podCIDR: `10.244.${index}.0/24` } }));
    await w.pass(60);
    expect(tileOf(await body(), "Routes")).toBe("3 in order");
    for (const name of ["node-0", "node-1", "node-2"]) {
      w.cloud.machines.remove(name);
      w.setReady(name, "Unknown");
    }
    w.addNode("node-3");
    w.changeNode("node-3", (node) => ({ ...node, spec: { ...node.spec, podCIDR: "10.244.3.0/24" } }));
    await w.until(() => w.manager.report().routes.some(({ there }) => there === 4), "a route");
    await w.pass(5);
    const html = await body();
    expect(tileOf(html, "Routes")).toBe("4 3 Nodes without a known instance keep their routes");
    expect(section(html, "routes")).toMatch(
      /Waits for instances[\s\S]*>1, and the targets of 3 Nodes whose instance is not known, which are kept</,
    );
  });

  test("/status counts the missing routes, although nothing has failed [F91]", async () => {
    const { w, body } = await open({ nodes: 3 }, ...all);
    w.changeNode("node-0", (node) => ({ ...node, spec: { ...node.spec, podCIDR: "10.244.0.0/24" } }));
    await w.pass(60);
    w.cloud.faults.add({ kind: "status", status: 503, operation: "POST /routes", calls: 1_000_000 });
    w.changeNode("node-1", (node) => ({ ...node, spec: { ...node.spec, podCIDR: "10.244.1.0/24" } }));
    await w.until(() => w.manager.report().routes.some(({ wanted }) => wanted === 2), "a sync");
    expect(tileOf(await body(), "Routes")).toMatch(/^1 of 2 /);
  });

  test("/status filters objects by a part of their name, and by whether they are settled", async () => {
    const { w, body } = await open({}, ...all);
    w.create("web");
    await w.pass(30);
    const found = await body("filter=NODE-1");
    expect(section(found, "nodes")).toContain("node-1");
    expect(section(found, "nodes")).not.toContain("node-2");
    expect(section(found, "services")).toContain("No Service matches the filter.");
    expect(found).toContain('value="node-1"');
    expect(section(await body("show=unsettled"), "services")).toContain("No Service matches the filter.");
  });

  test("/status names the leader on a standby replica, and why it could not help a Node", async () => {
    const { w, body } = await open(
      {},
      "--controllers=*",
      "--leader-elect=true",
      "--cluster-cidr=10.244.0.0/16",
    );
    await w.pass(5);
    expect(await body()).toMatch(/<p id="role" data-live><span class="badge good">Leader/);
    const leader = w.manager.identity;
    // The Lease remains, like that of a process that was just killed.
    w.crash();
    await w.start("--controllers=*", "--leader-elect=true", "--cluster-cidr=10.244.0.0/16");
    await w.pass(3);
    const standby = statusPage({ manager: w.manager, program: "ccm", clock: w.clock });
    const { body: html } = await standby({
      method: "GET",
      path: "/status",
      query: new URLSearchParams(),
      headers: [],
      body: async () => "",
    });
    expect(html).toContain(">Standby</span>");
    expect(html).toContain(`${leader} leads (Lease cloud-controller-manager)`);
    expect(html).not.toContain(`${w.manager.identity} leads`);
    expect(html).toContain("Open the page of the leader");
  });

  test("/status does not send a user from a standby replica to the page of another program that leads [F91]", async () => {
    const { w, body } = await open({}, "--leader-elect=true");
    await w.pass(5);
    w.holdLease("go_1", "hcloud-cloud-controller-manager");
    await w.until(() => !w.manager.leads(), "the loss");
    await w.pass(5);
    const html = await body();
    expect(html).toContain(">Standby</span>");
    expect(html.match(/go_1 leads: it holds the Lease kube-system/g)).toHaveLength(1);
    expect(html).toContain("the program that renews it is hcloud-cloud-controller-manager, not");
    expect(html).not.toMatch(/page of the leader|The leader has/);
  });

  test("/status escapes names and messages of the cluster and the cloud", async () => {
    const { w, body } = await open({}, "--controllers=cloud-node");
    const hostile = `<img src=x onerror=alert(1)>"'&</script><script>alert(2)</script>`;
    w.addNode(hostile);
    w.changeNode(hostile, (node) => ({
      ...node,
      metadata: { ...node.metadata, annotations: { "fairlead.dev/paused": hostile } },
      spec: { providerID: `other://${hostile}`, taints: [uninitialized] },
    }));
    await w.pass(10);
    const html = await body(`filter=${encodeURIComponent(hostile)}`);
    expect(html).toContain("&lt;img src=x onerror=alert(1)&gt;&quot;&#39;&amp;&lt;/script&gt;");
    expect(html).not.toContain("<img");
    expect(html.match(/<script>/g)).toHaveLength(1);
  });

  test("/status allows only its own style sheet and script, and no surrounding frame", async () => {
    const { get } = await open();
    const { headers, body } = await get();
    const policy = headers["content-security-policy"] ?? "";
    const hashOf = (tag: string): string => {
      const text = new RegExp(`<${tag}>([\\s\\S]*?)</${tag}>`).exec(body)?.[1] ?? "";
      return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
    };
    expect(policy).toStartWith("default-src 'none'; ");
    expect(policy).toContain(`style-src ${hashOf("style")};`);
    expect(policy).toContain(`script-src ${hashOf("script")};`);
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain("unsafe");
    expect(body).not.toMatch(/\son[a-z]+=|\sstyle=|(?:src|href)="(?:https?:)?\/\//);
    expect((await get("", "POST")).status).toBe(405);
  });

  test("/status computes the state once per second for all viewers", async () => {
    const { w, body } = await open();
    await w.pass(2);
    const before = await body();
    w.addNode("late");
    await w.pass(0.5);
    expect(section(await body(), "nodes")).not.toContain("late");
    expect(before).toContain("node-0");
    await w.pass(1);
    expect(section(await body(), "nodes")).toContain("late");
  });

  test("/status shows one page of 5,000 Nodes, and counts all of them", async () => {
    const { w, body } = await open({ nodes: 5000 }, "--controllers=service");
    await w.pass(5);
    const html = await body("nodes=100");
    expect(section(html, "nodes").match(/role="row"/g)).toHaveLength(51);
    expect(section(html, "nodes")).toContain("Page 100 of 100, 5,000 entries");
    expect(html.length).toBeLessThan(200_000);
  }, 30_000);
});
