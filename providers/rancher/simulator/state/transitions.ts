// The states that services pass through, and obstacles to leaving them.

import { parsePort, type Service } from "./service.ts";

export const following: Readonly<Record<string, string>> = {
  registering: "inactive",
  activating: "active",
  deactivating: "inactive",
  "updating-active": "active",
  "updating-inactive": "inactive",
  removing: "removed",
  upgrading: "upgraded",
  "finishing-upgrade": "active",
};

/** An update does not end these states. */
export const staysInUpdate: ReadonlySet<string> = new Set(["activating", "upgrading", "finishing-upgrade"]);

export const ruledIDs = ({ lbConfig }: Pick<Service, "lbConfig">): readonly string[] => [
  ...new Set(lbConfig?.portRules.flatMap(({ serviceId }) => serviceId ?? [])),
];

const withoutAddress = (port: string): string => port.split(":").slice(-2).join(":");

const upgrades = new Set(["upgrading", "upgraded", "finishing-upgrade"]);

/** Links follow changed rules. Containers keep the address of a port that they already have. */
export function followsOf(
  before: Service,
  changed: Pick<Service, "lbConfig" | "launchConfig">,
  derivesLinks: boolean,
): Pick<Service, "serviceLinks" | "boundPorts"> {
  return {
    serviceLinks:
      derivesLinks && changed.lbConfig !== before.lbConfig ? ruledIDs(changed) : before.serviceLinks,
    // During an upgrade, new ports are stored, and the containers keep the old ports.
    boundPorts: upgrades.has(before.state)
      ? before.boundPorts
      : (changed.launchConfig?.ports ?? []).map(
          (port) => before.boundPorts.find((old) => withoutAddress(old) === withoutAddress(port)) ?? port,
        ),
  };
}

export class Obstacles {
  readonly #stuck = new Set<string>();
  readonly #occupied = new Map<number, string>();
  readonly #failing = new Map<string, string>();

  /** Keeps a service in the state `removing` until it is released. */
  stick(name: string): void {
    this.#stuck.add(name);
  }

  release(name: string): void {
    this.#stuck.delete(name);
  }

  /** Ends the activation of a service with this error until the service is repaired. */
  fail(name: string, message: string): void {
    this.#failing.set(name, message);
  }

  repair(name: string): void {
    this.#failing.delete(name);
  }

  /** Another container uses the port on all hosts, so that no load balancer with it can start. */
  occupy(port: number, message = `Allocation failed: host has port ${port} in use`): void {
    this.#occupied.set(port, message);
  }

  free(port: number): void {
    this.#occupied.delete(port);
  }

  /** Undefined if the service can leave its state. */
  of({ state, name, launchConfig }: Service) {
    if (state === "removing" && this.#stuck.has(name))
      return { isError: false, message: "Waiting for containers to be removed" };
    if (state !== "activating") return undefined;
    const ports = (launchConfig?.ports ?? []).map((port) => parsePort(port).number);
    const message = this.#failing.get(name) ?? ports.flatMap((port) => this.#occupied.get(port) ?? [])[0];
    return message === undefined ? undefined : { isError: true, message };
  }
}
