// Who asks, as Kubernetes names users, and what came of looking at one way of proving it.

export interface User {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** `none`: nothing of this kind was shown. `bad`: it was, and it proves nothing. */
export type Claim =
  | { readonly kind: "user"; readonly user: User }
  | { readonly kind: "none" }
  | { readonly kind: "bad"; readonly why: string };

export const noClaim: Claim = { kind: "none" };

export const anonymous: User = { name: "system:anonymous", groups: ["system:unauthenticated"] };

const authenticated = "system:authenticated";

export function withAuthenticatedGroup(user: User): User {
  return user.groups.includes(authenticated) ? user : { ...user, groups: [...user.groups, authenticated] };
}
