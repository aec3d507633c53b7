// All that a manager needs of the outside world, as values: real in an executable, virtual in tests.

import type { Random } from "../platform/random.ts";
import type { Transport } from "../platform/transport.ts";
import type { KubePlatform } from "./kube-client.ts";

export interface ManagerPlatform extends KubePlatform {
  readonly random: Random;
  readonly cloudTransport: Transport;
}
