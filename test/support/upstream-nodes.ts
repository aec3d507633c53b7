// The fixtures of upstream's node tests: node0, its taints and the addresses that its cloud returns. They have upstream's names.

import type { NodeAddress } from "../../src/kube/objects.ts";
import type { InstanceAddress } from "../../src/provider/instances.ts";
import { uninitialized } from "./node-controllers.ts";

export const U = uninitialized;
export const F = { key: "ImproveCoverageTaint", value: "true", effect: "NoSchedule" } as const;
export const H = (address: string): NodeAddress => ({ type: "Hostname", address });
export const I = (address: string): NodeAddress => ({ type: "InternalIP", address });
export const E = (address: string): NodeAddress => ({ type: "ExternalIP", address });
export const A2: readonly NodeAddress[] = [I("10.0.0.1"), E("132.143.154.163")];
export const A3: readonly NodeAddress[] = [H("node0.cloud.internal"), ...A2];
export const created = Date.UTC(2012, 0, 1);
export const readyUnknown = { type: "Ready", status: "Unknown" } as const;
export const nodeIP = (value: string) => ({ "alpha.kubernetes.io/provided-node-ip": value });
export const inCloud = (addresses: readonly NodeAddress[]): readonly InstanceAddress[] =>
  addresses.map(({ type, address }) => ({ kind: type as InstanceAddress["kind"], value: address }));
