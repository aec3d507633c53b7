// What the API announces in its objects: deprecated types in use, and values that the provider does not know.

import { expect, test } from "bun:test";
import { announcements } from "../../../providers/hetzner/announcements.ts";
import { HetznerWorld } from "./hetzner-world.ts";

const announcedBy = (h: HetznerWorld) => h.world.manager.report().deprecations.map(({ text }) => text);

test("reports deprecated server types while a server uses them [N21]", async () => {
  const h = new HetznerWorld({ nodes: 2 });
  const [server] = h.cloud.project.servers.list();
  h.cloud.project.endingTypes.set(server?.type ?? "", "2027-01-01T00:00:00Z");
  await h.start("cloud-node,service");
  await h.world.pass(60);
  expect(announcedBy(h)).toEqual([
    `cloud: the server type ${server?.type} in use is deprecated, unavailable after 2027-01-01`,
  ]);
});

test("counts unknown server states by field, and still lists the servers [N21]", async () => {
  const h = new HetznerWorld({ nodes: 2 });
  for (const { id } of h.cloud.project.servers.list())
    h.cloud.project.servers.setStatus(id, "hibernating" as never);
  await h.start("cloud-node");
  await h.world.pass(60);
  expect(announcedBy(h)).toEqual(['cloud: server.status has the unknown value "hibernating"']);
  expect(h.world.manager.report().inventory).toMatchObject([{ objects: 2, failure: undefined }]);
});

test("reports deprecated images and load balancer types, and accepts objects of a different shape [N21]", () => {
  const found: string[] = [];
  const { server, balancer } = announcements(({ what, name, text }) => found.push(`${what} ${name} ${text}`));
  const location = { name: "fsn1" };
  const common = { status: "running", location } as const;
  const image = { id: 1, name: "debian-9", deprecated: "2024-01-01T00:00:00Z" };
  const ends = { announced: "2026-01-01", unavailable_after: "2027-01-01T00:00:00Z" };
  const ofLocation = { name: "cx11", deprecation: null, locations: [{ ...location, deprecation: ends }] };
  server({ ...common, server_type: ofLocation, image } as never);
  balancer({ load_balancer_type: { name: "lb11", deprecated: "2026-01-01" }, targets: [] } as never);
  expect(found).toEqual([
    "type server type cx11 unavailable after 2027-01-01",
    "image image debian-9 ",
    "type load balancer type lb11 ",
  ]);
  const odd = { status: 7, server_type: { name: "cx11", locations: 3 }, location } as never;
  expect(server(odd)).toBe(odd);
  expect(found.length).toBe(4);
});
