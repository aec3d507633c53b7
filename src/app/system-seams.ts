// The seams of a real process: this machine's clock, network and disk.

import { systemClock } from "../seams/clock.ts";
import { type Environment, systemEnvironment, systemHostname } from "../seams/environment.ts";
import { systemRandom } from "../seams/random.ts";
import { systemFiles } from "../seams/system-files.ts";
import { systemTransport } from "../seams/transport.ts";
import type { ManagerSeams } from "./manager-seams.ts";

export const systemSeams = (environment: Environment = systemEnvironment()): ManagerSeams => ({
  clock: systemClock,
  random: systemRandom,
  files: systemFiles,
  transport: systemTransport,
  cloudTransport: systemTransport,
  // The name that upstream identifies a replica by; outside a pod no variable holds it.
  environment: { ...environment, HOSTNAME: systemHostname() },
});
