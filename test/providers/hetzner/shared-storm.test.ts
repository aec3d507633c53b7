// Services that join, change and leave one load balancer at random, while requests fail and the manager is killed. At the end, the load
// balancer has exactly what the Services need, and all that Terraform has put there.

import { expect, test } from "bun:test";
import type { CommonFault } from "#ccm/testing";
import { seconds } from "../../../src/core/brand.ts";
import { type Random, seededRandom } from "../../../src/platform/random.ts";
import { resourceNamed } from "../../../src/testing/apiserver/objects/resource-table.ts";
import { runsAllTests, runsNightly } from "../../../src/testing/breadth.ts";
import { addTerraform, draft, prefix, SharedWorld, sharing, tcp } from "./shared-world.ts";

const names = ["web", "blog", "shop", "mail"] as const;
const ports = [80, 81, 443, 8080, 8081] as const;
const pools = ["a,b", "a", "b"] as const;
const faults: readonly CommonFault[] = ["status", "reset", "lost-answer", "false-error", "slow", "hang"];

const nodePortOf = (name: string, port: number): number =>
  30_100 + names.indexOf(name as "web") * 100 + ports.indexOf(port as 80);

class Storm {
  readonly h: SharedWorld;
  readonly hasTerraform: boolean;
  readonly #random: Random;
  readonly #again = new Set<string>();

  constructor(seed: number) {
    this.#random = seededRandom(seed);
    this.hasTerraform = seed % 2 === 0;
    this.h = new SharedWorld({ nodes: 4 });
    if (this.hasTerraform) this.#addTerraform();
    for (let index = 0; index < 4; index += 1)
      this.h.nodeLabels(`node-${index}`, { pool: index < 2 ? "a" : "b" });
  }

  /** One of its targets is a Node. */
  #addTerraform(): void {
    const { id, targets } = addTerraform(this.h);
    const { balancers, servers } = this.h.cloud.project;
    const node = servers.list().find(({ name }) => name === "node-0");
    const target = { type: "server", server: node?.id ?? 0, usesPrivateIp: false } as const;
    balancers.change(id, { targets: [...targets, target] });
  }

  #below(count: number): number {
    return Math.floor(this.#random.fraction() * count);
  }

  #one<T>(all: readonly T[]): T {
    return all[this.#below(all.length)] as T;
  }

  #portsOf(name: string): readonly object[] {
    const chosen = new Set([this.#one(ports), this.#one(ports)]);
    return [...chosen].map((port) => tcp(port, nodePortOf(name, port)));
  }

  async #restart(): Promise<void> {
    const { h } = this;
    // A request of the former leader arrives while the next one leads.
    const isLate = this.#below(2) === 0;
    if (isLate) {
      h.world.delayNextChange(seconds(10 + this.#below(40)));
      await h.world.pass(this.#below(10));
    }
    h.world.crash();
    h.world.lateness = undefined;
    await h.world.pass(this.#below(20));
    if (this.#below(3) === 0) this.#createAgain(this.#one(names));
    await h.start("service");
    // It may overwrite newer labels. They are restored if the Services still have the ports.
    if (isLate) await h.world.pass(2400);
  }

  /** While no manager runs, a Service vanishes with its finalizer, and another one gets its name. */
  #createAgain(name: string): void {
    const { server } = this.h.world;
    const service = server.store.get("services", "default", name);
    if (service === undefined) return;
    server.store.remove(resourceNamed("services"), service);
    this.#again.add(name);
    this.#create(name);
  }

  #create(name: string): void {
    const selector = { "node-selector": `pool in (${this.#one(pools)})` };
    this.h.world.create(name, draft(sharing(selector), ...this.#portsOf(name)));
  }

  #fail(): void {
    const kind = this.#one(faults);
    const status = kind === "status" ? { status: 503, code: "unavailable" } : {};
    this.h.cloud.faults.add({ kind, ...status, after: this.#below(4), milliseconds: 5000 });
  }

  /** A user removes them while each Service has exactly its ports; other ports could not be distinguished from those of others. */
  async #loseLabels(): Promise<void> {
    const { h } = this;
    await h.world.pass(1200);
    const alive = names.flatMap((name) => h.world.find(name) ?? []);
    const needed = alive.flatMap(({ metadata: { name }, spec }) =>
      (spec.ports ?? []).map(({ port }) => `${port} ${name}`),
    );
    const marks = h.all.length === 0 ? [] : h.marks;
    if (needed.toSorted().join() !== marks.join()) return;
    for (const { id } of h.all) h.cloud.project.balancers.change(id, { labels: {} });
    await h.world.pass(2400);
    expect(h.all.length === 0 ? [] : h.marks).toEqual(marks);
  }

  async step(): Promise<void> {
    const { h } = this;
    const name = this.#one(names);
    const service = h.world.find(name);
    const isLeaving = service?.metadata.deletionTimestamp !== undefined;
    if (service === undefined) this.#create(name);
    else if (!isLeaving)
      switch (this.#below(4)) {
        case 0:
          // Once it has the load balancer, it also has the parts that the vanished Service left.
          if (!this.#again.has(name) || h.world.addressesOf(name).length > 0) h.world.delete(name);
          break;
        case 1:
          h.world.annotate(name, { [`${prefix}node-selector`]: `pool in (${this.#one(pools)})` });
          break;
        default:
          h.world.editSpec(name, { ports: this.#portsOf(name) as never });
      }
    if (this.#below(3) === 0) this.#fail();
    // Without labels, the targets of Terraform and those of the Services could not be distinguished.
    if (this.#below(20) === 0 && !this.hasTerraform) await this.#loseLabels();
    if (this.#below(5) === 0) await this.#restart();
    await h.world.pass(this.#below(15));
    this.checkAlways();
  }

  /**
   * Without Terraform, a late request has overwritten the label of a listener. While no label covered it, it looked like a listener of
   * another program, whose targets stay.
   */
  get hasKeptTargets(): boolean {
    return !this.hasTerraform && this.h.all.some(({ labels }) => Object.values(labels).includes("kept"));
  }

  /** Terraform's parts are present at all times. */
  checkAlways(): void {
    if (!this.hasTerraform) return;
    expect(this.h.ports).toContain(6443);
    expect(this.h.serversOfTargets).toContain("control-plane");
    expect(this.h.serversOfTargets).toContain("node-0");
    expect(this.h.only.labels["team"]).toBe("platform");
  }

  checkEnd(): void {
    const { h } = this;
    const alive = names.flatMap((name) => h.world.find(name) ?? []);
    const listeners = h.all.flatMap(({ services }) => services);
    const wanted = new Set(alive.flatMap(({ spec }) => (spec.ports ?? []).map(({ port }) => port)));
    const served = listeners.filter(({ listen_port }) => listen_port !== 6443);
    const stays = alive.length > 0 || this.hasTerraform || this.hasKeptTargets;
    expect(h.all).toHaveLength(stays ? 1 : 0);
    // Each listener forwards to a Service that needs it, and has its mark.
    for (const { listen_port: port, destination_port: destination } of served) {
      const owner = alive.find(({ metadata }) => nodePortOf(metadata.name, port) === destination);
      expect(owner?.spec.ports?.map((one) => one.port)).toContain(port);
      expect(h.marks).toContain(`${port} ${owner?.metadata.name}`);
    }
    // A Service that may not join needs ports that others have.
    const members = alive.filter(({ metadata }) =>
      h.marks.some((mark) => mark.endsWith(` ${metadata.name}`)),
    );
    expect(alive.length === 0 || members.length > 0).toBe(true);
    for (const { metadata, spec } of members) {
      expect(h.world.addressesOf(metadata.name)).toHaveLength(2);
      const isFull = listeners.length === 5;
      for (const { port } of spec.ports ?? [])
        if (!isFull) expect(served.map((one) => one.listen_port)).toContain(port);
    }
    for (const { listen_port: port } of served) expect([...wanted]).toContain(port);
    const selected = new Set(
      members.flatMap(({ metadata }) => {
        const [, list = ""] = /\((.*)\)/.exec(metadata.annotations?.[`${prefix}node-selector`] ?? "") ?? [];
        return [0, 1, 2, 3].filter((index) => list.split(",").includes(index < 2 ? "a" : "b"));
      }),
    );
    if (this.hasTerraform) selected.add(0);
    const targets = h.all.length === 0 ? [] : h.serversOfTargets.filter((one) => one !== "control-plane");
    for (const index of selected) expect(targets).toContain(`node-${index}`);
    if (!this.hasKeptTargets) expect(targets).toHaveLength(selected.size);
  }
}

const count = runsNightly ? 60 : runsAllTests ? 20 : 4;
const seeds = Array.from({ length: count }, (_, index) => index + 1);

test.each(seeds)(
  "after random changes, a shared load balancer is as its Services need it: seed %p [F38 F108 N13]",
  async (seed) => {
    const storm = new Storm(seed);
    await storm.h.start("service");
    for (let count = 0; count < 30; count += 1) await storm.step();
    await storm.h.world.pass(2400);
    storm.checkAlways();
    storm.checkEnd();
    expect(storm.h.world.unexpectedErrors).toEqual([]);
    // A settled load balancer causes no change.
    storm.h.forget();
    await storm.h.restart();
    expect(storm.h.changes).toEqual([]);
  },
);
