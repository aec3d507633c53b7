// Remembers which Services were changed by users while this replica did not lead. Another replica may not have applied the change,
// so with --load-balancer-drift=report a difference of such a Service is not drift.

import { type ServiceUID, serviceUID } from "../../../core/brand.ts";
import type { Service } from "../../../kube/objects.ts";
import { readsAnnotation } from "../annotations/annotations.ts";
import type { ServiceControllerDeps } from "../deps.ts";
import { isFactAnnotation } from "../desired/facts.ts";
import { isRelevantChange } from "./relevant-change.ts";

export class StandbyChanges {
  readonly #isOurAnnotation: (key: string) => boolean;
  readonly #changed = new Set<ServiceUID>();
  #isLeading = false;

  constructor({
    services,
    annotations,
    facts,
  }: Pick<ServiceControllerDeps, "services" | "annotations" | "facts">) {
    const reads = readsAnnotation(annotations);
    this.#isOurAnnotation = (key) => reads(key) && !isFactAnnotation(facts, key);
    services.subscribe(({ before, after }) => this.#note(before, after));
  }

  /** While this replica leads, changes are reconciled immediately. */
  set isLeading(value: boolean) {
    this.#isLeading = value;
  }

  has({ metadata }: Service): boolean {
    return this.#changed.has(serviceUID(metadata.uid));
  }

  /** The load balancer of the Service is as desired. */
  forget({ metadata }: Service): void {
    this.#changed.delete(serviceUID(metadata.uid));
  }

  #note(before: Service | undefined, after: Service | undefined): void {
    if (before === undefined) return;
    const uid = serviceUID(before.metadata.uid);
    if (after?.metadata.uid !== before.metadata.uid) this.#changed.delete(uid);
    else if (!this.#isLeading && this.#isChangedByUser(before, after)) this.#changed.add(uid);
  }

  /** The leader writes the status, the finalizers and facts. */
  #isChangedByUser(before: Service, after: Service): boolean {
    const { finalizers: _, ...metadata } = after.metadata;
    const { finalizers = [] } = before.metadata;
    const masked = { ...after, metadata: { ...metadata, finalizers }, status: before.status };
    return isRelevantChange(before, masked, this.#isOurAnnotation);
  }
}
