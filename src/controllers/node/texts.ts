// Every event and problem that the node controller reports, as a function of the related objects. Pure; messages
// marked "upstream" begin exactly as in upstream.

import type { Answer, UnansweredSource } from "../../cloud/inventory/instances.ts";
import { textOf } from "../../core/error-message.ts";
import type { Problem } from "../../core/problem.ts";
import { shortList, withoutFullStop } from "../../core/text.ts";
import type { Node, NodeAddress } from "../../kube/objects.ts";
import { CloudError } from "../../provider/errors.ts";
import type { Instance, InstanceAddress, MatchKey, UnreadableSource } from "../../provider/instances.ts";
import type { ForeignMatch } from "../foreign-nodes.ts";
import { describeUnnamed, isUninitialized, providerIDOf } from "../node-facts.ts";
import { pausedAnnotation, providedNodeIP, uninitializedTaint } from "../well-known.ts";
import type { UncertainMatch } from "./observe.ts";

/** Upstream's message. */
export function nodeSynced(): Problem {
  return { severity: "notice", reason: "Synced", text: "Node synced successfully" };
}

const matchKeys = {
  id: "provider ID",
  name: "name",
  shortName: "name before the first dot",
  uuid: "system UUID",
  address: "IP address",
} as const satisfies Record<MatchKey, string>;

export function nothingToMatchBy({ metadata: { name } }: Node, matchBy: readonly MatchKey[]): Problem {
  const keys = matchBy.map((key) => matchKeys[key]).join(" or ") || matchKeys.id;
  return {
    severity: "error",
    reason: "NothingToMatchBy",
    text: `This cloud finds instances by ${keys}, and Node ${JSON.stringify(name)} has none. The Node stays uninitialized until the kubelet reports one.`,
    remedy: `If it never does, set --provider-id on the kubelet.`,
  };
}

export function instanceNotFound(node: Node, matchBy: readonly MatchKey[]): Problem {
  const id = providerIDOf(node);
  const uuid = id === undefined && matchBy.includes("uuid") && node.status.nodeInfo?.systemUUID;
  const name = id === undefined ? `named ${JSON.stringify(node.metadata.name)}` : `with provider ID ${id}`;
  const instance = uuid ? `with system UUID ${uuid}` : name;
  return {
    severity: "error",
    reason: "NotFoundInCloud",
    text: `The cloud has no instance ${instance}, so the Node stays uninitialized. Fairlead keeps checking.`,
    remedy: uuid
      ? `Compare status.nodeInfo.systemUUID of the Node with the instances in the cloud, and check that the settings and the permissions of the credentials cover the location of the instance.`
      : `Compare the Node's name and provider ID with the cloud's, or set --provider-id on the kubelet.`,
  };
}

export function instanceWithoutName(node: Node, unnamed: Instance): Problem {
  const stays = isUninitialized(node) ? "stays uninitialized" : "is not updated";
  const text = `${describeUnnamed(unnamed)} The Node ${stays} until the cloud shows that name.`;
  return { severity: "error", reason: "NotFoundInCloud", text };
}

/** The machine with the provider ID of a joining Node has a different name, so it is not this Node's machine. */
export function instanceOfOtherName(node: Node, instance: Instance): Problem {
  return {
    severity: "error",
    reason: "NotFoundInCloud",
    text: `${describeName(node, instance)}, so it is used for something else. The Node stays uninitialized.`,
    remedy: `Give the instance the name of the Node; or correct --provider-id on the kubelet, delete the Node object and restart the kubelet, which registers the Node again.`,
  };
}

/** The Go managers' reason. */
function possibleNodeDeletion(node: Node, instance: Instance): Problem {
  return {
    severity: "warning",
    reason: "PossibleNodeDeletion",
    text: `${describeName(node, instance)}, so it is used for something else, and the Node counts as gone. Fairlead deletes the Node when it is not Ready and the cloud has confirmed this.`,
    remedy: `To keep the Node, give the instance its name again.`,
  };
}

function describeName({ metadata: { name } }: Node, { id, names }: Instance): string {
  return `Instance ${id} has the name ${JSON.stringify(names[0])}, not ${JSON.stringify(name)}`;
}

export function ambiguousMatch(
  node: Node,
  { by, candidates }: Extract<Answer, { kind: "ambiguous" }>,
): Problem {
  const sources = [...new Set(candidates.map(({ source }) => source))];
  const instances = candidates
    .map(
      ({ instance: { id, names }, source }) =>
        `${id} (${names[0] ?? "no name"})${sources.length > 1 ? ` in ${source}` : ""}`,
    )
    .join(", ");
  const isNew = isUninitialized(node);
  const effect = isNew
    ? "The Node stays uninitialized."
    : "The Node is neither updated nor deleted while several match.";
  const isOneID = new Set(candidates.map(({ instance }) => instance.key)).size === 1;
  const remedy = isOneID
    ? `If ${sources.join(" and ")} list the same instances, remove one of them from the cloud settings.`
    : `Give the instances different names${isNew ? ", or set --provider-id on the kubelet" : ""}.`;
  return {
    severity: "error",
    reason: "AmbiguousMatch",
    text: `Several instances match Node ${JSON.stringify(node.metadata.name)} by ${matchKeys[by]}: ${instances}. ${effect}`,
    remedy,
  };
}

/** A machine runs one kubelet, so one of the two Nodes has a different machine, or no longer exists. */
export function providerIDInUse({ id, title }: Instance, { metadata: { name } }: Node): Problem {
  return {
    severity: "error",
    reason: "ProviderIDInUse",
    text: `Instance ${title} matches, but Node ${JSON.stringify(name)} has its provider ID ${id}. The Node stays uninitialized.`,
    remedy: `If the kubelet of ${JSON.stringify(name)} registers under a different name now, delete that Node object. Otherwise compare the names and system UUIDs of both Nodes with the cloud; if ${JSON.stringify(name)} has the wrong provider ID, delete it and restart its kubelet.`,
  };
}

/** Why the instance of an initialized Node is unknown although the cloud has answered. */
export function uncertainInstance(node: Node, answer: Answer): Problem | undefined {
  if (answer.kind === "ambiguous") return ambiguousMatch(node, answer);
  if (answer.kind !== "gone") return undefined;
  const { renamed, undescribed } = answer;
  return (
    (renamed && possibleNodeDeletion(node, renamed)) ??
    (undescribed && instanceWithoutName(node, undescribed))
  );
}

export function unconfirmedMatch(
  { metadata: { name } }: Node,
  { match, waitsFor }: Pick<UncertainMatch, "match" | "waitsFor">,
): Problem {
  return {
    severity: "error",
    reason: "UnconfirmedMatch",
    // The error may contain the time until the next attempt.
    identity: `UnconfirmedMatch ${match.instance.id} ${waitsFor.map(kindOfWait).join()}`,
    text: `Instance ${match.instance.id} in ${match.source} matches Node ${JSON.stringify(name)}, but there may be another match: ${describeWait(waitsFor)}. The Node stays uninitialized until all sources have answered.`,
    remedy: `To limit this wait, set --node-match-timeout, or set --provider-id on the kubelet.`,
  };
}

export function unconfirmedMatchUsed({
  match,
  waitsFor,
}: Pick<UncertainMatch, "match" | "waitsFor">): Problem {
  return {
    severity: "warning",
    reason: "UnconfirmedMatchUsed",
    text: `The Node got provider ID ${match.instance.id} of ${match.source} without knowing whether there is another match: ${describeWait(waitsFor)}. The wait ended because of --node-match-timeout.`,
    remedy: `If the provider ID is wrong, delete the Node object and restart its kubelet, which registers the Node again.`,
  };
}

function kindOfWait({ source, failure }: UnansweredSource): string {
  if (failure === undefined) return `${source} silent`;
  return `${source} ${CloudError.is(failure.error) ? failure.error.kind : textOf(failure.error)}`;
}

function describeWait(waitsFor: readonly UnansweredSource[]): string {
  return waitsFor
    .map(({ source, failure }) =>
      failure === undefined
        ? `source ${source} has not answered yet`
        : `source ${source} did not answer (${withoutFullStop(textOf(failure.error))})`,
    )
    .join(", ");
}

export function pausedNode(node: Node): Problem {
  const taint = isUninitialized(node) ? " It stays uninitialized until then." : "";
  return {
    severity: "notice",
    reason: "Paused",
    text: `Paused by ${pausedAnnotation}: Fairlead changes neither the Node nor its routes, and does not delete it. It stays a load balancer target.`,
    remedy: `Remove the annotation to continue.${taint}`,
  };
}

/** An uninitialized Node of another cloud: no pods can run on it until another manager removes the taint. */
export function foreignProviderID({ spec: { providerID } }: Node): Problem {
  return {
    severity: "hint",
    reason: "ForeignProviderID",
    text: `Provider ID ${providerID} belongs to another cloud, so Fairlead neither initializes nor deletes the Node.`,
    remedy: `The cloud-controller-manager of that cloud must remove the taint ${uninitializedTaint}. If the Node does belong to this cloud, correct --provider-id on the kubelet, delete the Node object and restart the kubelet, which registers the Node again.`,
  };
}

export function foreignNode({ spec: { providerID } }: Node): Problem {
  return {
    severity: "notice",
    reason: "ForeignNode",
    text: `Provider ID ${providerID} belongs to another cloud, so Fairlead neither updates nor deletes the Node.`,
    isQuiet: true,
  };
}

/** The match of a k3s or RKE2 Node with --foreign-nodes=targets. */
export function foreignMatch(
  node: Node,
  match: Exclude<ForeignMatch, { readonly kind: "awaited" }>,
): Problem {
  const id = `Provider ID ${node.spec.providerID} was set by k3s or RKE2, so Fairlead does not initialize, taint or delete the Node, and creates no routes to it.`;
  if (match.kind === "matched") {
    const { title, key } = match.instance;
    const text = `${id} Its name identifies the instance ${title} (${key}). The Node is a load balancer target and gets its missing labels.`;
    return { severity: "notice", reason: "ForeignNodeMatched", text, isQuiet: true };
  }
  return {
    severity: "hint",
    reason: "ForeignNodeUnmatched",
    text: `${id} It is not a load balancer target, because ${match.why}.`,
    remedy: `Give the instance the name of the Node, and set --node-ip or --node-external-ip of k3s or RKE2 to an address that the cloud reports. A Node outside this cloud can stay as it is.`,
  };
}

/** The settings give no access to the instance, so only its provider id is known. */
export function instanceUnreadable(
  node: Node,
  { name, because }: Pick<UnreadableSource, "name" | "because">,
): Problem {
  const [why, effect] =
    because === undefined
      ? ["to which the cloud settings give no access", " It is a load balancer target."]
      : [because, ""];
  const text = `Provider ID ${node.spec.providerID} is of source ${name}, ${why}. Fairlead does not initialize, update or delete the Node, and creates no routes to it.${effect}`;
  const reason = "InstanceUnreadable";
  if (!isUninitialized(node)) return { severity: "notice", reason, text, isQuiet: true };
  const whatToDo = `Another program must remove the taint ${uninitializedTaint}.`;
  const access = because === undefined ? " To let Fairlead manage the Node, configure the access." : "";
  return { severity: "hint", reason, text: `${text} ${whatToDo}${access}` };
}

export function noAddressLeft({ metadata: { name } }: Node, cloud: readonly InstanceAddress[]): Problem {
  const addresses = cloud.map(({ value }) => value).join(", ");
  return {
    severity: "error",
    reason: "NoAddressLeft",
    text: `The address policy excludes all addresses that the cloud reports for Node ${name}: ${addresses}. The Node keeps its current addresses.`,
    remedy: `Correct --node-address-include, --node-address-exclude or --node-address-families.`,
  };
}

/** Begins like upstream's message. */
export function nodeIPMismatch(
  { metadata: { name } }: Node,
  requested: string,
  wrong: string,
  cloud: readonly NodeAddress[],
): Problem {
  const addresses = cloud.map(({ address }) => address).join(", ") || "none";
  return {
    severity: "error",
    reason: "NodeIPMismatch",
    key: providedNodeIP,
    text: `provided node ip for node ${JSON.stringify(name)} is not valid: ${wrong}. The kubelet requests ${JSON.stringify(requested)}, and the cloud reports ${addresses}.`,
    remedy: `Correct --node-ip on the kubelet.`,
  };
}

/** An InternalIP of the Node that is not written again. The reason comes from Hetzner's Go manager. */
export function misconfiguredInternalIP(address: string, why: string): Problem {
  return {
    severity: "warning",
    reason: "MisconfiguredInternalIP",
    text: `The Node loses its InternalIP ${address}, because ${why}.`,
    remedy: `Correct --node-ip on the kubelet, or the address family in the cloud settings.`,
  };
}

export function labelDiffers(key: string, present: string, desired: string): Problem {
  return {
    severity: "warning",
    reason: "LabelDiffers",
    key,
    text: `Label ${key} is ${JSON.stringify(present)}, but the cloud reports ${JSON.stringify(desired)}. Fairlead does not change it, because volumes and scheduling may depend on it.`,
    remedy: `Correct it by hand, or set --label-policy=${key}=sync.`,
  };
}

/** Cloud users choose the keys, so the text is limited. The problem is reported once, however often the keys change. */
export function cloudLabelsSkipped(keys: readonly string[]): Problem {
  const list = shortList(keys.map((key) => JSON.stringify(key)));
  return {
    severity: "warning",
    reason: "CloudLabelsSkipped",
    identity: "CloudLabelsSkipped",
    text: `The Node does not get these labels of its machine, which --node-labels-from names: ${list}. A label must be valid in Kubernetes, and must not belong to Kubernetes or to the provider. A Node gets at most 32.`,
    remedy: `Correct them in the cloud, or name other labels in --node-labels-from.`,
  };
}

export function cloudTaintsSkipped(keys: readonly string[]): Problem {
  const list = shortList(keys.map((key) => JSON.stringify(key)));
  return {
    severity: "warning",
    reason: "CloudTaintsSkipped",
    identity: "CloudTaintsSkipped",
    text: `The Node does not get these labels of its machine as taints, although their keys begin with --node-taints-from: ${list}. Their value must be NoSchedule or PreferNoSchedule, or a value, a dot or colon, and one of these. Their key must be valid in Kubernetes, and must not belong to Kubernetes, the provider or an autoscaler. A Node gets at most 32.`,
    remedy: `Correct them in the cloud.`,
  };
}
