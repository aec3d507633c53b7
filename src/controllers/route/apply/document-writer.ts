// Sends changes of a table that is one document. The document is read again after every change that may have been applied, and
// the changes are planned again when another client has changed the document first.

import type { Call } from "../../../provider/call.ts";
import { CloudError, type CloudErrorKind } from "../../../provider/errors.ts";
import type { RouteDocument, RoutesAsDocument } from "../../../provider/routes.ts";
import type { RouteListing } from "../observed/route-table.ts";
import { type ChangeOutcome, changesOf, type RouteChange } from "../plan/changes.ts";
import { planOnly, type RoutePlan } from "../plan/plan.ts";
import type { Group } from "./document-groups.ts";
import { type ApplyContext, sendChanges } from "./send-changes.ts";

export interface DocumentContext extends ApplyContext {
  readonly routes: RoutesAsDocument;
  /** Lists the document again. */
  readonly readAgain: () => Promise<RouteListing>;
  readonly planFor: (listing: RouteListing) => RoutePlan;
}

export interface Sent {
  /** The changes of one request, which share one outcome. */
  readonly changes: readonly RouteChange[];
  readonly outcome: ChangeOutcome;
}

/** Attempts for one group while another client keeps changing the document. */
const maxConflicts = 3;

export class DocumentWriter {
  readonly #context: DocumentContext;
  readonly #call: Call;
  #current: RouteListing | undefined;
  #requests = 0;

  constructor(listing: RouteListing, context: DocumentContext, call: Call) {
    this.#current = listing;
    this.#context = context;
    this.#call = call;
  }

  /** How many changes were requested. */
  get requests(): number {
    return this.#requests;
  }

  /** Throws when the document cannot be read again. An empty result means that the group needs no changes anymore. */
  async send(group: Group): Promise<Sent> {
    const { routes, planFor, readAgain } = this.#context;
    for (let attempt = 1; ; attempt++) {
      this.#current ??= await readAgain();
      const document = documentOf(this.#current);
      const plan = planOnly(planFor(this.#current), group);
      const changes = changesOf(plan);
      if (changes.length === 0) return { changes, outcome: { kind: "done" } };
      const request = () => routes.change(plan, document, this.#call);
      const outcome = await sendChanges(changes, this.#context, request, this.#call);
      this.#requests += 1;
      if (outcome.kind !== "observed" && outcome.kind !== "fenced") this.#current = undefined;
      if (!hasFailedAs(outcome, "conflict") || attempt === maxConflicts) return { changes, outcome };
    }
  }
}

export function hasFailedAs(outcome: ChangeOutcome, ...kinds: readonly CloudErrorKind[]): boolean {
  return outcome.kind === "failed" && CloudError.is(outcome.error) && kinds.includes(outcome.error.kind);
}

function documentOf({ document }: RouteListing): RouteDocument {
  if (document === undefined) throw new TypeError("The provider's route document has no revision.");
  return document;
}
