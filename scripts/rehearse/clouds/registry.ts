// The clouds that can be rehearsed. The first one is the default.

import type { RehearsalDefinition } from "../cloud.ts";
import { aws } from "./aws.ts";
import { digitalocean } from "./digitalocean.ts";
import { hetzner } from "./hetzner.ts";
import { openstack } from "./openstack.ts";

export const rehearsals: readonly RehearsalDefinition[] = [hetzner, digitalocean, openstack, aws];
