// Volumes of the simulated Hetzner Cloud.

import { expect, test } from "bun:test";
import { seconds } from "../../../../src/core/brand.ts";
import { namesIn, setUp } from "./ask.ts";

const data = { name: "data", size: 10, location: "fsn1" };

test("the simulator creates a volume that is available when its action ends", async () => {
  const { ask, clock } = setUp();
  const { status, body } = await ask("/volumes", "POST", { ...data, labels: { a: "b" } });
  expect([status, body.volume.status, body.action.command, body.next_actions]).toEqual([
    ...[201, "creating", "create_volume", []],
  ]);
  await clock.advance(seconds(1));
  const { volume } = (await ask(`/volumes/${body.volume.id}`)).body;
  expect(volume).toMatchObject({ status: "available", server: null, format: null, labels: { a: "b" } });
  expect(namesIn((await ask("/volumes?name=data")).body.volumes)).toEqual(["data"]);
  expect((await ask("/volumes", "POST", data)).code).toBe("uniqueness_error");
});

test("the simulator attaches a volume to one server in its location, and locks both in the meantime", async () => {
  const { ask, clock, project } = setUp();
  const [server, other, far] = [
    project.servers.add("a"),
    project.servers.add("b"),
    project.servers.add("c", { location: "hel1" }),
  ];
  const [{ id }, second] = [project.volumes.add("one"), project.volumes.add("two")];
  const attach = (volume: number, to: number) =>
    ask(`/volumes/${volume}/actions/attach`, "POST", { server: to });
  expect((await attach(id, far.id)).code).toBe("invalid_input");
  expect((await attach(id, 1)).code).toBe("not_found");
  expect((await attach(id, server.id)).body.action.resources).toEqual([
    { id, type: "volume" },
    { id: server.id, type: "server" },
  ]);
  expect((await attach(second.id, server.id)).code).toBe("locked");
  await clock.advance(seconds(1));
  expect((await ask(`/volumes/${id}`)).body.volume.server).toBe(server.id);
  expect((await ask(`/servers/${server.id}`)).body.server.volumes).toEqual([id]);
  expect((await attach(id, other.id)).code).toBe("volume_already_attached");
  expect((await ask(`/volumes/${id}`, "DELETE")).code).toBe("resource_in_use");
  project.servers.remove("a");
  expect((await ask(`/volumes/${id}`)).body.volume.server).toBeNull();
  expect((await ask(`/volumes/${id}`, "DELETE")).status).toBe(204);
});

test("the simulator resizes a volume only to a larger size, and protects it", async () => {
  const { ask, clock, project } = setUp();
  const { id } = project.volumes.add("data", { size: 20 });
  const act = (action: string, body: object) => ask(`/volumes/${id}/actions/${action}`, "POST", body);
  expect([(await act("resize", { size: 20 })).code, (await act("resize", { size: 20_000 })).code]).toEqual([
    ...["invalid_input", "invalid_input"],
  ]);
  await act("resize", { size: 30 });
  await clock.advance(seconds(1));
  await act("change_protection", { delete: true });
  await clock.advance(seconds(1));
  const { volume } = (await ask(`/volumes/${id}`)).body;
  expect([volume.size, volume.protection]).toEqual([30, { delete: true }]);
  expect((await ask(`/volumes/${id}`, "DELETE")).code).toBe("protected");
  expect((await ask(`/volumes/${id}/actions`)).body.actions).toHaveLength(2);
});
