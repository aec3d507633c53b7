// Which actions a service or a host offers in its state, as the processes of the server begin. Pure.

import type { Host } from "../state/hosts.ts";
import type { Service } from "../state/service.ts";

/** Without states: offered in every one. */
const startStates: Readonly<Record<string, readonly string[] | undefined>> = {
  activate: ["inactive", "restarting"],
  deactivate: ["active", "activating", "updating-active", "updating-inactive", "restarting"],
  remove: [
    ...["requested", "registering", "inactive", "activating", "active"],
    ...["updating-active", "updating-inactive", "deactivating", "restarting"],
    ...["upgrading", "upgraded", "finishing-upgrade"],
  ],
  finishupgrade: ["upgraded"],
  upgrade: ["active", "activating", "inactive", "updating-active"],
  setservicelinks: undefined,
  update: ["inactive", "active", "updating-active", "activating", "upgrading", "finishing-upgrade"],
};

export const serviceActions = Object.keys(startStates);

const onlyOfBalancers = ["finishupgrade", "setservicelinks", "upgrade"];

const ofType = ({ type }: Service): readonly string[] =>
  type === "loadBalancerService"
    ? serviceActions
    : serviceActions.filter((name) => !onlyOfBalancers.includes(name));

/** `activate` may be withheld. */
export function actionsOf(service: Service, isActivateWithheld: boolean): readonly string[] {
  if (service.removed !== null) return [];
  return ofType(service).filter(
    (name) =>
      startStates[name]?.includes(service.state) !== false && !(name === "activate" && isActivateWithheld),
  );
}

export const hostActions = ["activate", "deactivate", "remove", "update"] as const;

/** Only an inactive host can be removed. */
export function hostActionsOf({ state, removed }: Host): readonly string[] {
  if (removed !== null) return [];
  if (state === "inactive") return ["activate", "remove", "update"];
  return state === "active" ? ["deactivate", "update"] : [];
}
