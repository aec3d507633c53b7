// Fairlead for Hetzner as a process, from the sources.

import { hetzner } from "../../providers/hetzner/index.ts";
import type { AnyProvider } from "../../src/app/connect-cloud.ts";
import { runExecutable } from "../../src/app/run.ts";

// The contract keeps each provider's own types; the framework only hands its values back to it.
await runExecutable(hetzner as unknown as AnyProvider);
