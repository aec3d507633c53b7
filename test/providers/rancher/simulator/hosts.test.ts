// Hosts of the simulated Rancher: what users do with them through the API.

import { expect, test } from "bun:test";
import { setUp } from "./ask.ts";

test("the simulator deactivates, activates and removes a host, each only in the states that permit it", async () => {
  const { ask, environment, get } = setUp();
  const { id } = environment.hosts.add("node-0");
  const self = `/hosts/${id}`;
  const act = (action: string) => ask("POST", `${self}/?action=${action}`, {});
  expect(Object.keys((await get(self)).body.actions)).toEqual(["deactivate", "update"]);
  expect([
    (await ask("DELETE", self)).code,
    (await act("activate")).code,
    (await act("explode")).code,
  ]).toEqual([...["MethodNotAllowed", "ActionNotAvailable", "InvalidAction"]]);
  expect((await act("deactivate")).body).toMatchObject({ state: "inactive" });
  expect((await act("activate")).body).toMatchObject({ state: "active" });
  await act("deactivate");
  expect((await ask("DELETE", self)).body).toMatchObject({ state: "removed", removed: expect.any(String) });
  expect((await get("/hosts?removed_null=1")).body.data).toEqual([]);
  expect((await get(self)).body.actions).toEqual({});
});

test("the simulator changes the labels of a host", async () => {
  const { ask, environment } = setUp();
  const { id } = environment.hosts.add("node-0", { labels: { zone: "a" } });
  expect((await ask("PUT", `/hosts/${id}`, { labels: { zone: "b" } })).body.labels).toEqual({ zone: "b" });
  expect((await ask("PUT", `/hosts/${id}`, {})).body.labels).toEqual({ zone: "b" });
});
