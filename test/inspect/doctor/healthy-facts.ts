// Facts of a set-up without problems, for tests that change one of them.

import { readFlags } from "../../../src/app/flags/read-flags.ts";
import type { DoctorFacts } from "../../../src/inspect/doctor/doctor-facts.ts";
import type { ClusterFacts } from "../../../src/inspect/doctor/gather-cluster.ts";
import type { NodeFact, WorkloadFact } from "../../../src/inspect/doctor/raw-objects.ts";
import type { ObjectMeta } from "../../../src/kube/objects.ts";

export const now = Date.parse("2026-01-01T12:00:00Z");

export const metaOf = (name: string, more: Partial<ObjectMeta> = {}): ObjectMeta => ({
  name,
  uid: `uid-${name}`,
  resourceVersion: "1",
  creationTimestamp: "2026-01-01T00:00:00Z",
  ...more,
});

export const nodeFact = (name: string, changes: Partial<NodeFact> = {}): NodeFact => ({
  metadata: metaOf(name),
  providerID: `fake://${name}`,
  isUninitialized: false,
  isSelected: true,
  podCIDRs: [],
  kubeletVersion: "v1.35.4",
  providerIDWriter: "fake-cloud-controller-manager",
  ...changes,
});

export const workloadFact = (changes: Partial<WorkloadFact> = {}): WorkloadFact => ({
  metadata: metaOf("fake-cloud-controller-manager", { namespace: "kube-system" }),
  kind: "DaemonSet",
  isManager: true,
  isThisProgram: true,
  serviceAccount: "fairlead",
  hostNetwork: true,
  dnsPolicy: "Default",
  untolerated: [],
  desired: 3,
  ready: 3,
  ...changes,
});

const healthy: ClusterFacts = {
  origin: "https://10.0.0.5:6443",
  gitVersion: "v1.35.4",
  minor: 35,
  now,
  clock: { server: "https://10.0.0.5:6443", aheadMs: 400 },
  access: {
    value: {
      subject: "system:serviceaccount:kube-system:fairlead",
      isOfWorkload: true,
      isAdmin: false,
      refused: [],
    },
  },
  lease: {
    value: {
      name: "cloud-controller-manager",
      holder: "worker-1_a",
      renewTime: "2026-01-01T12:00:00Z",
      program: "fake-cloud-controller-manager",
    },
  },
  otherLeases: { value: [] },
  nodes: { value: [nodeFact("worker-1")] },
  services: {
    value: {
      ofOthers: [],
      served: [
        { metadata: metaOf("new", { namespace: "default" }), spec: {}, status: {} },
        {
          metadata: metaOf("web", { namespace: "default" }),
          spec: {},
          status: { loadBalancer: { ingress: [{ ip: "192.0.2.1" }] } },
        },
      ],
    },
  },
  refusals: { value: { found: [], isCut: false } },
  pods: {
    value: [
      {
        metadata: metaOf("kube-controller-manager-m1", { labels: { component: "kube-controller-manager" } }),
        args: ["kube-controller-manager", "--cloud-provider=external", "--allocate-node-cidrs=true"],
      },
    ],
  },
  workloads: { value: [workloadFact()] },
  signingRequests: { value: [] },
  drivers: { value: { installed: [], byNode: new Map() } },
};

export interface FactChanges extends Partial<Omit<DoctorFacts, "cluster" | "flags">> {
  readonly cluster?: Partial<ClusterFacts>;
  readonly args?: readonly string[];
}

export function factsWith({ cluster = {}, args = [], ...others }: FactChanges = {}): DoctorFacts {
  const { flags, given, controllers } = readFlags(args);
  return {
    program: "fake-cloud-controller-manager",
    flags,
    given,
    controllers,
    cluster: { value: { ...healthy, ...cluster } },
    cloud: { origins: ["https://api.fake.example"], clock: undefined, failures: [], hasMachines: true },
    ports: [{ flag: "secure-port", port: 10258, listener: "manager" }],
    announced: [],
    ...others,
  };
}
