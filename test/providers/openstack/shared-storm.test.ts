// Services that join, change and leave load balancers at random, while requests fail, another program adds listeners, a user removes
// tags, and the manager is killed. At the end, each load balancer has exactly what its Services need, and all that others put there.

import { expect, test } from "bun:test";
import type { CommonFault } from "#ccm/testing";
import { seconds } from "../../../src/core/brand.ts";
import { type Random, seededRandom } from "../../../src/platform/random.ts";
import { resourceNamed } from "../../../src/testing/apiserver/objects/resource-table.ts";
import { runsAllTests, runsNightly } from "../../../src/testing/breadth.ts";
import { draft, OpenStackWorld, prefix, tcpPort } from "./openstack-world.ts";

const names = ["web", "blog", "shop", "mail"] as const;
const ports = [80, 81, 443, 8080, 8081] as const;
const faults: readonly CommonFault[] = ["status", "reset", "lost-answer", "false-error", "slow", "hang"];
const foreignPort = 6443;
const tagOf = (name: string): string => `kube_service_prod_default_${name}`;
const nodePortOf = (name: string, port: number): number =>
  30_100 + names.indexOf(name as "web") * 100 + ports.indexOf(port as 80);

class Storm {
  readonly h = new OpenStackWorld({ settings: { "max-shared-lb": "4" } });
  readonly #random: Random;
  readonly #again = new Set<string>();
  /** The load balancers with a listener of another program. */
  readonly #foreign = new Set<string>();

  constructor(seed: number) {
    this.#random = seededRandom(seed);
  }

  #below(count: number): number {
    return Math.floor(this.#random.fraction() * count);
  }

  #one<T>(all: readonly T[]): T {
    return all[this.#below(all.length)] as T;
  }

  #portsOf(name: string): readonly object[] {
    const chosen = new Set([this.#one(ports), this.#one(ports)]);
    return [...chosen].map((port) => tcpPort(port, nodePortOf(name, port)));
  }

  /** Shares a load balancer if there is one. */
  #create(name: string): void {
    const [balancer] = this.h.balancers();
    const shared = balancer === undefined ? {} : { "load-balancer-id": balancer.id };
    this.h.world.create(name, draft(shared, this.#portsOf(name)));
  }

  /** While no manager runs, a Service vanishes with its finalizer, and another one gets its name. */
  #createAgain(name: string): void {
    const { server } = this.h.world;
    const service = server.store.get("services", "default", name);
    if (service === undefined) return;
    server.store.remove(resourceNamed("services"), service);
    this.#again.add(name);
    const id = service.metadata.annotations?.[`${prefix}load-balancer-id`];
    this.h.world.create(name, draft(id === undefined ? {} : { "load-balancer-id": id }, this.#portsOf(name)));
  }

  async #restart(): Promise<void> {
    const { h } = this;
    // A request of the former leader arrives while the next one leads.
    if (this.#below(2) === 0) {
      h.world.delayNextChange(seconds(10 + this.#below(40)));
      await h.world.pass(this.#below(10));
    }
    h.world.crash();
    h.world.lateness = undefined;
    await h.world.pass(this.#below(20));
    if (this.#below(3) === 0) this.#createAgain(this.#one(names));
    await h.start();
  }

  #fail(): void {
    const kind = this.#one(faults);
    const status = kind === "status" ? { status: 503 } : {};
    this.h.cloud.faults.add({ kind, ...status, after: this.#below(4), milliseconds: 5000 });
  }

  /** As Terraform does, while the load balancer is ACTIVE. */
  #addForeignListener(): void {
    const { balancing, project } = this.h.cloud;
    const [balancer] = this.h.balancers();
    const [listener] = balancing.listeners.list();
    if (balancer?.provisioning_status !== "ACTIVE" || listener === undefined) return;
    if (this.#foreign.has(balancer.id)) return;
    this.#foreign.add(balancer.id);
    const tags = ["team-a"];
    const own = { id: project.ids.uuid(), name: "api", protocol_port: foreignPort, tags };
    balancing.listeners.put({ ...listener, ...own, balancer: balancer.id, default_pool_id: null });
  }

  #removeTag(name: string): void {
    const { balancers } = this.h.cloud.balancing;
    const found = this.h.balancers().find(({ tags }) => tags.includes(tagOf(name)));
    if (found?.provisioning_status === "ACTIVE")
      balancers.change(found.id, { tags: found.tags.filter((tag) => tag !== tagOf(name)) });
  }

  async step(): Promise<void> {
    const { h } = this;
    const name = this.#one(names);
    const service = h.world.find(name);
    const isLeaving = service?.metadata.deletionTimestamp !== undefined;
    if (service === undefined) this.#create(name);
    else if (!isLeaving)
      switch (this.#below(6)) {
        case 0:
        case 1:
          // Once it has a finalizer, it also has the parts that the vanished Service left.
          if (!this.#again.has(name) || service.metadata.finalizers !== undefined) h.world.delete(name);
          break;
        case 2:
          this.#removeTag(name);
          break;
        case 3:
          this.#addForeignListener();
          break;
        default:
          h.world.editSpec(name, { ports: this.#portsOf(name) as never });
      }
    if (this.#below(3) === 0) this.#fail();
    if (this.#below(5) === 0) await this.#restart();
    await h.world.pass(this.#below(15));
    this.checkAlways();
  }

  #listeners(port?: number) {
    const all = this.h.cloud.balancing.listeners.list();
    return port === undefined ? all : all.filter((one) => one.protocol_port === port);
  }

  /** A listener of another program is there at any time, and so is its load balancer. */
  checkAlways(): void {
    const there = this.#listeners(foreignPort).map(({ balancer }) => balancer);
    expect(there.toSorted()).toEqual([...this.#foreign].toSorted());
    const ids = this.h.balancers().map(({ id }) => id);
    for (const id of this.#foreign) expect(ids).toContain(id);
  }

  checkEnd(): void {
    const { h } = this;
    const alive = names.flatMap((name) => h.world.find(name) ?? []);
    const portsOf = (name: string) => h.world.get(name).spec.ports?.map(({ port }) => port) ?? [];
    const members = new Map(
      h.balancers().map(({ id, tags }) => [id, tags.filter((one) => one.startsWith("kube_"))]),
    );
    // No mark and no load balancer without a reason.
    for (const [id, tags] of members) {
      for (const tag of tags) expect(alive.map(({ metadata }) => tagOf(metadata.name))).toContain(tag);
      expect(tags.length > 0 || this.#foreign.has(id)).toBe(true);
    }
    for (const { tags, balancer, protocol_port: port } of this.#listeners()) {
      if (port === foreignPort) continue;
      const owners = names.filter((name) => tags.includes(tagOf(name)));
      expect(owners).toHaveLength(1);
      expect(members.get(balancer)).toContain(tagOf(owners[0] ?? ""));
      expect(portsOf(owners[0] ?? "")).toContain(port);
    }
    for (const { metadata } of alive) {
      const { name } = metadata;
      const own = [...members].flatMap(([id, tags]) => (tags.includes(tagOf(name)) ? id : []));
      // Its load balancer ended before it could join.
      if (own.length === 0) expect(h.events(name)).toContain("which the project does not have");
      expect(own.length).toBeLessThan(2);
      const [id = ""] = own;
      const listeners = this.#listeners().filter(({ balancer }) => balancer === id);
      const isOwn = ({ tags }: (typeof listeners)[number]): boolean => tags.includes(tagOf(name));
      const found = portsOf(name).map((port) => listeners.find((one) => one.protocol_port === port));
      // Without a listener, it waits for all its ports.
      if (!listeners.some(isOwn))
        expect(own.length === 0 || found.some((one) => one !== undefined)).toBe(true);
      else expect(found).not.toContain(undefined);
      for (const one of found.flatMap((one) => (one !== undefined && isOwn(one) ? one : []))) {
        const pool = h.cloud.balancing.pools.list().find(({ id: other }) => other === one.default_pool_id);
        const nodePort = nodePortOf(name, one.protocol_port);
        expect(pool?.members.map(({ protocol_port }) => protocol_port)).toEqual([nodePort, nodePort]);
      }
      if (listeners.some(isOwn)) expect(h.world.addressesOf(name)).toHaveLength(1);
    }
    const used = this.#listeners().filter(({ protocol_port: port }) => port !== foreignPort).length;
    expect(h.cloud.balancing.pools.list()).toHaveLength(used);
  }
}

const count = runsNightly ? 60 : runsAllTests ? 20 : 4;
const seeds = Array.from({ length: count }, (_, index) => index + 1);

test.each(seeds)(
  "after random changes, shared load balancers are as their Services need them: seed %p [F38 F108 N13]",
  async (seed) => {
    const storm = new Storm(seed);
    await storm.h.start();
    for (let count = 0; count < 30; count += 1) await storm.step();
    await storm.h.settle(3600);
    storm.checkAlways();
    storm.checkEnd();
    expect(storm.h.world.unexpectedErrors).toEqual([]);
    // A settled load balancer causes no change.
    storm.h.forget();
    storm.h.world.crash();
    await storm.h.start();
    await storm.h.settle(180);
    expect(storm.h.changes).toEqual([]);
  },
);
