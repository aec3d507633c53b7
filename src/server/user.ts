// A user as Kubernetes describes one, and the result of checking one kind of credential.

export interface User {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** `none`: the request has no credential of this kind. */
export type CredentialCheck =
  | { readonly kind: "user"; readonly user: User }
  | { readonly kind: "none" }
  | { readonly kind: "invalid"; readonly reason: string };

export const noCredential: CredentialCheck = { kind: "none" };

export const anonymous: User = { name: "system:anonymous", groups: ["system:unauthenticated"] };

const authenticated = "system:authenticated";

export function withAuthenticatedGroup(user: User): User {
  return user.groups.includes(authenticated) ? user : { ...user, groups: [...user.groups, authenticated] };
}
