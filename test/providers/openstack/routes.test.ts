// Routes in a router: those of other clusters stay, and changes of other clients are noticed.

import { expect, test } from "bun:test";
import type { Routes } from "#ccm";
import type { Lab } from "#ccm/testing";
import {
  addPort,
  addRouter,
  ensureSubnet,
  type OpenStackCloud,
} from "../../../providers/openstack/simulator/index.ts";
import { labWith } from "./openstack-lab.ts";

const destination = "10.244.1.0/24";
const nexthop = "10.1.0.9";

/** Adds a route, and the pair of the port that has its address, in the state that a cluster leaves. */
function addRoute({ project }: OpenStackCloud): void {
  addRouter(project, "router-1");
  addNode(project, "nodes");
  project.routers.change("router-1", { routes: [{ destination, nexthop }] });
}

function addNode(project: OpenStackCloud["project"], network: string): void {
  const subnet = ensureSubnet(project, network, "10.1.0.0/16");
  addPort(project, subnet, {
    name: network,
    fixed_ips: [{ subnet_id: subnet.id, ip_address: nexthop }],
    allowed_address_pairs: [{ ip_address: destination }],
  });
}

async function removeAll(lab: Lab, meanwhile: () => void = () => undefined): Promise<void> {
  const routes = lab.cloud.routes as Routes | undefined;
  if (routes?.style !== "document") throw new Error("Expected routes as a document.");
  const before = await lab.run((call) => routes.read(call));
  meanwhile();
  await lab.run((call) => routes.change({ create: [], remove: before.routes }, before, call));
}

const pairs = ({ project }: OpenStackCloud) =>
  project.ports
    .list()
    .filter(({ fixed_ips }) => fixed_ips[0]?.ip_address === nexthop)
    .map(({ name, allowed_address_pairs: all }) => [name, all.map(({ ip_address }) => ip_address)]);

test("keeps the address pair of a port with the same address in another network when a route is removed", async () => {
  const { lab, cloud } = labWith({}, (made) => {
    addRoute(made);
    addNode(made.project, "other");
  });
  await removeAll(lab);
  expect(cloud.project.routers.existing("router-1").routes).toEqual([]);
  expect(pairs(cloud)).toEqual([
    ["nodes", []],
    ["other", [destination]],
  ]);
});

test("reports a router as busy when another client changes the router, and keeps the client's change", async () => {
  const { lab, cloud } = labWith({ hasAtomicRoutes: false }, addRoute);
  const { routers } = cloud.project;
  const other = { destination: "192.0.2.0/24", nexthop };
  const meanwhile = () => {
    const { routes, revision_number } = routers.existing("router-1");
    routers.change("router-1", { routes: [...routes, other], revision_number: revision_number + 1 });
  };
  await expect(removeAll(lab, meanwhile)).rejects.toMatchObject({ kind: "busy" });
  expect(routers.existing("router-1").routes).toEqual([{ destination, nexthop }, other]);
});
