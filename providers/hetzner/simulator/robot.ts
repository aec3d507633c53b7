// Dedicated servers, and the Robot web service: three operations, Basic authentication, errors and its own rate limit.

import type { Answer, Clock } from "#ccm/testing";

export interface RobotServer {
  readonly number: number;
  readonly name: string;
  readonly ip: string | null;
  /** The /64 network without its length, for example `2001:db8:2:1::`. */
  readonly ipv6Net: string | null;
  readonly product: string;
  /** For example `FSN1-DC14`. */
  readonly dc: string;
  readonly isOff: boolean;
  /** The address in a vSwitch that is coupled to the private network. Robot does not report it. */
  readonly vSwitchIP?: string | undefined;
}

export class RobotServers {
  readonly #byNumber = new Map<number, RobotServer>();
  #last = 320;
  /** True if the load balancer API cannot reach Robot. */
  isUnavailable = false;

  add(name: string, changes: Partial<Omit<RobotServer, "name">> = {}): RobotServer {
    const number = ++this.#last;
    const server: RobotServer = {
      number,
      name,
      ip: `192.0.2.${number % 256}`,
      ipv6Net: `2001:db8:2:${number.toString(16)}::`,
      product: "AX41-NVMe",
      dc: "FSN1-DC14",
      isOff: false,
      ...changes,
    };
    this.#byNumber.set(server.number, server);
    return server;
  }

  list(): readonly RobotServer[] {
    return [...this.#byNumber.values()];
  }

  get(number: number): RobotServer | undefined {
    return this.#byNumber.get(number);
  }

  change(number: number, changes: Partial<Omit<RobotServer, "number">>): RobotServer {
    const server = this.get(number);
    if (server === undefined) throw new Error(`There is no Robot server ${number}.`);
    const changed = { ...server, ...changes };
    this.#byNumber.set(number, changed);
    return changed;
  }

  remove(number: number): void {
    this.#byNumber.delete(number);
  }

  owns(ip: string): boolean {
    return this.list().some((server) => server.ip === ip || server.vSwitchIP === ip);
  }
}

export interface RobotOptions {
  readonly user: string;
  readonly password: string;
  /** The limit for each operation. */
  readonly requestsPerHour: number;
}

const hour = 3_600_000;

function failed(status: number, code: string, message: string, more: object = {}): Answer {
  return { status, body: { error: { status, code, message, ...more } } };
}

function serverView({ number, name, ip, ipv6Net, product, dc }: RobotServer): unknown {
  return {
    server: {
      server_ip: ip,
      server_ipv6_net: ipv6Net,
      server_number: number,
      server_name: name,
      product,
      dc,
      traffic: "unlimited",
      status: "ready",
      cancelled: false,
      paid_until: "2030-01-01",
      ip: ip === null ? [] : [ip],
      subnet: ipv6Net === null ? [] : [{ ip: ipv6Net, mask: "64" }],
    },
  };
}

export class Robot {
  readonly #clock: Clock;
  readonly #servers: RobotServers;
  /** When each operation was requested within the last hour. */
  readonly #times = new Map<string, readonly number[]>();
  user: string;
  password: string;
  requestsPerHour: number;

  constructor(clock: Clock, servers: RobotServers, { user, password, requestsPerHour }: RobotOptions) {
    this.#clock = clock;
    this.#servers = servers;
    this.user = user;
    this.password = password;
    this.requestsPerHour = requestsPerHour;
  }

  /** `operation` has the form `GET /server/{id}`. */
  handle(operation: string, id: number, authorization: string | undefined): Answer {
    const limited = this.#limit(operation);
    if (limited !== undefined) return limited;
    const expected = `Basic ${btoa(`${this.user}:${this.password}`)}`;
    if (authorization !== expected) return failed(401, "UNAUTHORIZED", "Unauthorized");
    switch (operation) {
      case "GET /server": {
        const all = this.#servers.list();
        if (all.length === 0) return failed(404, "SERVER_NOT_FOUND", "No server found");
        return { status: 200, body: all.map(serverView) };
      }
      case "GET /server/{id}": {
        const server = this.#servers.get(id);
        if (server === undefined) break;
        return { status: 200, body: serverView(server) };
      }
      case "GET /reset/{id}": {
        const server = this.#servers.get(id);
        if (server === undefined) break;
        return { status: 200, body: { reset: this.#reset(server) } };
      }
      default:
        return failed(404, "NOT_FOUND", "Not found");
    }
    return failed(404, "SERVER_NOT_FOUND", `Server with id ${id} not found`);
  }

  #reset({ number, ip, ipv6Net, isOff }: RobotServer): unknown {
    return {
      server_ip: ip,
      server_ipv6_net: ipv6Net,
      server_number: number,
      type: ["sw", "hw", "man"],
      operating_status: isOff ? "shut off" : "running",
    };
  }

  #limit(operation: string): Answer | undefined {
    const now = this.#clock.monotonic();
    const recent = (this.#times.get(operation) ?? []).filter((time) => time > now - hour);
    if (recent.length >= this.requestsPerHour) {
      const more = { max_request: this.requestsPerHour, interval: hour / 1000 };
      return failed(403, "RATE_LIMIT_EXCEEDED", "Rate limit exceeded", more);
    }
    this.#times.set(operation, [...recent, now]);
    return undefined;
  }
}
