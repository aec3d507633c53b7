// Actions of the simulated Hetzner Cloud: their time, the locks that they hold, and planned outcomes.

import { expect, test } from "bun:test";
import { minutes, seconds } from "../../../../src/core/brand.ts";
import { setUp } from "./ask.ts";

test("the simulator changes a resource only when its action ends", async () => {
  const { ask, clock, project } = setUp({ actionTime: seconds(2) });
  const { id } = project.balancers.add("lb");
  const change = { type: "least_connections" };
  const started = await ask(`/load_balancers/${id}/actions/change_algorithm`, "POST", change);
  expect(started.status).toBe(201);
  expect(started.body.action).toMatchObject({
    command: "change_algorithm",
    status: "running",
    progress: 0,
    finished: null,
    error: null,
    resources: [{ id, type: "load_balancer" }],
  });
  const algorithm = async () => (await ask(`/load_balancers/${id}`)).body.load_balancer.algorithm.type;
  await clock.advance(seconds(1));
  const half = (await ask(`/actions/${started.body.action.id}`)).body.action;
  expect([half.status, half.progress, await algorithm()]).toEqual(["running", 50, "round_robin"]);
  await clock.advance(seconds(1));
  const done = (await ask(`/actions/${started.body.action.id}`)).body.action;
  expect([done.status, done.progress, await algorithm()]).toEqual(["success", 100, "least_connections"]);
  expect(done.finished).toBe("2026-01-01T00:00:02.000Z");
});

test("the simulator finishes an action at the due time, even when the action is read later", async () => {
  const { ask, clock, project } = setUp();
  const { id } = project.servers.add("a");
  const { body } = await ask(`/servers/${id}/actions/poweroff`, "POST");
  await clock.advance(minutes(1));
  expect((await ask(`/actions/${body.action.id}`)).body.action.finished).toBe("2026-01-01T00:00:01.000Z");
});

test("the simulator locks a load balancer while its action runs", async () => {
  const { ask, clock, project } = setUp();
  const { id } = project.balancers.add("lb");
  const change = () =>
    ask(`/load_balancers/${id}/actions/change_algorithm`, "POST", { type: "least_connections" });
  expect((await change()).status).toBe(201);
  const second = await change();
  expect([second.status, second.code]).toEqual([423, "locked"]);
  expect((await ask(`/load_balancers/${id}`, "DELETE")).code).toBe("locked");
  expect((await ask(`/load_balancers/${id}`, "PUT", { labels: { a: "b" } })).status).toBe(200);
  await clock.advance(seconds(1));
  expect((await change()).status).toBe(201);
});

test("the simulator responds with a conflict to a change of a network that is being changed", async () => {
  const { ask, clock, project } = setUp();
  const { id } = project.networks.add("net");
  const { id: server } = project.servers.add("a");
  const addRoute = (destination: string) =>
    ask(`/networks/${id}/actions/add_route`, "POST", { destination, gateway: "10.0.0.2" });
  expect((await addRoute("10.244.0.0/24")).status).toBe(201);
  const second = await addRoute("10.244.1.0/24");
  expect([second.status, second.code]).toEqual([409, "conflict"]);
  const attached = await ask(`/servers/${server}/actions/attach_to_network`, "POST", { network: id });
  expect(attached.code).toBe("conflict");
  await clock.advance(seconds(1));
  expect((await addRoute("10.244.1.0/24")).status).toBe(201);
});

test("the simulator reports a server as locked while its action runs", async () => {
  const { ask, clock, project } = setUp();
  const { id } = project.servers.add("a");
  await ask(`/servers/${id}/actions/poweroff`, "POST");
  const shown = async () => {
    const { locked, status } = (await ask(`/servers/${id}`)).body.server;
    return [locked, status];
  };
  expect(await shown()).toEqual([true, "stopping"]);
  expect((await ask(`/servers/${id}/actions/poweron`, "POST")).code).toBe("locked");
  await clock.advance(seconds(1));
  expect(await shown()).toEqual([false, "off"]);
});

test("the simulator changes nothing when an action fails, and unlocks the resource", async () => {
  const { ask, clock, project } = setUp();
  const { id } = project.balancers.add("lb");
  const error = { code: "robot_unavailable", message: "try later" };
  project.actions.plan({ outcome: "fails", command: "change_algorithm", error });
  const change = () =>
    ask(`/load_balancers/${id}/actions/change_algorithm`, "POST", { type: "least_connections" });
  const { body } = await change();
  await clock.advance(seconds(1));
  const { action } = (await ask(`/actions/${body.action.id}`)).body;
  expect([action.status, action.error]).toEqual(["error", error]);
  expect(project.balancers.existing(id).algorithm).toBe("round_robin");
  expect((await change()).status).toBe(201);
});

test("the simulator keeps the lock of an action that hangs", async () => {
  const { ask, clock, project } = setUp();
  const { id } = project.balancers.add("lb");
  project.actions.plan({ outcome: "hangs" });
  const type = { type: "least_connections" };
  const { body } = await ask(`/load_balancers/${id}/actions/change_algorithm`, "POST", type);
  await clock.advance(minutes(60));
  const { action } = (await ask(`/actions/${body.action.id}`)).body;
  expect([action.status, action.progress]).toEqual(["running", 0]);
  expect((await ask(`/load_balancers/${id}`, "DELETE")).code).toBe("locked");
});

test("the simulator does not know an action that vanished, although the action takes effect", async () => {
  const { ask, clock, project } = setUp();
  const { id } = project.balancers.add("lb");
  project.actions.plan({ outcome: "vanishes" });
  const type = { type: "least_connections" };
  const { body } = await ask(`/load_balancers/${id}/actions/change_algorithm`, "POST", type);
  expect((await ask(`/actions/${body.action.id}`)).code).toBe("not_found");
  expect((await ask(`/actions?id=${body.action.id}`)).body.actions).toEqual([]);
  await clock.advance(seconds(1));
  expect((await ask("/locations")).status).toBe(200);
  expect(project.balancers.existing(id).algorithm).toBe("least_connections");
});

test("the simulator returns several actions by id, and lists the actions of one resource", async () => {
  const { ask, clock, project } = setUp();
  const { id: a } = project.servers.add("a");
  const { id: b } = project.servers.add("b");
  const first = (await ask(`/servers/${a}/actions/poweroff`, "POST")).body.action.id;
  await clock.advance(seconds(1));
  const second = (await ask(`/servers/${b}/actions/reboot`, "POST")).body.action.id;
  const idsAt = async (path: string): Promise<number[]> =>
    (await ask(path)).body.actions.map(({ id }: { readonly id: number }) => id);
  expect(await idsAt(`/actions?id=${second}&id=${first}&id=7`)).toEqual([second, first]);
  expect(await idsAt(`/servers/${a}/actions`)).toEqual([first]);
  const third = (await ask(`/servers/${a}/actions/poweron`, "POST")).body.action.id;
  expect(await idsAt(`/servers/${a}/actions?sort=id:desc`)).toEqual([third, first]);
  const all = await ask("/actions");
  expect([all.status, all.code]).toEqual([410, "deprecated_api_endpoint"]);
});

test("the simulator ends the action of a removed server without effect", async () => {
  const { ask, clock, project } = setUp();
  const { id } = project.servers.add("a");
  const { body } = await ask(`/servers/${id}/actions/poweroff`, "POST");
  project.servers.remove(id);
  await clock.advance(seconds(1));
  expect((await ask(`/actions/${body.action.id}`)).body.action.status).toBe("success");
  expect(project.servers.list()).toEqual([]);
});
