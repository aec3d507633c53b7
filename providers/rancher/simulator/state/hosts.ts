// The hosts with their addresses. A test changes them as agents and operators do.

export interface Host {
  readonly id: string;
  readonly uuid: string;
  readonly hostname: string | null;
  /** The host's display name. */
  readonly name: string | null;
  readonly state: string;
  readonly agentState: string;
  readonly ips: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  readonly removed: string | null;
}

export type NewHost = Partial<Pick<Host, "ips" | "labels" | "name" | "state" | "uuid">>;

export class Hosts {
  readonly #byID = new Map<string, Host>();
  #next = 1;

  list(): readonly Host[] {
    return [...this.#byID.values()];
  }

  add(hostname: string | null, options: NewHost = {}): Host {
    const number = this.#next++;
    const host: Host = {
      id: `1h${number}`,
      uuid: `${String(number).padStart(8, "0")}-0000-4000-8000-000000000000`,
      hostname,
      name: null,
      state: "active",
      agentState: "active",
      ips: [`192.0.${2 + (number >> 8)}.${number & 255}`],
      labels: {},
      removed: null,
      ...options,
    };
    this.#byID.set(host.id, host);
    return host;
  }

  existing(hostname: string): Host {
    const host = this.list().find((one) => one.hostname === hostname && one.removed === null);
    if (host === undefined) throw new Error(`There is no host ${hostname}.`);
    return host;
  }

  change(hostname: string, change: Partial<Omit<Host, "id">>): Host {
    return this.put({ ...this.existing(hostname), ...change });
  }

  put(host: Host): Host {
    this.#byID.set(host.id, host);
    return host;
  }

  /** Simulates an agent that no longer responds: the host stays active, and the API shows the state of the agent. */
  disconnect(hostname: string): Host {
    return this.change(hostname, { agentState: "disconnected" });
  }

  reconnect(hostname: string): Host {
    return this.change(hostname, { agentState: "active" });
  }

  /** Simulates that Rancher purges a host whose agent is lost. The entry stays in the database. */
  purge(hostname: string, at: number): void {
    this.change(hostname, { state: "purged", removed: new Date(at).toISOString() });
  }

  /** Simulates that the agent registers again, with a different id and another uuid. */
  registerAgain(hostname: string, at: number): Host {
    const { ips, labels } = this.existing(hostname);
    this.purge(hostname, at);
    return this.add(hostname, { ips, labels });
  }
}
