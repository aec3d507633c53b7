// Decides whether a kubelet gets the serving certificate that it requests. The request must come from the kubelet of the
// Node, and contain only names and addresses that the inventory has for the instance. Pure.

import { ipFamily, isSameIp, parseIp } from "../../core/ip.ts";
import { shortList } from "../../core/text.ts";
import type { CertificateSigningRequest, Node } from "../../kube/objects.ts";
import type { Instance } from "../../provider/instances.ts";

/** The content of a well-formed request. */
export interface WellFormed {
  readonly commonNames: readonly string[];
  readonly organizations: readonly string[];
  readonly dnsNames: readonly string[];
  readonly addresses: readonly string[];
  /** Content that a kubelet never requests, as text. */
  readonly others: readonly string[];
}

/** The content of a request, or why it is not well-formed. */
export type RequestContent = WellFormed | { readonly malformed: string };

export type RequestDecision =
  | { readonly kind: "approve"; readonly message: string }
  | { readonly kind: "deny"; readonly message: string }
  /** The request is neither provably valid nor provably invalid. */
  | { readonly kind: "wait"; readonly message: string };

export const servingSigner = "kubernetes.io/kubelet-serving";
const userPrefix = "system:node:";
const nodesGroup = "system:nodes";

/** Undefined for a user that is not a kubelet. */
export function nodeOfRequest({ spec: { username = "" } }: CertificateSigningRequest): string | undefined {
  return username.startsWith(userPrefix) ? username.slice(userPrefix.length) : undefined;
}

export const isPending = ({ spec, status }: CertificateSigningRequest): boolean =>
  spec.signerName === servingSigner &&
  (status?.conditions ?? []).length === 0 &&
  status?.certificate === undefined;

/** The signer's usages; the first one is for RSA keys only. */
const allowedUsages = ["key encipherment", "digital signature", "server auth"];

const listed = (values: readonly string[]): string => (values.length === 0 ? "none" : shortList(values));

const same = (values: readonly string[], expected: string): boolean =>
  values.length === 1 && values[0] === expected;

/** Why the request is invalid regardless of the Node; undefined if it may be valid. */
export function wrongRequest(
  request: CertificateSigningRequest,
  content: RequestContent,
): string | undefined {
  const { username = "", groups = [], usages = [] } = request.spec;
  const name = nodeOfRequest(request);
  if (name === undefined || name === "" || !groups.includes(nodesGroup))
    return `Only kubelets get serving certificates: the user must be ${userPrefix}NAME in the group ${nodesGroup}, got ${listed(username === "" ? [] : [username])}.`;
  if ("malformed" in content) return `The request is malformed: ${content.malformed}.`;
  const { commonNames, organizations, dnsNames, addresses, others } = content;
  if (!same(commonNames, username))
    return `The common name must be the user ${username}, got ${listed(commonNames)}.`;
  if (!same(organizations, nodesGroup))
    return `The organization must be ${nodesGroup}, got ${listed(organizations)}.`;
  const isServing = usages.includes("server auth") && usages.includes("digital signature");
  if (!isServing || !usages.every((usage) => allowedUsages.includes(usage)))
    return `The usages must be "digital signature" and "server auth", and may include "key encipherment", got ${listed(usages)}.`;
  if (others.length > 0) return `The request contains what kubelets never ask for: ${listed(others)}.`;
  if (dnsNames.length + addresses.length === 0)
    return "The request has neither a DNS name nor an IP address.";
  return undefined;
}

const lower = (text: string): string => text.toLowerCase().replace(/\.$/, "");

/** True if the instance has the Node's name. The cloud and the kubelet's client certificate then agree. */
function hasNameOf(node: Node, known: readonly string[], { shortName }: Instance): boolean {
  const name = lower(node.metadata.name);
  return known.includes(name) || (shortName !== undefined && lower(shortName) === name.split(".")[0]);
}

export interface RequestingNode {
  readonly node: Node;
  readonly instance: Instance;
  /** Another Node with the same provider id. */
  readonly sharedWith: string | undefined;
}

/** Compares the names and addresses of a request that may be valid with those of the instance. */
export function decideNames(
  { dnsNames, addresses }: WellFormed,
  { node, instance, sharedWith }: RequestingNode,
): RequestDecision {
  const { title, keepsInternalIPs = [] } = instance;
  const nodeName = node.metadata.name;
  if (sharedWith !== undefined)
    return {
      kind: "wait",
      message: `The Nodes ${nodeName} and ${sharedWith} have the same provider ID ${node.spec.providerID}, so the instance ${title} proves the addresses of neither. Delete the Node object that is wrong.`,
    };
  const hostNames = instance.addresses.flatMap(({ kind, value }) => (kind.endsWith("IP") ? [] : [value]));
  const instanceNames = [...instance.names, ...hostNames].map(lower);
  if (!hasNameOf(node, instanceNames, instance))
    return {
      kind: "wait",
      message: `The instance ${title} of the provider ID ${node.spec.providerID} does not have the name of the Node ${nodeName}, so it does not prove the addresses of the Node. Rename the instance, or approve the request with kubectl certificate approve.`,
    };
  const knownNames = [...new Set([lower(nodeName), ...instanceNames])];
  const knownAddresses = instance.addresses.flatMap(({ kind, value }) =>
    kind.endsWith("IP") ? [value] : [],
  );
  const wrongNames = dnsNames.filter((name) => !knownNames.includes(lower(name)));
  const unknown = addresses.filter((address) => !knownAddresses.some((known) => isSameIp(known, address)));
  // The cloud does not know the private network of this instance, so only the kubelet reports its addresses.
  const isUnproved = (address: string): boolean => {
    const ip = parseIp(address);
    if (ip === undefined || !keepsInternalIPs.includes(ipFamily(ip))) return false;
    return (node.status.addresses ?? []).some(
      (own) => own.type === "InternalIP" && isSameIp(own.address, ip),
    );
  };
  const wrongAddresses = unknown.filter((address) => !isUnproved(address));
  if (wrongNames.length + wrongAddresses.length > 0)
    return {
      kind: "deny",
      message: `The instance ${title} does not have ${listed([...wrongNames, ...wrongAddresses])}. It has the names ${listed(knownNames)} and the addresses ${listed(knownAddresses)}.`,
    };
  if (unknown.length > 0)
    return {
      kind: "wait",
      message: `The cloud does not know the private network of the instance ${title}, so it cannot prove ${listed(unknown)}. Check the address, and run kubectl certificate approve.`,
    };
  return {
    kind: "approve",
    message: `Requested by the kubelet of ${nodeName}; the instance ${title} has all names and addresses.`,
  };
}
