// Dedicated servers of Hetzner Robot.

export interface RobotServer {
  readonly number: number;
  readonly name: string;
  readonly ip: string | null;
  /** The /64 network without its length, such as `2001:db8:2:1::`. */
  readonly ipv6Net: string | null;
  readonly product: string;
  /** Such as `FSN1-DC14`. */
  readonly dc: string;
  readonly isOff: boolean;
  /** Its address in a vSwitch that is coupled to the private network. Robot does not report it. */
  readonly vSwitchIP?: string | undefined;
}

export class RobotServers {
  readonly #byNumber = new Map<number, RobotServer>();
  #last = 320;
  /** The API of load balancers cannot reach Robot. */
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
