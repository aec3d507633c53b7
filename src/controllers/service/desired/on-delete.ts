// What becomes of a Service's balancer when the Service ends: deleted, given back, or held because nobody knows which of the
// two is meant. What was asked for last is remembered, for Services that go without waiting for us.

import type { ServiceUID } from "../../../core/brand.ts";
import { didYouMean } from "../../../core/did-you-mean.ts";
import type { Problem } from "../../../core/problem.ts";
import type { Fields } from "../../../core/settings.ts";
import type { Service } from "../../../kube/objects.ts";
import type { DesiredLoadBalancer } from "../../../provider/load-balancers.ts";
import { ownPrefix } from "../../well-known.ts";
import type { OwnSettings } from "../annotations/own-annotations.ts";

const onDeleteAnnotation = `${ownPrefix}on-delete`;

export type Ending =
  | { readonly kind: "delete" | "release" }
  /** Nothing is taken down: what is deleted cannot be given back any more. */
  | { readonly kind: "held"; readonly why: string };

/** Only what can have meant nothing else is read as `delete`; whoever wrote another word did not mean the default. */
function meansDelete(text: string): boolean {
  return didYouMean(text, ["delete"]) !== undefined && didYouMean(text, ["release"]) === undefined;
}

export function endingOf(
  { metadata }: Service,
  { values, frozen }: OwnSettings,
  { canRelease }: { readonly canRelease: boolean },
): Ending {
  if (frozen.has("on-delete")) {
    const text = metadata.annotations?.[onDeleteAnnotation] ?? "";
    if (meansDelete(text.trim())) return { kind: "delete" };
    const got = JSON.stringify(text.slice(0, 80));
    return { kind: "held", why: `${onDeleteAnnotation} must be "delete" or "release", got ${got}` };
  }
  if (values["on-delete"] === "delete") return { kind: "delete" };
  if (canRelease) return { kind: "release" };
  return { kind: "held", why: `balancers of this cloud cannot be given back as ${onDeleteAnnotation} asks` };
}

/** Said of a Service that ends. */
export function deletionHeld(why: string): Problem {
  return {
    severity: "error",
    reason: "DeletionHeld",
    key: onDeleteAnnotation,
    text: `The load balancer is neither deleted nor given back: ${why}. Write one that can be followed, or remove the annotation and it is deleted.`,
  };
}

/** Said while there is still time. */
export const cannotRelease: Problem = {
  severity: "warning",
  reason: "ReleaseUnsupported",
  key: onDeleteAnnotation,
  text: `Balancers of this cloud cannot be given back: when the Service ends, its load balancer stays as it is, and the Service waits, until ${onDeleteAnnotation} is "delete" or removed.`,
};

type Desired = DesiredLoadBalancer<Fields>;

/** By uid: Services whose balancer is not simply deleted. It may be lost; then what is left of them is an orphan. */
export class LastEndings {
  readonly #last = new Map<ServiceUID, Desired | "held">();
  readonly #names = new Map<ServiceUID, string>();
  readonly #isThere: (uid: ServiceUID) => boolean;

  constructor(isThere: (uid: ServiceUID) => boolean) {
    this.#isThere = isThere;
  }

  note({ kind }: Ending, desired: Desired): void {
    const { uid } = desired.owner;
    if (kind === "delete") this.#last.delete(uid);
    else this.#last.set(uid, kind === "held" ? kind : { ...desired, targets: [], ending: "release" });
  }

  /** Of those that are gone without having waited for us: what is to be given back. One that only moved is not gone. */
  released(gone: readonly ServiceUID[]): readonly Desired[] {
    return gone.flatMap((uid) => {
      const last = this.#last.get(uid);
      return last === undefined || last === "held" || this.#isThere(uid) ? [] : [last];
    });
  }

  /** Gone as well, and nobody knows what was meant: what they have becomes an orphan. */
  isHeld(uid: ServiceUID): boolean {
    return this.#last.get(uid) === "held" && !this.#isThere(uid);
  }

  /** What the cloud calls that which is given back, for the event at the end. */
  name(uid: ServiceUID, name: string): void {
    if (name !== "") this.#names.set(uid, name);
  }

  nameOf(uid: ServiceUID): string | undefined {
    return this.#names.get(uid);
  }

  forget(uids: readonly ServiceUID[]): void {
    for (const uid of uids) {
      this.#last.delete(uid);
      this.#names.delete(uid);
    }
  }
}
