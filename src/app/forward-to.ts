// Objects that forward to the current connection of a cloud, which a reload replaces.

import type { Volumes } from "../provider/volumes.ts";

/** An object with the members that the current target has at the moment of each access; those of `own` replace them. */
export function forwardTo<T extends object>(current: () => T, own: Partial<T> = {}): T {
  const noMembers = {} as T;
  return new Proxy(noMembers, {
    get: (_, name) => {
      if (name in own) return Reflect.get(own, name);
      const target = current();
      const member: unknown = Reflect.get(target, name);
      // Bound to the target: a provider's methods may use its private members.
      return typeof member === "function" ? member.bind(target) : member;
    },
    has: (_, name) => Reflect.has(current(), name),
  });
}

/** With its snapshots, which callers keep. */
export function forwardToVolumes(current: () => Volumes): Volumes {
  const { snapshots } = current();
  return forwardTo(current, {
    snapshots: snapshots && forwardTo(() => current().snapshots ?? snapshots),
  });
}
