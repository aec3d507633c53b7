// Addresses of instances for tests, and addresses of Nodes as short texts.

import type { InstanceAddress } from "../../../src/provider/instances.ts";

export const internal = (value: string, network?: string): InstanceAddress => ({
  kind: "InternalIP",
  value,
  ...(network !== undefined && { network }),
});

export const external = (value: string): InstanceAddress => ({ kind: "ExternalIP", value });

/** Short texts such as "I 10.0.0.1" and "E 1.1.1.1". */
export const short = (addresses: readonly { type: string; address: string }[] | undefined) =>
  addresses?.map(({ type, address }) => `${type[0]} ${address}`);
