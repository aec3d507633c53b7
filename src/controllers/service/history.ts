// The state of the service controller across leadership sessions: Kubernetes objects that were shown, and the possible effects of
// cloud requests. Each process has one history, which follows Services and Nodes even on a standby replica.

import type { Service } from "../../kube/objects.ts";
import { noticesOtherLeaders } from "../former-leaders.ts";
import { OwnWrites } from "../kernel/own-writes.ts";
import { HoldMemory } from "../kernel/removal-limit.ts";
import type { ServiceHistoryDeps } from "./deps.ts";
import { ServiceRecords } from "./state/service-records.ts";
import type { WriteHistory } from "./status/service-writes.ts";
import { EndpointNodes } from "./targets/endpoint-nodes.ts";
import { SeenNodes, type TargetHistory } from "./targets/service-targets.ts";
import { VanishedNodes } from "./targets/vanished-nodes.ts";
import { followDeletions, relevanceFor, StandbyChanges } from "./triggers/relevant-change.ts";

export class ServiceHistory implements TargetHistory, WriteHistory {
  readonly records: ServiceRecords;
  readonly standbyChanges: StandbyChanges;
  readonly isRelevant: WriteHistory["isRelevant"];
  readonly ownWrites: OwnWrites<Service>;
  readonly seenNodes: SeenNodes = new SeenNodes();
  readonly vanishedNodes: VanishedNodes;
  readonly limit: HoldMemory = new HoldMemory();
  /** The watch stays open between two sessions of one Lease. */
  readonly endpoints: EndpointNodes;

  readonly #hasOtherLed: () => boolean;

  constructor(deps: ServiceHistoryDeps) {
    this.#hasOtherLed = noticesOtherLeaders(deps.formerLeaders);
    this.records = new ServiceRecords({ remembersFormer: deps.balancers.marksNameCluster !== undefined });
    this.standbyChanges = new StandbyChanges(deps);
    this.isRelevant = relevanceFor(deps);
    this.ownWrites = new OwnWrites<Service>(this.isRelevant);
    this.vanishedNodes = new VanishedNodes(deps);
    this.endpoints = new EndpointNodes(deps);
    followDeletions(deps, this.records);
  }

  /** Returns whether another process has led since the last session. */
  beginSession(): { readonly hasOtherLed: boolean } {
    const hasOtherLed = this.#hasOtherLed();
    this.records.beginSession({ hasOtherLed });
    if (hasOtherLed) this.limit.forget();
    return { hasOtherLed };
  }
}
