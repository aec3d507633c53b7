// The role of vCenter that the manager needs: the privileges of the methods that the code calls. Pure.

import type { PolicyNeeds } from "#ccm";

/**
 * The privileges of each call, by its operation as in metrics. Calls without a privilege need only a
 * session. The tests compare the operations with the requests that were sent.
 */
export const privileges: Readonly<Record<string, string | undefined>> = {
  Login: "System.Anonymous",
  CloneSession: "System.Anonymous",
  Logout: "System.View",
  CreateContainerView: "System.View",
  RetrievePropertiesEx: "System.Read",
  ContinueRetrievePropertiesEx: "System.Read",
  FindAllByUuid: "System.Read",
  FindAllByDnsName: "System.Read",
  HasPrivilegeOnEntities: "System.View",
  "POST session": undefined,
  "DELETE session": undefined,
  "POST tag-association list-attached-tags-on-objects": "System.Read",
  "GET tag": "System.Read",
  "GET category": "System.Read",
};

/** The manager changes nothing in vCenter, so the role is the same for all controllers. */
export function vcenterRole(_needs: PolicyNeeds): object {
  const needed = new Set(Object.values(privileges).flatMap((one) => one ?? []));
  return {
    role: "Read-only",
    privileges: [...needed].toSorted(),
    permissions: [
      { on: "the vCenter, which is the root folder", propagate: false },
      { on: "each datacenter with machines of the cluster", propagate: true },
      { on: "the tags of zones and regions, by a global permission", propagate: true },
    ],
  };
}
