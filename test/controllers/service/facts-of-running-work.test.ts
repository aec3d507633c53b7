// A step that starts work and returns a fact: the fact is stored on the Service before the work is checked, so that a restart
// in between creates nothing twice.

import { expect, test } from "bun:test";
import { scriptedWorld } from "../../support/scripted-world.ts";

const factKey = "fairlead.dev/fact-operation";

const created = async () => {
  const { w, script } = scriptedWorld((one) => {
    one.operationLimit = 10;
    one.remembersOperations = true;
  });
  await w.start();
  w.create("web");
  await w.pass(0.5);
  return { w, script, fact: () => w.find("web")?.metadata.annotations?.[factKey] };
};

test("stores the fact about running work before it checks the work", async () => {
  const { script, fact } = await created();
  expect([script.applied.length, script.checks.length, fact()]).toEqual([1, 0, "operation-1"]);
});

test("after a restart, finds work in progress by its stored fact, and creates nothing twice", async () => {
  const { w, script } = await created();
  w.crash();
  await w.start();
  await w.pass(60);
  expect([script.applied.length, script.things.size, w.addressesOf("web").length]).toEqual([1, 0, 0]);
  script.complete("operation-1");
  await w.pass(60);
  expect([script.applied.length, script.things.size, w.addressesOf("web").length]).toEqual([1, 1, 1]);
});

test("observes the result of running work when the work ends, and the Service gets the address", async () => {
  const { w, script } = await created();
  script.outcomes.set("operation-1", "done");
  await w.pass(60);
  expect([script.applied.length, script.things.size, w.addressesOf("web").length]).toEqual([1, 1, 1]);
});
