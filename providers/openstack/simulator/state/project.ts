// The state of a simulated project: the records of all services, their ids, and work that is done later.

import type { Milliseconds } from "#ccm";
import { type Clock, type DueWork, Ids, Records } from "#ccm/testing";
import type {
  FloatingIP,
  Network,
  Port,
  Router,
  SecurityGroup,
  Server,
  Snapshot,
  Subnet,
  Volume,
} from "./records.ts";

export interface ProjectTimes {
  /** The time during which a new or changed load balancer is PENDING. */
  readonly balancer: Milliseconds;
  /** The time to create, change, attach or detach a volume. */
  readonly volume: Milliseconds;
}

export class Project {
  readonly id = "0b24f9b8e2a14cd8a3a1b4e0f7e9c3d1";
  readonly ids: Ids;
  readonly later: DueWork;
  readonly times: ProjectTimes;
  readonly servers: Records<Server>;
  readonly networks: Records<Network>;
  readonly subnets: Records<Subnet>;
  readonly ports: Records<Port>;
  readonly floatingIPs: Records<FloatingIP>;
  readonly routers: Records<Router>;
  readonly securityGroups: Records<SecurityGroup>;
  readonly volumes: Records<Volume>;
  readonly snapshots: Records<Snapshot>;
  /** The volume quota. */
  volumeLimit = Number.POSITIVE_INFINITY;
  /** The number of volumes, from the next one, whose creation ends with an error. */
  volumeFailures = 0;
  #lastAddress = 1;

  constructor(clock: Clock, later: DueWork, times: ProjectTimes, lastID = 0) {
    this.ids = new Ids(clock, lastID);
    this.later = later;
    this.times = times;
    this.servers = new Records(clock);
    this.networks = new Records(clock);
    this.subnets = new Records(clock);
    this.ports = new Records(clock);
    this.floatingIPs = new Records(clock);
    this.routers = new Records(clock);
    this.securityGroups = new Records(clock);
    this.volumes = new Records(clock);
    this.snapshots = new Records(clock);
  }

  /** A free address in a range: `10.0.0.0/16` has 10.0.0.2, 10.0.0.3 and so on. */
  addressIn(cidr: string): string {
    this.#lastAddress += 1;
    const [base = ""] = cidr.split("/");
    if (base.includes(":")) return `${base.replace(/::$/, "")}::${this.#lastAddress.toString(16)}`;
    const [a, b] = base.split(".");
    return `${a}.${b}.${this.#lastAddress >> 8}.${this.#lastAddress & 255}`;
  }
}
