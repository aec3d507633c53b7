// The test API for provider authors, imported as "#ccm/testing": the conformance suites, virtual time, and the additional parts of
// a simulator. Only for tests and simulators: the build refuses to bundle it.

export { type ReadOptions, type ReadSettings, readSettings } from "../core/read-settings.ts";
// For simulators: time that a test moves, and the transport that a simulated cloud implements.
export { type Clock, sleep } from "../platform/clock.ts";
export { type OpenSocket, SocketError, type SocketRequest } from "../platform/socket.ts";
export type { Transport, TransportRequest } from "../platform/transport.ts";
export type { AnyCloud } from "../provider/provider.ts";
// Shared parts of simulated clouds.
export * from "./cloud/faults.ts";
export * from "./cloud/json-fields.ts";
export * from "./cloud/paging.ts";
export * from "./cloud/reach-cloud.ts";
export * from "./cloud/records.ts";
export * from "./cloud/refused.ts";
export * from "./cloud/resource-operations.ts";
export * from "./cloud/rest-api.ts";
export * from "./cloud/simulated-api.ts";
export * from "./cloud/simulated-rate-limit.ts";
// The conformance suites, and their input from the author.
export { changesConformance } from "./conformance/changes-conformance.ts";
export { type Converged, type ConvergeOptions, converge } from "./conformance/converge.ts";
export { type DesiredOptions, makeDesired, targetOf } from "./conformance/desired.ts";
export { type FaultKind, FaultyTransport, faultKinds } from "./conformance/faulty-transport.ts";
export { handlesConformance } from "./conformance/handles-conformance.ts";
export { instancesConformance } from "./conformance/instances-conformance.ts";
export { collect, failureOf, Lab, noInputs } from "./conformance/lab.ts";
export { loadBalancersConformance } from "./conformance/load-balancers-conformance.ts";
export { Crash } from "./conformance/process-memory.ts";
export { routesConformance } from "./conformance/routes-conformance.ts";
export {
  byName,
  type Harness,
  type SimulatedCloud,
  type TargetMachine,
  threeTargets,
} from "./conformance/simulated-cloud.ts";
export { volumesConformance } from "./conformance/volumes-conformance.ts";
export { VirtualClock } from "./virtual-time/virtual-clock.ts";
