// Operations of Nova. A server has its flavor since microversion 2.47, and before that only the id of the flavor. Servers of a
// cell that is down appear since 2.69, with little more than their ids, and not in listings with a query.

import { type OperationRequest, type Operations, Refused } from "#ccm/testing";
import type { Project } from "../state/project.ts";
import type { Server } from "../state/records.ts";
import { type PageSize, pageOf } from "./pages.ts";

const version = /^2\.(\d+)$/;
const since = { embeddedFlavors: 47, downCells: 69 };

export function minorOf({ header }: OperationRequest): number {
  const asked =
    header("x-openstack-nova-api-version") ?? header("openstack-api-version")?.replace("compute ", "");
  const minor = Number(version.exec(asked ?? "2.1")?.[1]);
  if (minor >= 1 && minor <= 100) return minor;
  throw new Refused(406, `Version ${asked} is not supported by the simulated API.`);
}

export function computeOperations({ id, servers }: Project, size: PageSize): Operations {
  const path = "/compute/v2.1/servers";
  const flavors = () =>
    [...new Set(servers.list().map(({ flavor }) => flavor.original_name))].map((name, index) => ({
      id: `flavor-${index + 1}`,
      name,
    }));
  const idOf = ({ flavor }: Server) => flavors().find(({ name }) => name === flavor.original_name)?.id;
  const viewFor = (request: OperationRequest) => {
    const isEmbedded = minorOf(request) >= since.embeddedFlavors;
    return (server: Server): object => {
      if (server.isUnreachable) return { id: server.id, status: "UNKNOWN", tenant_id: id, links: [] };
      return isEmbedded ? server : { ...server, flavor: { id: idOf(server) } };
    };
  };
  return {
    [`GET ${path}/detail`]: (request) => {
      const view = viewFor(request);
      const pattern = new RegExp(request.query.get("name") ?? "");
      const showsAll = request.query.size === 0 && minorOf(request) >= since.downCells;
      const isWanted = (server: Server) => (server.isUnreachable ? showsAll : pattern.test(server.name));
      const shown = servers.listed().filter((server) => isWanted(server) && !request.isHidden(server));
      return pageOf("servers", shown, request, view, size);
    },
    [`GET ${path}/{id}`]: (request) => {
      const view = viewFor(request);
      const server = servers.get(request.id);
      if (server === undefined || request.isHidden(server))
        throw new Refused(404, `Instance ${request.id} could not be found.`);
      if (server.isUnreachable && minorOf(request) < since.downCells)
        throw new Refused(500, "Unexpected API Error. <class 'nova.exception.NovaException'>");
      return { status: 200, body: { server: view(server) } };
    },
    "GET /compute/v2.1/flavors": (request) => pageOf("flavors", flavors(), request, (flavor) => flavor, size),
    "GET /compute/v2.1/flavors/{id}": ({ id }) => {
      const flavor = flavors().find((one) => one.id === id);
      if (flavor === undefined) throw new Refused(404, `Flavor ${id} could not be found.`);
      return { status: 200, body: { flavor } };
    },
  };
}
