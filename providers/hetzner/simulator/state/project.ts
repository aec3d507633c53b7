// The state of one project: all its resources and actions.

import type { Milliseconds } from "#ccm";
import { type Clock, Ids } from "#ccm/testing";
import type { ResourceRef } from "../base/collection.ts";
import { RobotServers } from "../robot.ts";
import { Actions } from "./actions.ts";
import { type Balancer, Balancers } from "./balancers.ts";
import { Certificates } from "./certificates.ts";
import { Networks } from "./networks.ts";
import { Servers } from "./servers.ts";
import { Volumes } from "./volumes.ts";

export class Project {
  readonly actions: Actions;
  readonly networks: Networks;
  readonly servers: Servers;
  readonly balancers: Balancers;
  readonly certificates: Certificates;
  readonly volumes: Volumes;
  readonly robot = new RobotServers();

  constructor(clock: Clock, actionTime: Milliseconds) {
    const ids = new Ids(clock, 1_000_000);
    this.actions = new Actions(ids, actionTime);
    this.networks = new Networks(ids);
    this.balancers = new Balancers(ids, this.networks);
    this.servers = new Servers(ids, this.networks, (id) => {
      this.balancers.dropServer(id);
      this.volumes.detachFrom(id);
    });
    this.volumes = new Volumes(ids);
    this.certificates = new Certificates(ids);
  }

  /** The end of server types by name, which the API announces for servers of these types. */
  readonly endingTypes = new Map<string, string>();
  /** Whether a target passes its health checks: by default, when the server runs. A test may replace this. */
  health = (_balancer: Balancer, server: number): "healthy" | "unhealthy" | "unknown" =>
    this.servers.get(server)?.status === "running" ? "healthy" : "unhealthy";

  has({ type, id }: ResourceRef): boolean {
    const { servers, networks, balancers, certificates, volumes } = this;
    const kinds = {
      server: servers,
      network: networks,
      load_balancer: balancers,
      certificate: certificates,
      volume: volumes,
    };
    return kinds[type].get(id) !== undefined;
  }
}
