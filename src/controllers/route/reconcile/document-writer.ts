// Sends changes of a table that is one document, each based on the document as it is then: it is read again after every
// change that may have landed, and planned anew when somebody else was faster.

import type { Call } from "../../../provider/call.ts";
import { CloudError, type CloudErrorKind } from "../../../provider/errors.ts";
import type { RouteDocument, RoutesAsDocument } from "../../../provider/routes.ts";
import type { RouteListing } from "../observed/route-table.ts";
import type { Group } from "./document-groups.ts";
import { planOnly, type RoutePlan } from "./plan.ts";
import { type ApplyOptions, attempt, type ChangeOutcome, type RouteChange } from "./route-change.ts";

export interface DocumentOptions extends ApplyOptions {
  readonly routes: RoutesAsDocument;
  /** The document as it is now, not as it was before the last change. */
  readonly readAgain: () => Promise<RouteListing>;
  readonly planFor: (listing: RouteListing) => RoutePlan;
}

export interface Sent {
  /** One change of the document: they share what came of it. */
  readonly changes: readonly RouteChange[];
  readonly outcome: ChangeOutcome;
}

const mostAttempts = 3;

export class DocumentWriter {
  readonly #options: DocumentOptions;
  readonly #call: Call;
  #current: RouteListing | undefined;
  #attempts = 0;

  constructor(listing: RouteListing, options: DocumentOptions, call: Call) {
    this.#current = listing;
    this.#options = options;
    this.#call = call;
  }

  /** How often the cloud was asked for a change. */
  get attempts(): number {
    return this.#attempts;
  }

  /** Throws when the document cannot be read again; without changes there is nothing left to do for this group. */
  async send(group: Group): Promise<Sent> {
    const { routes, planFor, readAgain } = this.#options;
    for (let tries = 1; ; tries++) {
      this.#current ??= await readAgain();
      const document = documentOf(this.#current);
      const plan = planOnly(planFor(this.#current), group);
      const changes = changesOf(plan);
      if (changes.length === 0) return { changes, outcome: { kind: "done" } };
      const send = () => routes.change(plan, document, this.#call);
      const outcome = await attempt(changes, this.#options, send, this.#call);
      this.#attempts += 1;
      if (outcome.kind !== "observed" && outcome.kind !== "fenced") this.#current = undefined;
      if (!hasFailedAs(outcome, "conflict") || tries === mostAttempts) return { changes, outcome };
    }
  }
}

export function changesOf({ remove, create }: RoutePlan): readonly RouteChange[] {
  return [
    ...remove.map((route) => ({ do: "remove", route }) as const),
    ...create.map((route) => ({ do: "create", route }) as const),
  ];
}

export function hasFailedAs(outcome: ChangeOutcome, ...kinds: readonly CloudErrorKind[]): boolean {
  return outcome.kind === "failed" && CloudError.is(outcome.error) && kinds.includes(outcome.error.kind);
}

function documentOf({ document }: RouteListing): RouteDocument {
  if (document === undefined) throw new TypeError("A table that is one document was listed as pages.");
  return document;
}
