import { expect, test } from "bun:test";
import { currentConnection } from "../../../src/app/endpoints/access-control.ts";
import { configMaps } from "../../../src/kube/resources.ts";
import { scripted } from "../../kube/support/scripted.ts";

test("after a reload, a watch uses the connection of the current manager", async () => {
  const [first, second] = [scripted(() => new Response("{}")), scripted(() => new Response("{}"))];
  let running = first.api;
  const api = currentConnection(() => running);
  const until = new AbortController().signal;
  await api.listPage(configMaps, { limit: 1 }, until);
  running = second.api;
  const stream = await api.openWatch(configMaps, { query: {} }, until);
  stream.close();
  expect([first.seen.length, second.seen.length]).toEqual([1, 1]);
  expect(api.origin).toBe(second.api.origin);
});
