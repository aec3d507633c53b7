// Tracks which permissions the API server denied to this process: logs each once, and describes them
// for /readyz. A successful request proves that a permission is granted again.

import { countOf } from "../../core/text.ts";
import type { HowToGrant } from "../../kube/errors/status-error.ts";
import type { RequestObservation } from "../../kube/requests/request.ts";
import type { Log } from "../../telemetry/log.ts";
import type { Permission } from "../permissions.ts";

type Asked = Pick<RequestObservation, "verb" | "resource" | "object">;

export class MissingPermissions {
  readonly #needed: readonly Permission[];
  readonly #missing = new Set<Permission>();
  readonly #log: Pick<Log, "warn" | "info">;
  readonly #howToGrant: HowToGrant;
  /** The user that was last denied. */
  #user: string | undefined;

  /** `needed`: the permissions that this configuration requires. */
  constructor(needed: readonly Permission[], howToGrant: HowToGrant, log: Pick<Log, "warn" | "info">) {
    this.#needed = needed;
    this.#howToGrant = howToGrant;
    this.#log = log;
  }

  observe(request: Omit<RequestObservation, "duration">): void {
    const { code, denial, refusedUser, resource } = request;
    this.#user = refusedUser ?? this.#user;
    if (code === "403" && denial !== "admission")
      this.#refused(denial === "signer" ? this.#toApprove : this.#permissionFor(request));
    else if (this.#missing.size > 0 && /^2\d\d$/.test(code)) {
      this.#granted(this.#permissionFor(request));
      if (resource === "certificatesigningrequests/approval") this.#granted(this.#toApprove);
    }
  }

  /** Why this replica is not ready; undefined while no controller is held back. */
  get problem(): string | undefined {
    const held = [...this.#missing].filter(({ isOptional }) => !isOptional);
    return held.length === 0 ? undefined : this.#describe(held);
  }

  /** All missing permissions, including those that hold back nothing; undefined if none is missing. */
  get notice(): string | undefined {
    return this.#missing.size === 0 ? undefined : this.#describe([...this.#missing]);
  }

  get #toApprove(): Permission | undefined {
    return this.#needed.find(({ verb }) => verb === "approve");
  }

  /** Two Leases need the same verbs, so one working Lease proves nothing about the other. */
  #permissionFor({ verb, resource, object }: Asked): Permission | undefined {
    const same = this.#needed.filter((each) => each.verb === verb && each.resource === resource);
    const name = object?.split("/").at(-1);
    return same.find((each) => each.name === name) ?? same.find((each) => each.name === undefined) ?? same[0];
  }

  #refused(permission: Permission | undefined): void {
    if (permission === undefined || this.#missing.has(permission)) return;
    this.#missing.add(permission);
    this.#log.warn(this.#describe([permission]), { permission: keyOf(permission) });
  }

  #granted(permission: Permission | undefined): void {
    if (permission !== undefined && this.#missing.delete(permission))
      this.#log.info(`The permission ${keyOf(permission)} is granted again`);
  }

  #describe(permissions: readonly Permission[]): string {
    const each = permissions.map((permission) => `${keyOf(permission)} (${effectOf(permission)})`);
    return `${countOf(permissions.length, "permission")} missing, the API server returned 403: ${each.join(", ")}. ${this.#howToGrant(this.#user)}`;
  }
}

const keyOf = ({ verb, resource }: Permission): string => `${verb} ${resource}`;

function effectOf({ users, isOptional }: Permission): string {
  const names = users.join(", ");
  return isOptional ? `${names} work with less` : `held back: ${names}`;
}
