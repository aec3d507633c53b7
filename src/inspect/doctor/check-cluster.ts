// The checks of the cluster: the Lease, kubelets and Nodes, kube-controller-manager, serving certificates, and the workload of the
// manager. Pure.

import { servesOnlyClasses } from "../../app/flags/controller-settings.ts";
import {
  besideLeader,
  judgeLease,
  judgeSeveral,
  type LeaseLeader,
  severalTexts,
} from "../../app/leadership/judge-leases.ts";
import { clusterNameText } from "../../app/leadership/lease-cluster-name.ts";
import { isObserver } from "../../app/leadership/replica-identity.ts";
import { leaseOf } from "../../app/permissions.ts";
import { isOfDistribution } from "../../controllers/foreign-nodes.ts";
import { isInsideCluster, readClusterCIDRs } from "../../controllers/route/desired/cluster-cidrs.ts";
import { addressesOf } from "../../controllers/service/status/status.ts";
import { uninitializedTaint } from "../../controllers/well-known.ts";
import { minutes } from "../../core/brand.ts";
import { parseCidr } from "../../core/cidr.ts";
import { commandText, countOf, shortList } from "../../core/text.ts";
import {
  type CheckFinding,
  type CloudFacts,
  error,
  errorIf,
  type KnownFacts,
  unchecked,
  warning,
  warningIf,
} from "./doctor-facts.ts";
import type { ClusterFacts, Read } from "./gather-cluster.ts";
import type { NodeFact, PodFact, WorkloadFact } from "./raw-objects.ts";

const namesOf = (objects: readonly { readonly metadata: { readonly name: string } }[]): string =>
  shortList(objects.map(({ metadata }) => metadata.name));

/** The findings about a fact; if it could not be read, one finding with the reason. */
export function about<T>(
  what: string,
  fact: Read<T>,
  check: (value: T) => readonly CheckFinding[],
): readonly CheckFinding[] {
  if ("value" in fact) return check(fact.value);
  return unchecked("NotReadable", {
    text: `Cannot read ${what}: ${fact.unread}`,
    effect: "Problems with it are not found.",
    remedy: "Run doctor with a kubeconfig that may read it.",
  });
}

/** Problems that keep a manager from starting or from leading. */
const stopping: ReadonlySet<string> = new Set([
  ...["PortInUse", "CloudSettingsInvalid", "WorkloadNotReady", "TolerationMissing", "PermissionMissing"],
]);

/** Undefined if no Lease shows it, because the Lease cannot be read or is not used. */
export function leadershipOf({ cluster: { lease }, ...asker }: KnownFacts): LeaseLeader | undefined {
  return "value" in lease && asker.flags["leader-elect"] ? judgeLease(lease.value, asker) : undefined;
}

export function checkLease(facts: KnownFacts, others: readonly CheckFinding[]): readonly CheckFinding[] {
  const { flags, cluster } = facts;
  const causes = [...new Set(others.map(({ reason }) => reason))].filter((reason) => stopping.has(reason));
  const first = causes.length === 0 ? "" : `First fix what else is reported here: ${causes.join(", ")}. `;
  const isElecting = flags["leader-elect"];
  if (!isElecting && "unread" in cluster.lease) return [];
  return about(`the Lease ${leaseOf(flags).namespace}/${leaseOf(flags).name}`, cluster.lease, (lease) => {
    if (!isElecting) {
      const { holder = "", isExpired } = lease ?? {};
      const beside = besideLeader(holder, flags);
      return errorIf(holder !== "" && isExpired !== true && !isObserver(holder), beside.reason, beside);
    }
    const leader = leadershipOf(facts);
    const { kind, found } = leader ?? {};
    if (found === undefined) return otherClusterName(facts, leader);
    return error(found.reason, kind === "none" ? { ...found, remedy: first + found.remedy } : found);
  });
}

/** Compares --cluster-name, if it is set here, with the name that the leader wrote to its Lease. */
function otherClusterName({ given }: KnownFacts, leader: LeaseLeader | undefined): readonly CheckFinding[] {
  const { holder = "", clusterName: ofLeader } = leader ?? {};
  const { "cluster-name": here } = given;
  if (here === undefined || ofLeader === undefined) return [];
  return warningIf(ofLeader !== here, "ClusterNameDiffers", {
    text: `The leader ${holder} has --cluster-name=${clusterNameText(ofLeader)}, and doctor has ${clusterNameText(here)}.`,
    effect:
      "Where marks name the cluster, commands with these settings, such as explain and cleanup, take the load balancers of the leader for load balancers of another cluster. The manager is not affected.",
    remedy:
      "Run doctor with the --cluster-name of the leader. If the leader has the wrong one, restart all replicas with the right one.",
  });
}

export function checkOtherLeases(facts: KnownFacts): readonly CheckFinding[] {
  const { cluster, flags } = facts;
  const own =
    "value" in cluster.lease && leadershipOf(facts)?.kind !== "none" ? cluster.lease.value : undefined;
  return about("the Leases", cluster.otherLeases, (others) => {
    const found = judgeSeveral([own ?? [], others].flat(), flags);
    if (found !== undefined) return error(found.reason, found);
    const [alone] = others.filter(({ holder }) => holder !== own?.holder);
    if (alone === undefined || servesOnlyClasses(flags)) return [];
    const of = alone.program === undefined ? "" : ` (${alone.program})`;
    const text = `${alone.holder}${of} leads: it holds the Lease ${leaseOf(flags).namespace}/${alone.name}.`;
    const effect = `A manager with the Lease ${leaseOf(flags).name} would lead at the same time. ${severalTexts.effect}`;
    return error("OtherManagerLeads", { ...severalTexts, text, effect });
  });
}

/** Counts the objects that work even without a leader. */
export function countsOf({ nodes, services }: Pick<ClusterFacts, "nodes" | "services">): string {
  const texts: string[] = [];
  if ("value" in nodes) {
    const selected = nodes.value.filter(({ isSelected }) => isSelected);
    const done = selected.filter(({ isUninitialized }) => !isUninitialized).length;
    texts.push(`${done} of ${countOf(selected.length, "Node")} ${done === 1 ? "is" : "are"} initialized`);
  }
  if ("value" in services) {
    const served = services.value.served.filter((service) => addressesOf(service).length > 0).length;
    texts.push(
      `${served} of ${countOf(services.value.served.length, "Service")} of type LoadBalancer ${served === 1 ? "has" : "have"} an address`,
    );
  }
  return texts.length === 0 ? "" : `Now ${texts.join(", and ")}.`;
}

/** A joining Node is normally initialized within seconds. */
const patience = minutes(5);

function ageOf({ metadata }: NodeFact, now: number): number {
  return now - Date.parse(metadata.creationTimestamp ?? "");
}

function withoutExternalCloud(nodes: readonly NodeFact[]): readonly CheckFinding[] {
  const found = nodes.filter(
    ({ isSelected, isUninitialized, providerID }) =>
      isSelected && !isUninitialized && providerID === undefined,
  );
  return errorIf(found.length > 0, "KubeletWithoutExternalCloud", {
    text: `${countOf(found.length, "Node")} ${found.length === 1 ? "has" : "have"} neither a provider ID nor the taint ${uninitializedTaint}: ${namesOf(found)}. The kubelet registered without --cloud-provider=external, or the taint was removed by hand.`,
    effect:
      "The manager initializes only Nodes with the taint, so these never get a provider ID, and volumes and load balancers that need it fail.",
    remedy: `Set --cloud-provider=external on the kubelet, delete the Node object, and restart the kubelet. Without a restart: ${commandText(`kubectl taint node NAME ${uninitializedTaint}=true:NoSchedule`)}`,
  });
}

function uninitialized(nodes: readonly NodeFact[], facts: KnownFacts): readonly CheckFinding[] {
  const { program, cluster } = facts;
  const { kind, found: noLeader } = leadershipOf(facts) ?? {};
  const all = nodes.filter((node) => node.isSelected && node.isUninitialized);
  if (all.length > 0 && kind === "none")
    return error("NodesUninitialized", {
      text: `${countOf(all.length, "Node")} ${all.length === 1 ? "has" : "have"} the taint ${uninitializedTaint}, and no manager leads: ${namesOf(all)}.`,
      effect: "Pods without a toleration for it, such as cluster DNS, are not scheduled there.",
      remedy: `See ${noLeader?.reason}.`,
    });
  const found = all.filter((node) => ageOf(node, cluster.now) > patience);
  return errorIf(found.length > 0, "NodesUninitialized", {
    text: `${countOf(found.length, "Node")} older than 5 minutes still ${found.length === 1 ? "has" : "have"} the taint ${uninitializedTaint}: ${namesOf(found)}.`,
    effect: "Pods without a toleration for it, such as cluster DNS, are not scheduled there.",
    remedy: `For the reason, run: ${program} explain node ${found[0]?.metadata.name ?? "NAME"}`,
  });
}

const inTreeWriter = "kube-controller-manager";

function writtenInTree(nodes: readonly NodeFact[]): readonly CheckFinding[] {
  const found = nodes.filter(({ providerIDWriter }) => providerIDWriter === inTreeWriter);
  return warningIf(found.length > 0, "ProviderIDsOfInTreeCloud", {
    text: `${inTreeWriter} wrote the provider ID of ${countOf(found.length, "Node")}: ${namesOf(found)}. It ran, or still runs, the loops of a cloud.`,
    effect: "If it still runs them, both managers initialize and delete Nodes, and create load balancers.",
    remedy: `Check that ${inTreeWriter} runs with --cloud-provider=external or without the flag.`,
  });
}

/** The provider ID of a Node never changes, so the flags must be set before it registers. */
function ofDistribution(nodes: readonly NodeFact[], facts: KnownFacts): readonly CheckFinding[] {
  const found = nodes.filter((node) => node.isSelected && isOfDistribution(node.providerID));
  const isIgnored = facts.flags["foreign-nodes"] === "ignore";
  return warningIf(found.length > 0 && isIgnored, "NodesOfDistribution", {
    text: `${countOf(found.length, "Node")} ${found.length === 1 ? "has" : "have"} the provider ID of k3s or RKE2: ${namesOf(found)}. The cloud controller manager inside k3s or RKE2 initialized ${found.length === 1 ? "it" : "them"}.`,
    effect:
      "The manager leaves them alone. They are not load balancer targets, and get no labels and routes.",
    remedy: `Start every server of k3s or RKE2 with --disable-cloud-controller, and every server and agent with --kubelet-arg=cloud-provider=external. Then delete each of these Node objects, and restart k3s or RKE2 on its machine. Or keep them as they are, and set --foreign-nodes=targets on the manager.`,
  });
}

const minorOf = (version: string): number => Number(/^v?\d+\.(\d+)/.exec(version)?.[1] ?? Number.NaN);

function newerKubelets(
  nodes: readonly NodeFact[],
  { gitVersion, minor }: ClusterFacts,
): readonly CheckFinding[] {
  const found = nodes.filter(({ kubeletVersion }) => minorOf(kubeletVersion) > minor);
  return warningIf(found.length > 0, "KubeletNewerThanApiServer", {
    text: `The kubelet of ${countOf(found.length, "Node")} is newer than the API server (${gitVersion}): ${namesOf(found)}.`,
    effect: "Kubernetes does not support it: kubelet requests may fail.",
    remedy: "Upgrade the control plane first.",
  });
}

function withoutMachines(
  nodes: readonly NodeFact[],
  { hasMachines, failures }: CloudFacts,
  counts: string,
): readonly CheckFinding[] {
  const known = nodes.filter(({ isSelected, providerID }) => isSelected && providerID !== undefined);
  if (hasMachines || failures.length > 0 || known.length === 0) return [];
  return error("NoMachineInCloud", {
    text: `The cloud lists no machine, and ${countOf(known.length, "Node")} ${known.length === 1 ? "has" : "have"} a provider ID: ${namesOf(known)}.`,
    effect: `No Node is deleted: the mass limit keeps those that are not Ready. New Nodes keep their taint. ${counts}`,
    remedy:
      "Check in the cloud console whether these machines exist. If they do, the cloud is wrong, or its credentials, which it accepts, belong to another account or project: wait, or correct them. If they are gone, the event MassDeletionHeld of a Node says how to delete the Nodes.",
  });
}

function outsideCluster(nodes: readonly NodeFact[], facts: KnownFacts): readonly CheckFinding[] {
  const cluster = readClusterCIDRs(facts.flags["cluster-cidr"]);
  const ranges = nodes.flatMap(({ podCIDRs }) => podCIDRs.flatMap((text) => parseCidr(text, "sloppy") ?? []));
  if (!createsRoutes(facts) || cluster.kind === "skip" || ranges.length === 0) return [];
  const isAnyInside = ranges.some((range) => isInsideCluster(cluster.cidrs, range));
  return errorIf(!isAnyInside, "PodCIDROutsideCluster", {
    text: `No pod CIDR of the Nodes is inside --cluster-cidr=${cluster.cidrs.join(",")}: ${shortList(ranges)}.`,
    effect: "No route is created, and where the network of pods needs routes, pods do not reach each other.",
    remedy: "Set --cluster-cidr to the pod ranges of the cluster.",
  });
}

export function checkNodes(facts: KnownFacts): readonly CheckFinding[] {
  const { cluster, cloud } = facts;
  return about("the Nodes", cluster.nodes, (nodes) => [
    ...withoutMachines(nodes, cloud, countsOf(cluster)),
    ...withoutExternalCloud(nodes),
    ...uninitialized(nodes, facts),
    ...ofDistribution(nodes, facts),
    ...writtenInTree(nodes),
    ...newerKubelets(nodes, cluster),
    ...outsideCluster(nodes, facts),
  ]);
}

/** The value of a flag in a command line; undefined if it is not set. */
function flagOf({ args }: PodFact, name: string): string | undefined {
  const prefix = `--${name}=`;
  const last = args.findLast((arg) => arg.startsWith(prefix));
  return last?.slice(prefix.length);
}

const createsRoutes = ({ controllers, flags }: KnownFacts): boolean =>
  controllers.has("node-route") && flags["configure-cloud-routes"] && flags["cluster-cidr"] !== undefined;

/** Flags and gates that kube-controller-manager rejects since a Kubernetes minor version. */
const removedFlags = [
  { flag: "--concurrent-service-syncs", minor: 37, pattern: /^--concurrent-service-syncs(=|$)/ },
  {
    flag: "--feature-gates=SeparateTaintEvictionController",
    minor: 38,
    pattern: /^(--feature-gates=)?(\S+,)?SeparateTaintEvictionController=/,
  },
] as const;

function ofControllerManager(pod: PodFact, facts: KnownFacts): readonly CheckFinding[] {
  const { name } = pod.metadata;
  const manifest = `/etc/kubernetes/manifests/${inTreeWriter}.yaml`;
  const cloud = flagOf(pod, "cloud-provider") ?? "";
  const isUnallocated = createsRoutes(facts) && flagOf(pod, "allocate-node-cidrs") !== "true";
  const outdated = removedFlags.filter(({ pattern }) => pod.args.some((arg) => pattern.test(arg)));
  return [
    ...errorIf(cloud !== "" && cloud !== "external", "ControlPlaneRunsCloudLoops", {
      text: `${name} runs with --cloud-provider=${cloud}, so it runs the loops of a cloud.`,
      effect: "Both managers initialize and delete Nodes, and create load balancers and routes.",
      remedy: `Set --cloud-provider=external in ${manifest}.`,
    }),
    ...warningIf(isUnallocated, "PodCIDRsNotAllocated", {
      text: `${name} runs without --allocate-node-cidrs=true, and --cluster-cidr asks the manager for routes to pod CIDRs.`,
      effect: "Nodes get no pod CIDR, unless another program sets it, and no routes are created.",
      remedy: `Set --allocate-node-cidrs=true and --cluster-cidr in ${manifest}, or --configure-cloud-routes=false on the manager.`,
    }),
    ...outdated.flatMap(({ flag, minor }) =>
      warning("ControlPlaneFlagRemoved", {
        text: `${name} runs with ${flag}, which Kubernetes 1.${minor} removed from ${inTreeWriter}.`,
        effect: `From 1.${minor} on ${inTreeWriter} exits at the start: pod CIDRs are not allocated, EndpointSlices are not updated, and Nodes whose kubelet is silent stay Ready.`,
        remedy: `Remove it from ${manifest} before the upgrade to 1.${minor}.`,
      }),
    ),
  ];
}

export function checkControlPlane(facts: KnownFacts): readonly CheckFinding[] {
  return about("the pods of kube-system", facts.cluster.pods, (pods) =>
    pods
      .filter(({ metadata }) => metadata.labels?.["component"] === inTreeWriter)
      .flatMap((pod) => ofControllerManager(pod, facts)),
  );
}

export function checkServingCertificates({ cluster }: KnownFacts): readonly CheckFinding[] {
  return about("the CertificateSigningRequests", cluster.signingRequests, (requests) => {
    const found = requests.filter(({ isPending }) => isPending);
    const users = [...new Set(found.map(({ username }) => username))];
    return warningIf(found.length > 0, "ServingCertificatesWaiting", {
      text: `${countOf(found.length, "request")} for a serving certificate of a kubelet ${found.length === 1 ? "waits" : "wait"} for approval, from ${shortList(users)}.`,
      effect:
        "kubectl logs and exec, and metrics of these kubelets, fail where their certificate is verified.",
      remedy: `Compare names and addresses with kubectl describe csr, then run ${commandText(`kubectl certificate approve ${found[0]?.metadata.name ?? "NAME"}`)}. The controller kubelet-serving-csr approves such requests (docs/serving-certificates.md).`,
    });
  });
}

const usesClusterDNS = ({ hostNetwork, dnsPolicy }: WorkloadFact): boolean =>
  dnsPolicy === "ClusterFirstWithHostNet" || (dnsPolicy === "ClusterFirst" && !hostNetwork);

function ofWorkload(workload: WorkloadFact): readonly CheckFinding[] {
  const { kind, metadata, untolerated, hostNetwork, desired, ready } = workload;
  const name = `${kind} ${metadata.namespace}/${metadata.name}`;
  const others = untolerated.filter((key) => key !== uninitializedTaint);
  return [
    ...errorIf(untolerated.includes(uninitializedTaint), "TolerationMissing", {
      text: `${name} does not tolerate the taint ${uninitializedTaint}.`,
      effect: "In a new cluster no Node accepts the manager that would remove the taint from it.",
      remedy: `Add a toleration with key ${uninitializedTaint}, value "true" and effect NoSchedule.`,
    }),
    ...warningIf(others.length > 0, "TolerationMissing", {
      text: `${name} does not tolerate ${others.join(", ")}.`,
      effect:
        "It is not scheduled on control plane Nodes, or not before the network of pods works, which may wait for it.",
      remedy: "Add the tolerations that the command manifests prints.",
    }),
    ...warningIf(!hostNetwork, "NoHostNetwork", {
      text: `${name} does not use the host network.`,
      effect: "Its pods wait for the network of pods, which may wait for Nodes that the manager initializes.",
      remedy: "Set hostNetwork: true, unless the network of pods works on Nodes with the taint.",
    }),
    ...warningIf(usesClusterDNS(workload), "WorkloadNeedsClusterDNS", {
      text: `${name} has the dnsPolicy ${workload.dnsPolicy}, so names such as the cloud API's are resolved by cluster DNS.`,
      effect: "Cluster DNS runs on Nodes that the manager initializes. In a new cluster neither starts.",
      remedy: "Set dnsPolicy: Default.",
    }),
    ...errorIf(desired === 0 || ready === 0, "WorkloadNotReady", {
      text: `${name} has ${ready} ready of ${desired} desired pods.`,
      effect: "No manager of this workload leads.",
      remedy: `Run ${commandText(`kubectl -n ${metadata.namespace} describe ${kind.toLowerCase()} ${metadata.name}`)}.`,
    }),
  ];
}

export function checkWorkloads({ cluster, flags }: KnownFacts): readonly CheckFinding[] {
  return about("the DaemonSets and Deployments", cluster.workloads, (workloads) => {
    const own = workloads.filter(({ isThisProgram }) => isThisProgram);
    const others = workloads.filter(({ isThisProgram, desired }) => !isThisProgram && desired > 0);
    const findings = own.flatMap(ofWorkload);
    if (others.length === 0 || servesOnlyClasses(flags)) return findings;
    const names = others.map(({ kind, metadata }) => `${kind} ${metadata.namespace}/${metadata.name}`);
    return [
      ...findings,
      ...warning("OtherManagerInstalled", {
        text: `Another cloud controller manager is installed: ${shortList(names)}.`,
        effect: "Two managers with different Leases change the same Nodes and Services.",
        remedy:
          "Scale it to 0 or delete it. If it manages other Nodes on purpose, set --node-selector; if this one serves only some Services, --controllers=service and --load-balancer-class-only.",
      }),
    ];
  });
}
