// Finds the machines of Nodes that k3s or RKE2 has initialized (--foreign-nodes=targets), whose provider ids name no machine. The
// kubelet writes its Node object, so its content counts only where the cloud confirms it.

import type { Answer, Inventory } from "../cloud/inventory/instances.ts";
import type { NodeIdentity } from "../cloud/inventory/node-identity.ts";
import type { Milliseconds } from "../core/brand.ts";
import { defined } from "../core/defined.ts";
import { ipFamily, parseIp } from "../core/ip.ts";
import { shortList } from "../core/text.ts";
import type { Node } from "../kube/objects.ts";
import type { Clock } from "../platform/clock.ts";
import type { Instance, Machine } from "../provider/instances.ts";
import { MachineOwners } from "./machine-owners.ts";
import type { NodeStore } from "./node-deps.ts";
import { identityOf, ipsOf, type NodeIPs } from "./node-facts.ts";

export interface ForeignNodesDeps {
  readonly nodes: NodeStore;
  readonly clock: Clock;
  readonly isSelected: (node: Node) => boolean;
  /** The inventory of the current session. */
  readonly inventory: Inventory;
  /** The time between two answers that the cloud has no machine for a Node. */
  readonly confirmAfter: Milliseconds;
}

interface Found {
  readonly instance: Instance;
  readonly source: string;
}

/** The Node as a target: without a machine it is not a target, and it only has the addresses of its machine. */
interface AsTarget {
  readonly machine?: Machine;
  readonly ips: NodeIPs;
}

export type ForeignMatch = AsTarget &
  (
    | {
        readonly kind: "matched";
        readonly instance: Instance;
        /**
         * Certain by the current answer, with no possible second match in another source. Otherwise an earlier answer of this
         * session showed the machine.
         */
        readonly isCertain: boolean;
      }
    /**
     * Nothing is proved yet. The machine may be a target, so load balancers keep all targets unchanged until the cloud has
     * answered, or a request fails.
     */
    | { readonly kind: "awaited"; readonly holds: "changes" | "removals" | "nothing" }
    | { readonly kind: "unmatched"; readonly why: string }
  );

const noIPs: NodeIPs = { addresses: [], internalIPs: [] };
const awaited = (holds: "changes" | "removals" | "nothing"): ForeignMatch => ({
  kind: "awaited",
  holds,
  ips: noIPs,
});
const unmatched = (why: string): ForeignMatch => ({ kind: "unmatched", why, ips: noIPs });

/** The answers of one cloud session. */
interface Session {
  readonly inventory: Inventory;
  /** An absence counts from then (monotonic). */
  readonly provedFrom: number;
  /** The Nodes that existed at the beginning, which may be targets. */
  readonly initial: ReadonlySet<string>;
  readonly found: Map<string, Found>;
  /** When the machines of later Nodes were requested (monotonic). */
  readonly requested: Map<string, number>;
}

export class ForeignNodes {
  readonly #deps: ForeignNodesDeps;
  readonly #owners: MachineOwners;
  #latest: Session | undefined;

  /** Follows the Nodes for the life of the process. */
  constructor(deps: ForeignNodesDeps) {
    this.#deps = deps;
    this.#owners = new MachineOwners(deps);
    deps.nodes.subscribe(({ before, after }) => {
      if (before === undefined || before.metadata.uid === after?.metadata.uid) return;
      this.#latest?.found.delete(before.metadata.uid);
      this.#latest?.requested.delete(before.metadata.uid);
    });
  }

  /** How to find a Node's machine: not by a provider id of k3s or RKE2. */
  identityOf(node: Node): NodeIdentity {
    const { providerID, ...identity } = identityOf(node);
    return this.#isForeign(node) ? identity : { ...identity, ...defined({ providerID }) };
  }

  /** Like `match`, for controllers: requests missing data. */
  observe(node: Node): ForeignMatch | undefined {
    if (!this.#isForeign(node)) return undefined;
    const { requested } = this.#session();
    const match = this.match(node);
    const { uid } = node.metadata;
    if (match?.kind !== "awaited" || match.holds !== "nothing" || requested.has(uid)) return match;
    // The machine may be newer than the last listing.
    const since = this.#deps.clock.monotonic();
    requested.set(uid, since);
    this.#deps.inventory.request(this.identityOf(node), { since, urgency: "new-node" });
    return match;
  }

  /** Undefined for Nodes other than those of k3s and RKE2. Sends no request, so a replica that does not lead may call it. */
  match(node: Node): ForeignMatch | undefined {
    if (!this.#isForeign(node)) return undefined;
    const session = this.#latest;
    if (session?.inventory !== this.#deps.inventory) return awaited("changes");
    const { uid } = node.metadata;
    const answer = session.inventory.check(this.identityOf(node));
    const known = session.found.get(uid);
    const shown = answer.kind === "exists" || answer.kind === "unconfirmed" ? answer : undefined;
    const found = shown ?? known;
    if (found === undefined) return unshown(uid, answer, session);
    const { instance, source } = found;
    const isKnown = known?.source === source && known.instance.key === instance.key;
    const why = this.#refusal(node, instance, isKnown);
    if (why !== undefined) {
      session.found.delete(uid);
      return unmatched(why);
    }
    session.found.set(uid, { instance, source });
    const machine = defined({ source, key: instance.key, handles: instance.handles });
    const isCertain = answer.kind === "exists";
    return { kind: "matched", instance, isCertain, machine, ips: sharedIPs(node, instance) };
  }

  #isForeign(node: Node): boolean {
    return isOfDistribution(node.spec.providerID) && this.#deps.isSelected(node);
  }

  /** Why a machine with the Node's name is not its machine. */
  #refusal(node: Node, instance: Instance, isKnown: boolean): string | undefined {
    const { nodes } = this.#deps;
    const { name } = node.metadata;
    const which = `instance ${instance.title} (${instance.key})`;
    if (!instance.names.includes(name)) return `${which} has a different name`;
    const namesakes = instance.names.flatMap((one) => nodes.get(one) ?? []);
    // A kubelet can write any provider id and an unused name, but not its creation time, so a later Node hides no machine.
    const other = [...this.#owners.of(instance.id), ...namesakes].find(
      (one) => one.metadata.name !== name && isOlder(one, node),
    );
    if (other !== undefined) return `${which} belongs to Node ${other.metadata.name}`;
    const { addresses } = ipsOf(node);
    const shown = shownIPs(instance);
    if (isKnown || hasSameUUID(node, instance) || addresses.some((ip) => shown.has(ip))) return undefined;
    return `${which} has neither an address of the Node (${shortList(addresses) || "none yet"}) nor its system UUID`;
  }

  #session(): Session {
    const { inventory, nodes, clock, confirmAfter } = this.#deps;
    if (this.#latest?.inventory === inventory) return this.#latest;
    const initial = nodes.list().filter(({ spec }) => isOfDistribution(spec.providerID));
    const began = clock.monotonic();
    this.#latest = {
      inventory,
      provedFrom: began + confirmAfter,
      initial: new Set(initial.map(({ metadata }) => metadata.uid)),
      found: new Map(),
      requested: new Map(),
    };
    if (initial.length > 0) this.#proveLater(this.#latest, initial);
    return this.#latest;
  }

  /** Requests a second listing for the Nodes that the first one does not show. */
  #proveLater({ inventory, found }: Session, initial: readonly Node[]): void {
    const { clock, confirmAfter } = this.#deps;
    const cancel = clock.after(confirmAfter, () => {
      if (initial.some(({ metadata }) => !found.has(metadata.uid)))
        inventory.requestListing(clock.monotonic(), "refresh");
    });
    inventory.life.addEventListener("abort", cancel, { once: true });
  }
}

function unshown(uid: string, answer: Answer, { initial, requested, provedFrom }: Session): ForeignMatch {
  if (answer.kind === "ambiguous") return unmatched("several instances have its name");
  const isInitial = initial.has(uid);
  const since = isInitial ? provedFrom : (requested.get(uid) ?? Number.POSITIVE_INFINITY);
  const isUndescribed = answer.kind === "gone" && answer.undescribed !== undefined;
  const isProved = answer.kind === "gone" && !isUndescribed && answer.asOf >= since;
  if (isProved) return unmatched("the cloud has no instance with its name");
  // The wait may be long, and a failing region must not hold up the load balancers of other regions.
  const isLong = isUndescribed || (answer.kind === "unknown" && answer.failure !== undefined);
  return awaited(isInitial ? (isLong ? "removals" : "changes") : "nothing");
}

function isOlder(one: Node, other: Node): boolean {
  const [first, second] = [one, other].map(
    ({ metadata: { creationTimestamp = "", uid } }) => creationTimestamp + uid,
  );
  return String(first) < String(second);
}

/** The provider ids of the distributions' embedded cloud controller managers, which contain the Node's name. */
export const isOfDistribution = (providerID: string | undefined): boolean =>
  /^(?:k3s|rke2):\/\//.test(providerID ?? "");

function hasSameUUID({ status }: Node, { uuids = [] }: Instance): boolean {
  const own = status.nodeInfo?.systemUUID?.toLowerCase() ?? "";
  return own !== "" && uuids.some((uuid) => uuid.toLowerCase() === own);
}

const shownIPs = ({ addresses }: Instance): ReadonlySet<string> =>
  new Set(
    addresses.flatMap(({ kind, value }) => (kind.endsWith("IP") ? (parseIp(value, "sloppy") ?? []) : [])),
  );

/** The Node's addresses that the cloud reports too, or leaves to the kubelet. Other host names may belong to other machines. */
function sharedIPs(node: Node, instance: Instance): NodeIPs {
  const ips = ipsOf(node);
  const shown = shownIPs(instance);
  const kept = instance.keepsInternalIPs ?? [];
  const internalIPs = ips.internalIPs.filter((ip) => shown.has(ip) || kept.includes(ipFamily(ip)));
  return { addresses: ips.addresses.filter((ip) => shown.has(ip) || internalIPs.includes(ip)), internalIPs };
}
