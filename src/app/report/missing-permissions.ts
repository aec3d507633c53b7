// Which permissions the API server has refused to this process: logs each once, and describes them for /readyz. A request that succeeds
// proves that a permission is granted again.

import { countOf } from "../../core/text.ts";
import type { RequestObservation } from "../../kube/requests/request.ts";
import type { Log } from "../../telemetry/log.ts";
import type { Permission } from "../permissions.ts";

export class MissingPermissions {
  readonly #needed: ReadonlyMap<string, Permission>;
  readonly #missing = new Map<string, Permission>();
  readonly #log: Pick<Log, "warn" | "info">;
  readonly #program: string;

  /** `needed` are the permissions of this configuration. */
  constructor(needed: readonly Permission[], program: string, log: Pick<Log, "warn" | "info">) {
    this.#needed = new Map(needed.map((permission) => [keyOf(permission), permission]));
    this.#program = program;
    this.#log = log;
  }

  observe({ verb, resource, code, byAdmission }: Omit<RequestObservation, "duration">): void {
    const key = `${verb} ${resource}`;
    if (code === "403" && byAdmission !== true) this.#refused(key);
    else if (/^2\d\d$/.test(code) && this.#missing.delete(key))
      this.#log.info(`The permission ${key} is granted again`);
  }

  /** Why this replica is not ready; undefined while no part of it is held back. */
  get problem(): string | undefined {
    const held = [...this.#missing.values()].filter(({ isOptional }) => !isOptional);
    return held.length === 0 ? undefined : this.#describe(held);
  }

  /** Everything that is missing, also what holds back nothing; undefined if nothing is. */
  get notice(): string | undefined {
    return this.#missing.size === 0 ? undefined : this.#describe([...this.#missing.values()]);
  }

  #refused(key: string): void {
    const permission = this.#needed.get(key);
    if (permission === undefined || this.#missing.has(key)) return;
    this.#missing.set(key, permission);
    this.#log.warn(this.#describe([permission]), { permission: key });
  }

  #describe(permissions: readonly Permission[]): string {
    const each = permissions.map((permission) => `${keyOf(permission)} (${effectOf(permission)})`);
    return `${countOf(permissions.length, "permission")} missing, the API server returned 403: ${each.join(", ")}. Apply the output of "${this.#program} rbac" with the flags of the manager.`;
  }
}

const keyOf = ({ verb, resource }: Permission): string => `${verb} ${resource}`;

function effectOf({ users, isOptional }: Permission): string {
  const names = users.join(", ");
  return isOptional ? `${names} work with less` : `held back: ${names}`;
}
