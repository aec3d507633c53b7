// Managers for AWS that reach moto over HTTP.

import { aws } from "../../../../../providers/aws/index.ts";
import { prefix } from "../../../../../providers/aws/load-balancers/annotations.ts";
import type { AnyProvider } from "../../../../../src/provider/provider.ts";
import { Cluster } from "../../../../clients/rig/cluster.ts";

const flags = ["--absence-confirmation=2s", "--node-status-update-frequency=1s"];

export const motoCluster = (): Cluster =>
  new Cluster({
    provider: aws as unknown as AnyProvider,
    prefix,
    flags,
    pathOf: ({ pathname }, body) => new URLSearchParams(String(body)).get("Action") ?? pathname,
  });
