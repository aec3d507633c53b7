import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { Permission } from "../../../src/app/permissions.ts";
import { type Milliseconds, minutes, seconds } from "../../../src/core/brand.ts";
import { newestMinor } from "../../../src/inspect/doctor/check-connections.ts";
import { diagnose, diagnosisExitCode, diagnosisText } from "../../../src/inspect/doctor/diagnose.ts";
import type { CheckFinding, CloudFailure } from "../../../src/inspect/doctor/doctor-facts.ts";
import type { AccessFact } from "../../../src/inspect/doctor/gather-cluster.ts";
import { type FactChanges, factsWith, metaOf, nodeFact, workloadFact } from "./healthy-facts.ts";

const findingsOf = (changes: FactChanges): readonly CheckFinding[] =>
  diagnose(factsWith(changes)).checks.flatMap(({ findings }) => findings);

const patchNodes: Permission = {
  verb: "patch",
  group: "",
  resource: "nodes",
  isOptional: false,
  users: ["cloud-node", "cloud-node-lifecycle"],
};
const createEvents: Permission = {
  verb: "create",
  group: "",
  resource: "events",
  users: ["cloud-node"],
  isOptional: true,
};
const access: AccessFact = {
  subject: "fairlead",
  isOfWorkload: true,
  isAdmin: false,
  refused: [patchNodes, createEvents],
};
const admin = { value: { subject: "admin", isOfWorkload: false, isAdmin: true, refused: [] } };
const counts = "Now 1 of 1 Node is initialized, and 1 of 2 Services of type LoadBalancer has an address.";
const whileFailing = `What exists keeps working. New Nodes keep their taint, new Services get no address, and changes wait. ${counts}`;
const controllerManager = (...args: readonly string[]) => ({
  value: [
    { metadata: metaOf("kcm-m1", { labels: { component: "kube-controller-manager" } }), args },
    { metadata: metaOf("other"), args: ["--cloud-provider=aws"] },
  ],
});
const lease = {
  name: "cloud-controller-manager",
  holder: "m1_a",
  program: undefined,
  renewTime: "2026-01-01T11:00:00Z",
};
const refusedFor = (age: Milliseconds) => ({
  value: {
    found: [{ object: "Service default/web", user: "limited", what: "patch services/status", age }],
    isCut: false,
  },
});
const uninitialized = { isUninitialized: true, providerID: undefined };
const joining = (name: string) => ({
  ...uninitialized,
  metadata: metaOf(name, { creationTimestamp: "2026-01-01T11:58:00Z" }),
});
const fresh = metaOf("fresh", { creationTimestamp: "2026-01-01T11:58:00Z" });
const failing = (reason: CloudFailure["reason"], status?: number, isTls = false) => ({
  cloud: {
    origins: [],
    clock: undefined,
    failures: [{ reason, status, isTls, message: `message of ${reason}` }],
    hasMachines: false,
  },
});
const waiting = { username: "system:node:worker-1", isPending: true };

test("doctor knows the newest version in docs/support.md", () => {
  const page = readFileSync(resolve(import.meta.dir, "../../../docs/support.md"), "utf8");
  const minors = [...page.matchAll(/^\| (?:1\.\d+ to )?1\.(\d+) \|/gm)].map(([, minor]) => Number(minor));
  expect(newestMinor).toBe(Math.max(...minors));
});

test("doctor finds no problem in a healthy setup, with exit code 0 [N7 S14]", () => {
  const diagnosis = diagnose(factsWith());
  expect(diagnosis.checks.map(({ name, status }) => `${name}: ${status}`)).toEqual([
    "API server: ok",
    "permissions: ok",
    "Lease: ok",
    "Nodes and kubelets: ok",
    "load balancer classes: ok",
    "kube-controller-manager: ok",
    "serving certificates: ok",
    "CSI drivers: ok",
    "workload: ok",
    "cloud: ok",
    "clocks: ok",
    "ports: ok",
    "deprecations: ok",
  ]);
  expect(diagnosisExitCode(diagnosis)).toBe(0);
  expect(diagnosisText(diagnosis)).toEndWith("deprecations: ok\n\nDoctor: 0 errors, 0 warnings.\n");
});

const cases: readonly (readonly [
  reason: string,
  severity: CheckFinding["severity"],
  changes: FactChanges,
  problem: string,
  fix: string,
])[] = [
  [
    "DeprecationAnnounced",
    "warning",
    { announced: [{ api: "cloud", what: "type", text: "cloud: the server type cx11 in use is deprecated" }] },
    "1 announcement of the cloud and the API server: cloud: the server type cx11 in use is deprecated.",
    "Replace deprecated types and images that are in use.",
  ],
  [
    "KubernetesTooOld",
    "error",
    { cluster: { gitVersion: "v1.19.3", minor: 19 } },
    "version v1.19.3; Fairlead needs Kubernetes 1.21",
    "Upgrade Kubernetes.",
  ],
  [
    "ApiServerNeedsClusterDNS",
    "warning",
    { cluster: { origin: "https://kubernetes.default.svc" } },
    "is kubernetes.default.svc, a name that only cluster DNS resolves",
    "in the kubeconfig or --master",
  ],
  [
    "PermissionMissing",
    "error",
    { cluster: { access: { value: access } } },
    "fairlead lacks 1 permission: patch nodes.",
    "To grant it, without a restart: `fake-cloud-controller-manager rbac --set user=fairlead | kubectl apply -f -`",
  ],
  [
    "OptionalPermissionMissing",
    "warning",
    { cluster: { access: { value: access } } },
    "fairlead lacks 1 permission: create events.",
    "`fake-cloud-controller-manager rbac --set user=fairlead | kubectl apply -f -`",
  ],
  [
    "PermissionsUnchecked",
    "unchecked",
    { cluster: { access: admin } },
    "These are the permissions of the kubeconfig (admin, an administrator)",
    "Run doctor with the --kubeconfig of the manager.",
  ],
  [
    "KubernetesRefused",
    "error",
    { cluster: { refusals: refusedFor(seconds(30)) } },
    'An event of Service default/web, 30s old, reports that the API server refused a request of "limited": patch services/status.',
    "Check that this is the user of the manager. To grant it, without a restart:",
  ],
  [
    "WarningsUnchecked",
    "unchecked",
    { cluster: { refusals: { value: { found: [], isCut: true } } } },
    "too many Warning events, and only the first 20 pages were read",
    "Read the manager's log",
  ],
  [
    "KubernetesTooNew",
    "warning",
    { cluster: { gitVersion: "v1.39.0", minor: 39 } },
    "The API server has version v1.39.0; this version of Fairlead knows Kubernetes up to 1.38.",
    "Upgrade Fairlead to a version that lists it in docs/support.md.",
  ],
  [
    "PermissionsUnchecked",
    "unchecked",
    { cluster: { access: { unread: "403 for create selfsubjectaccessreviews" } } },
    "403 for create selfsubjectaccessreviews",
    "Grant the verb create for selfsubjectaccessreviews",
  ],
  [
    "NoLeader",
    "error",
    {
      cluster: { lease: { value: undefined } },
      ports: [{ flag: "secure-port", port: 10258, listener: "other" }],
    },
    "does not exist",
    "First fix what else is reported here: PortInUse. If a manager runs, its log says why it does not lead",
  ],
  [
    "NodesUninitialized",
    "error",
    {
      cluster: {
        lease: { value: undefined },
        nodes: { value: [nodeFact("fresh", { ...uninitialized, metadata: fresh })] },
      },
    },
    "1 Node has the taint node.cloudprovider.kubernetes.io/uninitialized, and no manager leads: fresh.",
    "See NoLeader.",
  ],
  [
    "NoLeader",
    "error",
    { cluster: { lease: { value: undefined } } },
    "the Lease kube-system/cloud-controller-manager does not exist",
    "If no manager runs, start one.",
  ],
  [
    "NoLeader",
    "error",
    { cluster: { lease: { value: { ...lease, holder: "", isExpired: true } } } },
    "has no holder",
    "--leader-elect-resource-name",
  ],
  [
    "LeaseExpired",
    "error",
    { cluster: { lease: { value: { ...lease, isExpired: true } } } },
    "of m1_a was last renewed at 2026-01-01T11:00:00Z",
    "cannot log in there (an expired certificate or token), or lacks a permission. If no manager runs, start one.",
  ],
  [
    "ClusterNameDiffers",
    "warning",
    {
      args: ["--cluster-name=test"],
      cluster: {
        lease: { value: { ...lease, program: "fake-cloud-controller-manager", clusterName: "prod" } },
      },
    },
    'The leader m1_a has --cluster-name="prod", and doctor has "test".',
    "Run doctor with the --cluster-name of the leader.",
  ],
  [
    "OtherManagerLeads",
    "error",
    { cluster: { lease: { value: { ...lease, program: "hcloud-cloud-controller-manager" } } } },
    "the program that renews it is hcloud-cloud-controller-manager, not fake-cloud-controller-manager",
    'stop that program on the host or pod m1, as "Switching from the Go manager" in docs/operations.md describes',
  ],
  [
    "KubeletWithoutExternalCloud",
    "error",
    { cluster: { nodes: { value: [nodeFact("a", { providerID: undefined }), nodeFact("b")] } } },
    "1 Node has neither a provider ID nor the taint node.cloudprovider.kubernetes.io/uninitialized: a.",
    "Set --cloud-provider=external on the kubelet",
  ],
  [
    "NodesUninitialized",
    "error",
    {
      cluster: {
        nodes: {
          value: [nodeFact("a", uninitialized), nodeFact("fresh", { ...uninitialized, metadata: fresh })],
        },
      },
    },
    "1 Node older than 5 minutes still has the taint node.cloudprovider.kubernetes.io/uninitialized: a.",
    "fake-cloud-controller-manager explain node a",
  ],
  [
    "ProviderIDsOfInTreeCloud",
    "warning",
    { cluster: { nodes: { value: [nodeFact("a", { providerIDWriter: "kube-controller-manager" })] } } },
    "kube-controller-manager wrote the provider ID of 1 Node: a.",
    "runs with --cloud-provider=external or without the flag",
  ],
  [
    "NodesOfDistribution",
    "warning",
    {
      cluster: {
        nodes: {
          value: [
            nodeFact("a", { providerID: "k3s://a" }),
            nodeFact("b", { providerID: "rke2://b" }),
            nodeFact("c", { providerID: "k3s://c", isSelected: false }),
          ],
        },
      },
    },
    "2 Nodes have the provider ID of k3s or RKE2: a, b.",
    "with --disable-cloud-controller, and every server and agent with --kubelet-arg=cloud-provider=external.",
  ],
  [
    "KubeletNewerThanApiServer",
    "warning",
    { cluster: { nodes: { value: [nodeFact("a", { kubeletVersion: "v1.36.0" })] } } },
    "of 1 Node is newer than the API server (v1.35.4): a.",
    "Upgrade the control plane first.",
  ],
  [
    "ControlPlaneRunsCloudLoops",
    "error",
    { cluster: { pods: controllerManager("--cloud-provider=aws", "--allocate-node-cidrs=true") } },
    "kcm-m1 runs with --cloud-provider=aws",
    "in /etc/kubernetes/manifests/kube-controller-manager.yaml",
  ],
  [
    "PodCIDRsNotAllocated",
    "warning",
    { args: ["--cluster-cidr=10.244.0.0/16"], cluster: { pods: controllerManager() } },
    "kcm-m1 runs without --allocate-node-cidrs=true",
    "or --configure-cloud-routes=false on the manager",
  ],
  [
    "ControlPlaneFlagRemoved",
    "warning",
    { cluster: { pods: controllerManager("--cloud-provider=external", "--concurrent-service-syncs=5") } },
    "kcm-m1 runs with --concurrent-service-syncs, which Kubernetes 1.37 removed from kube-controller-manager.",
    "Remove it from /etc/kubernetes/manifests/kube-controller-manager.yaml before the upgrade to 1.37.",
  ],
  [
    "ControlPlaneFlagRemoved",
    "warning",
    { cluster: { pods: controllerManager("--feature-gates=A=true,SeparateTaintEvictionController=false") } },
    "kcm-m1 runs with --feature-gates=SeparateTaintEvictionController, which Kubernetes 1.38 removed",
    "before the upgrade to 1.38.",
  ],
  [
    "ServingCertificatesWaiting",
    "warning",
    {
      cluster: {
        signingRequests: {
          value: [
            { metadata: metaOf("csr-1"), ...waiting },
            { metadata: metaOf("csr-2"), ...waiting, isPending: false },
          ],
        },
      },
    },
    "1 request for a serving certificate of a kubelet waits for approval, from system:node:worker-1.",
    "kubectl certificate approve csr-1",
  ],
  [
    "DriverWaitsForNodes",
    "warning",
    {
      cluster: {
        nodes: { value: [nodeFact("a"), nodeFact("b", joining("b")), nodeFact("c", joining("c"))] },
        drivers: {
          value: {
            installed: ["csi.vsphere.vmware.com"],
            byNode: new Map([
              ["a", []],
              ["b", ["csi.vsphere.vmware.com"]],
            ]),
          },
        },
      },
    },
    "The CSI driver csi.vsphere.vmware.com has not registered on 1 Node without a provider ID or with the taint node.cloudprovider.kubernetes.io/uninitialized: c.",
    "see NodesUninitialized",
  ],
  [
    "TolerationMissing",
    "error",
    {
      cluster: {
        workloads: {
          value: [workloadFact({ untolerated: ["node.cloudprovider.kubernetes.io/uninitialized"] })],
        },
      },
    },
    "DaemonSet kube-system/fake-cloud-controller-manager does not tolerate the taint node.cloudprovider.kubernetes.io/uninitialized.",
    "Add a toleration with key node.cloudprovider.kubernetes.io/uninitialized",
  ],
  [
    "TolerationMissing",
    "warning",
    { cluster: { workloads: { value: [workloadFact({ untolerated: ["node.kubernetes.io/not-ready"] })] } } },
    "does not tolerate node.kubernetes.io/not-ready.",
    "the command manifests prints",
  ],
  [
    "NoHostNetwork",
    "warning",
    { cluster: { workloads: { value: [workloadFact({ hostNetwork: false })] } } },
    "does not use the host network",
    "Set hostNetwork: true",
  ],
  [
    "WorkloadNeedsClusterDNS",
    "warning",
    { cluster: { workloads: { value: [workloadFact({ dnsPolicy: "ClusterFirstWithHostNet" })] } } },
    "has the dnsPolicy ClusterFirstWithHostNet",
    "Set dnsPolicy: Default.",
  ],
  [
    "WorkloadNotReady",
    "error",
    { cluster: { workloads: { value: [workloadFact({ ready: 0 })] } } },
    "has 0 ready of 3 desired pods",
    "kubectl -n kube-system describe daemonset fake-cloud-controller-manager",
  ],
  [
    "OtherManagerInstalled",
    "warning",
    {
      cluster: {
        workloads: {
          value: [
            workloadFact(),
            workloadFact({ isThisProgram: false, metadata: metaOf("aws-ccm", { namespace: "aws" }) }),
          ],
        },
      },
    },
    "Another cloud controller manager is installed: DaemonSet aws/aws-ccm.",
    "Scale it to 0 or delete it.",
  ],
  [
    "CloudSettingsInvalid",
    "error",
    failing("CloudSettingsInvalid"),
    "message of CloudSettingsInvalid",
    "Correct the setting",
  ],
  [
    "CloudAuthFailed",
    "error",
    failing("CloudAuthFailed"),
    "message of CloudAuthFailed",
    "valid cloud credentials",
  ],
  [
    "CloudPermissionMissing",
    "error",
    failing("CloudPermissionMissing"),
    "message of CloudPermissionMissing",
    "permission to list",
  ],
  [
    "CloudThrottled",
    "error",
    failing("CloudThrottled"),
    "message of CloudThrottled",
    "find the other programs that use this account",
  ],
  [
    "CloudUnavailable",
    "error",
    failing("CloudUnavailable"),
    "message of CloudUnavailable",
    "Check the endpoint",
  ],
  [
    "CloudUnavailable",
    "error",
    failing("CloudUnavailable", 503),
    "message of CloudUnavailable",
    "Read the cloud's status page.",
  ],
  [
    "CloudUnavailable",
    "error",
    failing("CloudUnavailable", 404),
    "message of CloudUnavailable",
    "Check the endpoint",
  ],
  [
    "CloudUnavailable",
    "error",
    failing("CloudUnavailable", undefined, true),
    "message of CloudUnavailable",
    "Correct the server's certificate, or the settings for it",
  ],
  [
    "CloudSettingsQuestionable",
    "warning",
    {
      cloud: {
        origins: [],
        clock: undefined,
        failures: [],
        warnings: ["the certificate is not verified"],
        hasMachines: true,
      },
    },
    "the certificate is not verified",
    "Correct the setting",
  ],
  [
    "RefusedByCloud",
    "error",
    failing("RefusedByCloud", 404),
    "message of RefusedByCloud",
    "Correct the setting that the message names; docs/fake-cloud.md describes the settings of this cloud.",
  ],
  [
    "NoMachineInCloud",
    "error",
    { cloud: { origins: [], clock: undefined, failures: [], hasMachines: false } },
    "The cloud lists no machine, and 1 Node has a provider ID: worker-1.",
    "credentials, which it accepts, belong to another account",
  ],
  [
    "ObserverHoldsLease",
    "error",
    { cluster: { lease: { value: { ...lease, holder: "m1_a-observe" } } } },
    "m1_a-observe holds the Lease kube-system/cloud-controller-manager with --mode=observe",
    "Restart it without --mode=observe",
  ],
  [
    "TwoManagersLead",
    "error",
    {
      cluster: {
        otherLeases: { value: [{ name: "go", holder: "m2_b", program: "hcloud-cloud-controller-manager" }] },
      },
    },
    "worker-1_a (fake-cloud-controller-manager) holds the Lease kube-system/cloud-controller-manager; m2_b (hcloud-cloud-controller-manager) holds the Lease kube-system/go.",
    "Stop all but one",
  ],
  [
    "TwoManagersLead",
    "error",
    { args: ["--leader-elect=false"] },
    "worker-1_a renews the Lease kube-system/cloud-controller-manager, and a manager with --leader-elect=false does not wait for it.",
    "Remove --leader-elect=false, so that only one manager leads, or stop the other manager.",
  ],
  [
    "PodCIDROutsideCluster",
    "error",
    {
      args: ["--cluster-cidr=10.99.0.0/16"],
      cluster: { nodes: { value: [nodeFact("a", { podCIDRs: ["10.244.1.0/24"] })] } },
    },
    "No pod CIDR of the Nodes is inside --cluster-cidr=10.99.0.0/16: 10.244.1.0/24.",
    "Set --cluster-cidr to the pod ranges of the cluster.",
  ],
  // Another manager of the same program.
  ...["hcloud-cloud-controller-manager", "fake-cloud-controller-manager"].map(
    (program) =>
      [
        "OtherManagerLeads",
        "error",
        {
          cluster: {
            lease: { value: undefined },
            otherLeases: { value: [{ name: "go", holder: "m2_b", program }] },
          },
        },
        `m2_b (${program}) leads: it holds the Lease kube-system/go`,
        "Stop all but one",
      ] as const,
  ),
  [
    "CloudNeedsClusterDNS",
    "warning",
    {
      cloud: {
        origins: ["http://cloud.infra.svc.cluster.local"],
        clock: undefined,
        failures: [],
        hasMachines: true,
      },
    },
    "is cloud.infra.svc.cluster.local, a name that only cluster DNS resolves",
    "in the cloud settings",
  ],
  [
    "ClockSkew",
    "warning",
    { cluster: { clock: { server: "https://10.0.0.5:6443", aheadMs: 45_000 } } },
    "is 45s behind the clock of https://10.0.0.5:6443",
    "Synchronize the clocks",
  ],
  [
    "ClockSkew",
    "error",
    {
      cloud: {
        origins: [],
        clock: { server: "https://api.fake.example", aheadMs: -400_000 },
        failures: [],
        hasMachines: true,
      },
    },
    "is 400s ahead of the clock of https://api.fake.example",
    "Synchronize the clocks",
  ],
  [
    "PortInUse",
    "warning",
    { ports: [{ flag: "secure-port", port: 10258, listener: "other" }] },
    "Port 10258 of this machine (--secure-port) is in use",
    "set --secure-port to a free port",
  ],
  [
    "PortInUse",
    "error",
    {
      cluster: { lease: { value: undefined } },
      ports: [{ flag: "secure-port", port: 10258, listener: "other" }],
    },
    "Port 10258 of this machine (--secure-port) is in use",
    "set --secure-port to a free port",
  ],
];

/** Reasons that only doctor reports; every other reason is in docs/events.md. */
const documented = (reason: string, events: string, commands: string): boolean =>
  events.includes(`\`${reason}\``) ||
  commands.slice(commands.indexOf("\n## doctor"), commands.indexOf("\n## lint")).includes(`\`${reason}\``);

describe("doctor", () => {
  test.each([
    ["an error after the leader took the Lease", "2026-01-01T11:50:00Z", {}, ["error"]],
    ["an error in the second in which the leader took the Lease", "2026-01-01T11:55:00.9Z", {}, ["error"]],
    ["nothing before the leader took the Lease", "2026-01-01T11:58:00Z", {}, []],
    ["a warning while no manager leads", "2026-01-01T11:58:00Z", { isExpired: true }, ["warning"]],
  ])("doctor reports a rejected request in an old event as %s [N7]", (_, acquireTime, more, severities) => {
    const value = { ...lease, renewTime: acquireTime, acquireTime, ...more };
    const found = findingsOf({ cluster: { refusals: refusedFor(minutes(5)), lease: { value } } });
    expect(
      found.flatMap(({ reason, severity }): string | [] => (reason === "KubernetesRefused" ? severity : [])),
    ).toEqual(severities);
  });

  test("doctor recommends the command rbac only for a permission that rbac grants with these flags [N7]", () => {
    const refusals = (what: string) => ({
      value: { found: [{ object: "Node a", user: "limited", what, age: seconds(30) }], isCut: false },
    });
    const fixOf = (what: string) => findingsOf({ cluster: { refusals: refusals(what) } })[0]?.remedy;
    expect(fixOf("patch nodes")).toContain(" rbac ");
    for (const what of ["get secrets", "list persistentvolumeclaims", "delete leases.coordination.k8s.io"])
      expect(fixOf(what)).toBe(
        `Check which program runs as this user. A manager with these flags needs no permission to ${what}. If the manager has more flags, such as --controllers, pass the same flags to doctor.`,
      );
  });

  test("docs/events.md or docs/commands.md describes every reason that doctor reports [N7]", async () => {
    const read = (path: string): Promise<string> =>
      Bun.file(new URL(`../../../${path}`, import.meta.url)).text();
    const [events, commands] = await Promise.all([read("docs/events.md"), read("docs/commands.md")]);
    const sources = await Promise.all(
      [
        "inspect/doctor/check-cluster",
        "inspect/doctor/check-connections",
        "inspect/doctor/gather",
        "app/leadership/judge-leases",
      ].map((path) => read(`src/${path}.ts`)),
    );
    const reasons = sources.flatMap((source) =>
      [
        ...source.matchAll(
          /\b(?:(?:error|warning|unchecked|none|finding)(?:If)?\([^"{;]*|reason: )"([A-Z]\w+)"/g,
        ),
      ].map(([, reason = ""]) => reason),
    );
    expect(reasons.length).toBeGreaterThan(25);
    expect(reasons.filter((reason) => !documented(reason, events, commands))).toEqual([]);
  });

  test.each(["CloudAuthFailed", "CloudUnavailable", "RefusedByCloud", "CloudPermissionMissing"] as const)(
    "doctor states what keeps working during %s, with the current counts [N7]",
    (reason) => {
      expect(findingsOf(failing(reason)).map(({ effect }) => effect)).toEqual([whileFailing]);
    },
  );

  test("doctor shows the permissions of an administrator as unchecked [N7]", () => {
    const diagnosis = diagnose(factsWith({ cluster: { access: admin } }));
    expect(diagnosisText(diagnosis)).toContain("permissions:\n  not checked: PermissionsUnchecked\n");
    expect(diagnosisExitCode(diagnosis)).toBe(4);
  });

  test.each(cases)("doctor reports %s as %s [N7 S14]", (reason, severity, changes, problem, fix) => {
    const found = findingsOf(changes).filter((each) => each.reason === reason);
    expect(found).toHaveLength(1);
    expect(found[0]?.severity).toBe(severity);
    expect(found[0]?.text).toContain(problem);
    expect(found[0]?.remedy).toContain(fix);
  });

  test.each([
    ["a listener that is free", { ports: [{ flag: "secure-port", port: 10258, listener: "none" }] }],
    [
      "no leader with --leader-elect=false",
      { args: ["--leader-elect=false"], cluster: { lease: { value: undefined } } },
    ],
    [
      "an expired Lease with --leader-elect=false",
      { args: ["--leader-elect=false"], cluster: { lease: { value: { ...lease, isExpired: true } } } },
    ],
    [
      "a --cluster-cidr that holds some pod CIDRs, or that creates no routes",
      {
        args: ["--cluster-cidr=10.99.0.0/16", "--configure-cloud-routes=false"],
        cluster: { nodes: { value: [nodeFact("a", { podCIDRs: ["10.244.1.0/24"] })] } },
      },
    ],
    [
      "the second Lease of the same holder, as during a leader migration",
      {
        cluster: {
          otherLeases: {
            value: [{ name: "migration", holder: "worker-1_a", program: "fake-cloud-controller-manager" }],
          },
        },
      },
    ],
    [
      "a Node that --node-selector does not match",
      { cluster: { nodes: { value: [nodeFact("a", { isSelected: false, providerID: undefined })] } } },
    ],
    [
      "another manager without pods",
      { cluster: { workloads: { value: [workloadFact({ isThisProgram: false, desired: 0 })] } } },
    ],
    [
      "cluster DNS of a pod on the host network, which uses that of the host",
      { cluster: { workloads: { value: [workloadFact({ dnsPolicy: "ClusterFirst" })] } } },
    ],
  ] as const satisfies readonly (readonly [string, FactChanges])[])(
    "doctor does not report %s [N7]",
    (_, changes) => {
      expect(findingsOf(changes)).toEqual([]);
    },
  );

  test("doctor shows each unreadable part as unchecked, with exit code 4 [N7]", () => {
    const unread = { unread: "The API server returned 403 for list things." };
    const diagnosis = diagnose(
      factsWith({
        cluster: {
          lease: unread,
          nodes: unread,
          pods: unread,
          workloads: unread,
          signingRequests: unread,
          drivers: unread,
        },
      }),
    );
    expect(diagnosis.checks.filter(({ status }) => status === "unchecked")).toHaveLength(6);
    expect(diagnosisExitCode(diagnosis)).toBe(4);
    expect(diagnosisText(diagnosis)).toContain(
      "  not checked: NotReadable\n    Cannot read the Nodes: The API server returned 403 for list things.",
    );
    expect(diagnosisText(diagnosis)).toEndWith("Doctor: 0 errors, 0 warnings, 6 not checked.\n");
  });

  test("doctor reports an API server that does not answer once, and still checks the cloud [N7]", () => {
    const diagnosis = diagnose({
      ...factsWith(failing("CloudAuthFailed")),
      cluster: { unread: "no answer", otherServer: undefined },
    });
    expect(diagnosis.checks.map(({ name, status }) => `${name}: ${status}`)).toEqual([
      "API server: error",
      "cloud: error",
      "clocks: unchecked",
      "ports: ok",
      "deprecations: ok",
    ]);
    expect(diagnosisExitCode(diagnosis)).toBe(3);
  });

  test("doctor names the identity whose permissions were checked, and how to check another identity [N7]", () => {
    expect(diagnosisText(diagnose(factsWith()))).toContain(
      "permissions: ok\n    of system:serviceaccount:kube-system:fairlead\n",
    );
    const value = { subject: "ccm", isOfWorkload: false, isAdmin: false, refused: [] };
    expect(diagnosisText(diagnose(factsWith({ cluster: { access: { value } } })))).toMatch(
      /permissions: ok\n {4}of ccm, the user of this kubeconfig\. If the manager runs elsewhere as another user, pass its\s+--kubeconfig\.\nLease/,
    );
  });

  test("doctor shows the problem, its effect and the remedy of each finding [N7]", () => {
    const nodes = { value: [nodeFact("a", { providerIDWriter: "kube-controller-manager" })] };
    const text = diagnosisText(diagnose(factsWith({ cluster: { nodes } })));
    expect(text).toContain(
      [
        "Nodes and kubelets:",
        "  warning: ProviderIDsOfInTreeCloud",
        "    kube-controller-manager wrote the provider ID of 1 Node: a. It ran, or still runs, the loops of",
        "    a cloud.",
        "    If it still runs them, both managers initialize and delete Nodes, and create load balancers.",
        "    Fix: Check that kube-controller-manager runs with --cloud-provider=external or without the flag.",
      ].join("\n"),
    );
  });
});

describe("load balancer classes", () => {
  const ofClass = (name: string, loadBalancerClass: string | undefined, ip?: string) => ({
    metadata: metaOf(name, { namespace: "default", creationTimestamp: "2026-01-01T10:00:00Z" }),
    spec: { type: "LoadBalancer", ...(loadBalancerClass !== undefined && { loadBalancerClass }) },
    status: ip === undefined ? {} : { loadBalancer: { ingress: [{ ip }] } },
  });
  const textsOf = (args: readonly string[], ...ofOthers: readonly ReturnType<typeof ofClass>[]) =>
    findingsOf({ args, cluster: { services: { value: { served: [], ofOthers } } } }).map(
      ({ severity, text, effect }) => `${severity}: ${text} ${effect}`,
    );

  test("doctor names a class that no controller serves, and the classes of this manager [F105 N7]", () => {
    const args = ["--load-balancer-class=example.com/shop", "--load-balancer-class-only"];
    const waiting = [ofClass("a", "example.com/typo"), ofClass("b", "example.com/typo")];
    expect(textsOf(args, ...waiting, ofClass("c", "metallb"), ofClass("d", "metallb", "192.0.2.1"))).toEqual([
      'warning: 2 Services with loadBalancerClass "example.com/typo" have had no address for more than 15 minutes, and no other Service with it has one: default/a, default/b. Probably no controller serves them. This manager serves only the class "example.com/shop".',
    ]);
    expect(textsOf(args, ofClass("a", undefined))).toEqual([
      expect.stringContaining("1 Service with no loadBalancerClass has had no address"),
    ]);
  });

  test("doctor does not report the class of a new Service [F105 N7]", () => {
    const young = ofClass("a", "example.com/other");
    const metadata = { ...young.metadata, creationTimestamp: "2026-01-01T11:59:00Z" };
    expect(textsOf([], { ...young, metadata })).toEqual([]);
  });

  test("a manager of some classes may lead beside another manager, unless it runs other controllers [F105 N7]", () => {
    const program = "hcloud-cloud-controller-manager";
    const besides = { otherLeases: { value: [{ name: "go", holder: "m2_b", program }] } };
    const reasonsOf = (...args: readonly string[]) =>
      findingsOf({ args, cluster: besides }).map(({ reason }) => reason);
    const classes = ["--load-balancer-class=example.com/shop", "--load-balancer-class-only"];
    expect(reasonsOf(...classes, "--controllers=service")).toEqual([]);
    expect(reasonsOf(...classes)).toEqual(["TwoManagersLead"]);
    expect(reasonsOf("--controllers=service")).toEqual(["TwoManagersLead"]);
  });
});
