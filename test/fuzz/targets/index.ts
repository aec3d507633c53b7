// All fuzz targets by name.

import type { FuzzTarget } from "../target.ts";
import { cloudTargets } from "./clouds.ts";
import { fileTargets } from "./files.ts";
import { objectTargets } from "./objects.ts";
import { servedTargets } from "./served.ts";
import { wireTargets } from "./wire.ts";

export const targets: readonly FuzzTarget[] = [
  ...fileTargets,
  ...wireTargets,
  ...servedTargets,
  ...objectTargets,
  ...cloudTargets,
];
