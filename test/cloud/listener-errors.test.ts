// A listener that throws does not stop the inventory.

import { expect, test } from "bun:test";
import { Inventory } from "../../src/cloud/inventory/instances.ts";
import { nodeName, seconds } from "../../src/core/brand.ts";
import { VirtualClock } from "../../src/testing/virtual-time/virtual-clock.ts";
import { machine, ScriptedSource } from "../support/scripted-source.ts";

test("an inventory answers after a listener has thrown", async () => {
  const clock = new VirtualClock();
  const source = new ScriptedSource({ clock }, [machine("a")]);
  const errors: unknown[] = [];
  const inventory = new Inventory({
    instances: { sources: [source], matchBy: ["name"] },
    clock,
    signal: new AbortController().signal,
    onListenerError: (error) => errors.push(error),
  });
  const news: string[] = [];
  inventory.subscribe(() => {
    throw new Error("a bug");
  });
  inventory.subscribe((update) => news.push(update));
  const identity = { name: nodeName("a"), addresses: [] };
  const ask = async () => {
    inventory.request(identity, { since: clock.monotonic(), urgency: "new-node" });
    await clock.advance(seconds(60));
  };
  await ask();
  await ask();
  expect([source.listings, news, errors.length]).toEqual([2, ["listing", "listing"], 2]);
});
