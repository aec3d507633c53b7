// The records of all Services that the controller manages, or that may still have a load balancer. Only this class begins and
// ends records.

import { type ServiceUID, serviceUID } from "../../../core/brand.ts";
import { keyOf, type Service } from "../../../kube/objects.ts";
import { type Said, ServiceRecord, type ServiceState } from "./service-record.ts";

/** How many uids of former records are remembered. */
const maxFormer = 5000;

export class ServiceRecords {
  readonly #byUID = new Map<ServiceUID, ServiceRecord>();
  /** Records by key. A new Service may have taken the name of an old Service that is leaving. */
  readonly #managed = new Map<string, ServiceRecord>();
  /** The Services that select their targets by label. */
  readonly #selecting = new Set<ServiceUID>();
  /** The Services whose record has ended, oldest first. */
  readonly #former = new Set<ServiceUID>();
  readonly #remembersFormer: boolean;

  /** `remembersFormer`: set if marks do not name the cluster. Otherwise the mark identifies the cluster of a load balancer. */
  constructor({ remembersFormer = false } = {}) {
    this.#remembersFormer = remembersFormer;
  }

  get all(): readonly ServiceState[] {
    return [...this.#byUID.values()];
  }

  /** Records with pending work. */
  get active(): readonly ServiceState[] {
    return this.all.filter(({ phase }) => phase !== "idle");
  }

  /** Whether any Service selects its targets by label. Read on every change of a Node. */
  get hasTargetSelector(): boolean {
    return this.#selecting.size > 0;
  }

  get(uid: ServiceUID): ServiceState | undefined {
    return this.#byUID.get(uid);
  }

  /** The record of this Service, which is created if necessary. The result stays current: later changes are visible in it. */
  of(service: Service): ServiceState {
    return this.#recordOf(service);
  }

  #recordOf({ metadata }: Service): ServiceRecord {
    const uid = serviceUID(metadata.uid);
    const known = this.#byUID.get(uid);
    if (known !== undefined) return known;
    const record = new ServiceRecord(keyOf(metadata), uid);
    this.#byUID.set(uid, record);
    return record;
  }

  /** The managed Service with this name. */
  managed(key: string): ServiceState | undefined {
    return this.#managed.get(key);
  }

  /** The controller has work for this Service. Applies to a Service that returns before its load balancer was removed. */
  manage(service: Service): ServiceState {
    const record = this.#recordOf(service);
    record.phase = "managed";
    record.goneAt = undefined;
    this.#managed.set(record.key, record);
    return record;
  }

  /** Called when a leadership session begins. Another replica may have changed any load balancer, whether or not one is known to have led. */
  beginSession(since: { readonly hasOtherLed: boolean }): void {
    for (const record of this.#byUID.values()) {
      record.beginSession(since);
      record.evidence.restart();
    }
  }

  /** The Service is gone or no longer needs anything, but may still have a load balancer. */
  leave(key: string): void {
    const record = this.#managed.get(key);
    if (record === undefined) return;
    this.#managed.delete(key);
    record.phase = "leaving";
    this.#selecting.delete(record.uid);
    record.endReports();
  }

  /** The Service has no load balancer and needs none. */
  dismiss(uid: ServiceUID): void {
    const record = this.#byUID.get(uid);
    if (record === undefined) return;
    if (this.#managed.get(record.key) === record) this.#managed.delete(record.key);
    record.phase = "idle";
    record.goneAt = undefined;
    record.evidence.forget();
  }

  /**
   * The desired state of the Service was computed. Ends the subscription and the rejections that the Service does not need any
   * more.
   */
  noteRead(uid: ServiceUID, said: Said, { isServed }: { readonly isServed: boolean }): void {
    const record = this.#byUID.get(uid);
    if (record === undefined) return;
    const { lastTargetRules: rules } = said;
    if (rules?.policy !== "endpoints") record.closeEndpoints();
    if (!isServed) record.endRefusals();
    record.said = said;
    if (rules?.selector === undefined && rules?.cloudSelector === undefined) this.#selecting.delete(uid);
    else this.#selecting.add(uid);
  }

  /**
   * Whether this process knew the Service. Its load balancer then belongs to this cluster, even if the mark does not name the
   * cluster.
   */
  wasKnown(uid: ServiceUID): boolean {
    return (this.#byUID.get(uid)?.phase ?? "idle") !== "idle" || this.#former.has(uid);
  }

  /** Ends the record, unless work is pending. */
  end(uid: ServiceUID): void {
    const record = this.#byUID.get(uid);
    if (record === undefined || record.phase !== "idle") return;
    record.closeEndpoints();
    this.#selecting.delete(uid);
    this.#byUID.delete(uid);
    if (!this.#remembersFormer) return;
    this.#former.delete(uid);
    this.#former.add(uid);
    const [oldest] = this.#former;
    if (this.#former.size > maxFormer && oldest !== undefined) this.#former.delete(oldest);
  }
}
