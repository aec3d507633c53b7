// The shape of every stored object. Kinds do not have their own types; object-fields.ts describes their fields.

import type { Json, JsonObject } from "./json.ts";

export type ObjectMeta = {
  readonly name: string;
  readonly generateName?: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation?: number;
  readonly creationTimestamp: string;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly Json[];
  readonly managedFields?: readonly Json[];
};

export type KubeObject = JsonObject & {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly spec?: JsonObject;
  readonly status?: JsonObject;
};

export interface Identity {
  readonly username: string;
  readonly groups: readonly string[];
  readonly uid?: string;
}

/** Seconds, as metav1.Time prints it. */
export const timestamp = (now: number): string => `${new Date(now).toISOString().slice(0, 19)}Z`;

/** Microseconds, as in Leases and new Events. */
export const microTimestamp = (now: number): string => `${new Date(now).toISOString().slice(0, 23)}000Z`;
