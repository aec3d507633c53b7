// The state of the node controller across leadership sessions: its own writes, reported findings, and former names of Nodes, and the
// owners of machines.

import type { Node } from "../../kube/objects.ts";
import { Board } from "../kernel/board.ts";
import { OwnWrites } from "../kernel/own-writes.ts";
import { MachineOwners, type MachineOwnersDeps } from "../machine-owners.ts";
import type { NodeDeps } from "../node-deps.ts";
import type { NodeTopic } from "./node-reporter.ts";
import { isRelevantChange } from "./triggers.ts";
import { UsedNames } from "./used-names.ts";

export class NodeHistory {
  readonly ownWrites = new OwnWrites<Node>(isRelevantChange);
  readonly board = new Board<NodeTopic>();
  readonly usedNames: UsedNames;
  readonly owners: MachineOwners;

  /** Follows the Nodes for the life of the process. */
  constructor(deps: MachineOwnersDeps & Pick<NodeDeps, "clock">) {
    this.usedNames = new UsedNames(deps.clock);
    this.usedNames.follow(deps.nodes);
    this.owners = new MachineOwners(deps);
  }
}
