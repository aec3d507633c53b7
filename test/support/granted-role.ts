// A ClusterRole by group and resource, for tests of managers that have no other permissions. It records their requests.

import type { AccessRequest } from "../../src/testing/apiserver/http/serve-reviews.ts";

/** The verbs by `group/resource`, for example `/nodes/status`. */
export type Role = Readonly<Record<string, readonly string[]>>;

const textOf = ({ verb, resource, subresource, path }: AccessRequest): string =>
  `${verb} ${resource}${subresource === "" ? "" : `/${subresource}`}${path}`;

export class GrantedRole {
  readonly #role: Role;
  readonly #allowed = new Set<string>();
  readonly #refused = new Set<string>();

  constructor(role: Role) {
    this.#role = role;
  }

  get allowed(): readonly string[] {
    return [...this.#allowed].toSorted();
  }

  get refused(): readonly string[] {
    return [...this.#refused].toSorted();
  }

  readonly authorize = (_: unknown, request: AccessRequest): boolean => {
    const { verb, group, resource, subresource } = request;
    const verbs = this.#role[`${group}/${resource}${subresource === "" ? "" : `/${subresource}`}`] ?? [];
    const isAllowed = verbs.includes("*") || verbs.includes(verb);
    (isAllowed ? this.#allowed : this.#refused).add(textOf(request));
    return isAllowed;
  };
}
