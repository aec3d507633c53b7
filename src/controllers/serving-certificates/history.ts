// The state of the serving certificate controller across leadership sessions: the requests, the reported reasons for waiting, and
// indexes of requests and Nodes.

import type { CertificateSigningRequest, Node } from "../../kube/objects.ts";
import type { Index } from "../../kube/watch/store.ts";
import { Board } from "../kernel/board.ts";
import type { ObjectStore } from "../latest-objects.ts";
import type { NodeDeps } from "../node-deps.ts";
import { identityOf } from "../node-facts.ts";
import { nodeOfRequest } from "./plan.ts";

export class ServingCertificateHistory {
  readonly board = new Board<"waiting">();
  readonly requests: ObjectStore<CertificateSigningRequest>;
  readonly requestsOf: Index<CertificateSigningRequest>;
  readonly #deps: Pick<NodeDeps, "inventory">;
  /** Indexed by machine, because a provider id has several spellings. */
  readonly #byMachine: Index<Node>;

  /** Follows the Nodes and the requests for the life of the process. */
  constructor(deps: Pick<NodeDeps, "nodes" | "inventory">, requests: ObjectStore<CertificateSigningRequest>) {
    this.#deps = deps;
    this.requests = requests;
    this.requestsOf = requests.index((request) => [nodeOfRequest(request) ?? ""]);
    this.#byMachine = deps.nodes.index((node) => this.#machineOf(node));
  }

  /** The name of another Node with the same machine. */
  sharing(node: Node): string | undefined {
    const [machine = ""] = this.#machineOf(node);
    return this.#byMachine
      .get(machine)
      .map(({ metadata: { name } }) => name)
      .find((name) => name !== node.metadata.name);
  }

  #machineOf(node: Node): readonly string[] {
    const machine = this.#deps.inventory.machineOf(identityOf(node));
    return machine === undefined ? [] : [`${machine.source} ${machine.key}`];
  }
}
