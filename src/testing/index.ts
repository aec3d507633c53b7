// What provider authors test with, as "#ccm/testing": the conformance suites, virtual time, and what a simulator needs
// besides "#ccm". Never part of an executable.

export { type Clock, sleep } from "../platform/clock.ts";
export type { Transport, TransportRequest } from "../platform/transport.ts";
export { adoptionConformance } from "./conformance/adoption-conformance.ts";
export { converge, type Drive, type Driven } from "./conformance/balancer-driver.ts";
export { FaultyTransport } from "./conformance/faulty-transport.ts";
export { instancesConformance } from "./conformance/instances-conformance.ts";
export { collect, Lab, noInputs } from "./conformance/lab.ts";
export { loadBalancersConformance } from "./conformance/load-balancers-conformance.ts";
export { type DesiredWords, makeDesired, targetOf } from "./conformance/make-desired.ts";
export { routesConformance } from "./conformance/routes-conformance.ts";
export type { Harness, SimulatedCloud } from "./conformance/simulated-cloud.ts";
export { VirtualClock } from "./virtual-time/virtual-clock.ts";
