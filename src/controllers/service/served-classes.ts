// Which Services this manager serves, by spec.loadBalancerClass, and which finalizer it adds to them. Two managers of one cluster
// share no finalizer, so that neither removes what the other relies on. Pure.

import { hash } from "../../core/hash.ts";
import type { Service } from "../../kube/objects.ts";

/**
 * The name that the Go managers use. It must never change, because every Service without a class
 * that has a load balancer has this finalizer.
 */
export const finalizer = "service.kubernetes.io/load-balancer-cleanup";

/**
 * A Go manager removes its finalizer from every deleted Service, whatever its class is, but does
 * not know the finalizers of classes.
 */
const classPrefix = "class.fairlead.dev/";
const maxReadable = 50;

/** The finalizer must never change, because only a manager that serves the class removes it. */
function finalizerOfClass(name: string): string {
  const readable = name.slice(name.lastIndexOf("/") + 1).slice(0, maxReadable);
  return `${classPrefix}${readable}-${hash(name).toString(16).padStart(8, "0")}`;
}

/** The finalizer of each served class; undefined stands for Services without a class. */
export type ServedClasses = ReadonlyMap<string | undefined, string>;

/** `only`: Services without a class are left to another manager. */
export function servedClasses(names: readonly string[], { only }: { readonly only: boolean }): ServedClasses {
  const named = names.map((name) => [name, finalizerOfClass(name)] as const);
  return new Map<string | undefined, string>([...(only ? [] : [[undefined, finalizer] as const]), ...named]);
}

/** The same as in the Go managers. */
export const servesWithoutClass: ServedClasses = servedClasses([], { only: false });

/** The finalizer of a served Service. */
export const finalizerFor = ({ spec }: Service, classes: ServedClasses): string =>
  classes.get(spec.loadBalancerClass) ?? finalizer;

/** Whether this is the finalizer of any manager: this manager, a Go manager, or a manager of another class. */
export const isBalancerFinalizer = (name: string): boolean =>
  name === finalizer || name.startsWith(classPrefix);

/** Which Services are served, as the end of a sentence. */
export function describeServed(classes: ServedClasses): string {
  const names = [...classes.keys()].flatMap((name) => name ?? []);
  if (names.length === 0) return "only Services without a class";
  const list = names.map((name) => JSON.stringify(name)).join(", ");
  const named = `${names.length === 1 ? "the class" : "the classes"} ${list}`;
  return classes.has(undefined) ? `Services without a class and ${named}` : `only ${named}`;
}
