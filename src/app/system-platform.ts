// The seams of a real process: this machine's clock, network and disk.

import { systemClock } from "../platform/clock.ts";
import { type Environment, systemEnvironment, systemHostname } from "../platform/environment.ts";
import { systemRandom } from "../platform/random.ts";
import { systemFiles } from "../platform/system-files.ts";
import { systemTransport } from "../platform/transport.ts";
import type { ManagerPlatform } from "./manager-platform.ts";

export function systemPlatform(environment: Environment = systemEnvironment()): ManagerPlatform {
  return {
    clock: systemClock,
    random: systemRandom,
    files: systemFiles,
    transport: systemTransport,
    cloudTransport: systemTransport,
    // The name that upstream identifies a replica by; outside a pod no variable holds it.
    environment: { ...environment, HOSTNAME: systemHostname() },
  };
}
