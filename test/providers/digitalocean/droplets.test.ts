// Droplets as instances: their tags as labels.

import { expect, test } from "bun:test";
import { DigitalOceanWorld } from "./digitalocean-world.ts";

test("makes a label of each droplet tag, with the part before the first colon as the key [F107]", async () => {
  const h = new DigitalOceanWorld();
  h.addNode("web-1", { tags: ["team:web", "team:shop", "gpu", "path:a:b", "k8s:worker"] });
  await h.start("cloud-node", "--node-labels-from=team,gpu,path");
  const labels = () => h.nodes()[0]?.metadata.labels ?? {};
  await h.world.until(() => labels()["team"] !== undefined, "the labels");
  expect(labels()).toMatchObject({ team: "web", gpu: "" });
  // A colon is not valid in the value of a label.
  expect(Object.keys(labels())).not.toContain("path");
  expect(Object.keys(labels())).not.toContain("k8s");
});
