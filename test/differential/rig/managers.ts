// The compared managers and their command lines.

import { join } from "node:path";

export interface Manager {
  /** A shell command line. */
  readonly command: string;
  readonly flags: readonly string[];
}

const common = [
  "--cloud-provider=fake",
  "--secure-port=0",
  "--leader-elect=false",
  "--allow-untagged-cloud",
  "--cluster-cidr=10.244.0.0/16,fd00:10:244::/48",
  "--allocate-node-cidrs=true",
];

/** Flags that make upstream faster, and change nothing else that the scenarios show. */
const speed = [
  "--webhook-secure-port=0",
  ...[
    "--kube-api-qps=500",
    "--kube-api-burst=1000",
    "--concurrent-service-syncs=8",
    "--concurrent-node-syncs=8",
  ],
  ...["--node-monitor-period=1s", "--route-reconciliation-period=1s", "--node-status-update-frequency=2s"],
];

export const upstreamFolder = join(import.meta.dir, "../upstream");

export const peerVariable = "FAIRLEAD_DIFFERENTIAL_PEER";
export const isOtherPeerVariable = "FAIRLEAD_DIFFERENTIAL_IS_OTHER_PEER";

function required(name: string): string {
  const value = process.env[name] ?? "";
  if (value === "") throw new Error("Run these tests with: npm run test:differential");
  return value;
}

/** Whether the peer differs from the upstream that the tests know. */
export const isOtherPeer = (): boolean => required(isOtherPeerVariable) === "true";

const fairlead = (...flags: readonly string[]): Manager => ({
  command: required("FAIRLEAD_TEST_EXECUTABLE"),
  flags: [...common, ...flags],
});

export const managers = {
  upstream: (): Manager => ({ command: required(peerVariable), flags: [...common, ...speed] }),
  fairlead: (): Manager => fairlead(),
  /** A manager whose proofs of absence take seconds. */
  quick: (): Manager => fairlead("--absence-confirmation=3s"),
  profile: (): Manager => fairlead("--compatibility=upstream"),
  /** A manager that runs beside another one. */
  ofClass: (name: string): Manager =>
    fairlead("--controllers=service", `--load-balancer-class=${name}`, "--load-balancer-class-only"),
} as const;
