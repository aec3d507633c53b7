// The servers of Acme as instances: one source, listed in pages.

import { type Instance, type InstanceSource, mapEntries } from "#ccm";
import type { ApiServer, CloudApi } from "./api.ts";
import { unwritten } from "./unwritten.ts";

const toInstance = (_server: ApiServer): Instance => unwritten("instances.ts", "4. Machines");

export function machineSource(api: CloudApi): InstanceSource {
  return {
    name: "servers",
    keyOf: (id) => /^acme:\/\/([\w-]+)$/.exec(id)?.[1],
    list: (call) => mapEntries(api.servers(call), toInstance),
  };
}
