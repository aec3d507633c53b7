// All that a provider author may import, as "#ccm". What is not here is not public and may change at any time.

export {
  type Cidr,
  type IpAddress,
  type Milliseconds,
  milliseconds,
  minutes,
  type NodeName,
  type ProviderID,
  providerID,
  type ServiceUID,
  seconds,
} from "./core/brand.ts";
export type { Problem, Severity } from "./core/problem.ts";
export { Secret } from "./core/secret.ts";
export type { Field, Fields, Values } from "./core/settings.ts";
export type * from "./provider/call.ts";
export { CloudError, type CloudErrorKind } from "./provider/errors.ts";
export type * from "./provider/inputs.ts";
export type * from "./provider/instances.ts";
export type * from "./provider/load-balancers.ts";
export type * from "./provider/plan.ts";
export * from "./provider/provider.ts";
export type * from "./provider/routes.ts";
export type { TlsMaterial, Transport, TransportRequest } from "./seams/transport.ts";
