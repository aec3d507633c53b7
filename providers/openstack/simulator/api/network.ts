// Operations of Neutron: what the provider uses of networks, ports, floating IPs, routers and security groups.

import type { Operations } from "#ccm/testing";
import type { Project } from "../state/project.ts";
import { type PageSize, reads } from "./pages.ts";

const base = "/network/v2.0";

export function networkOperations(project: Project, size: PageSize): Operations {
  const { networks, subnets, ports } = project;
  return {
    ...reads(`${base}/networks`, ["networks", "network"], networks, size),
    ...reads(`${base}/subnets`, ["subnets", "subnet"], subnets, size),
    ...reads(`${base}/ports`, ["ports", "port"], ports, size),
  };
}
