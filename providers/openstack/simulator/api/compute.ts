// Operations of Nova. The flavor is embedded since microversion 2.47, so an older request is refused, as no client of this needs it.

import { type OperationRequest, type Operations, Refused } from "#ccm/testing";
import type { Project } from "../state/project.ts";
import type { Server } from "../state/records.ts";
import { type PageSize, pageOf } from "./pages.ts";

const version = /^2\.(\d+)$/;

function checkVersion({ header }: OperationRequest): void {
  const minor = version.exec(
    header("x-openstack-nova-api-version") ?? header("openstack-api-version")?.replace("compute ", "") ?? "",
  )?.[1];
  if (Number(minor ?? 1) < 47 || Number(minor) > 100)
    throw new Refused(406, `Version ${minor ?? "2.1"} is not supported by the simulated API.`);
}

export function computeOperations({ servers }: Project, size: PageSize): Operations {
  const path = "/compute/v2.1/servers";
  const view = (server: Server) => server;
  return {
    [`GET ${path}/detail`]: (request) => {
      checkVersion(request);
      const name = request.query.get("name");
      const isWanted = (server: Server) => name === null || new RegExp(name).test(server.name);
      const shown = servers.listed().filter((server) => isWanted(server) && !request.isHidden(server));
      return pageOf("servers", shown, request, view, size);
    },
    [`GET ${path}/{id}`]: (request) => {
      checkVersion(request);
      const server = servers.get(request.id);
      if (server === undefined || request.isHidden(server))
        throw new Refused(404, `Instance ${request.id} could not be found.`);
      return { status: 200, body: { server } };
    },
    "GET /compute/v2.1/flavors": (request) => {
      const names = [...new Set(servers.list().map(({ flavor }) => flavor.original_name))];
      const flavors = names.map((name, index) => ({ id: `flavor-${index + 1}`, name }));
      return pageOf("flavors", flavors, request, (flavor) => flavor, size);
    },
  };
}
