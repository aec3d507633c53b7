// What follows from a state, and from a change of a service. Pure.

import type { Service } from "./service.ts";

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

/** Links follow changed rules. Containers keep the address of a port that they have. */
export function followsOf(
  before: Service,
  changed: Pick<Service, "lbConfig" | "launchConfig">,
  derivesLinks: boolean,
): Pick<Service, "serviceLinks" | "boundPorts"> {
  return {
    serviceLinks:
      derivesLinks && changed.lbConfig !== before.lbConfig ? ruledIDs(changed) : before.serviceLinks,
    // During an upgrade, other ports are stored, and the containers keep those that they have.
    boundPorts: upgrades.has(before.state)
      ? before.boundPorts
      : (changed.launchConfig?.ports ?? []).map(
          (port) => before.boundPorts.find((old) => withoutAddress(old) === withoutAddress(port)) ?? port,
        ),
  };
}
