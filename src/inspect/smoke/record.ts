// The objects that a smoke test may have created, in a file that is written before anything is created. The next run in the
// folder finds the leftovers of a killed run.

import { type ServiceUID, serviceUID } from "../../core/brand.ts";
import { parseCidr } from "../../core/cidr.ts";
import type { Files } from "../../platform/files.ts";
import type { Machine } from "../../provider/instances.ts";
import type { Facts } from "../../provider/plan.ts";
import type { RouteTarget } from "../../provider/routes.ts";

export const parts = ["load balancer", "route", "volume"] as const;
export type Part = (typeof parts)[number];

/** The machine to which the load balancer and the route lead. */
export type RecordedMachine = Omit<RouteTarget, "uid" | "machine"> & { readonly machine: Machine };

export interface SmokeRecord {
  readonly format: 1;
  /** The provider's name. */
  readonly cloud: string;
  readonly startedAt: string;
  /** Random. The marks use it as the uid of the Service and of the cluster, and names are derived from it. */
  readonly uid: string;
  /** A short hash of the cloud settings, because different settings may list a different account. */
  readonly settings: string;
  /** The objects that may exist; empty once all are proved to be gone. */
  readonly open: readonly Part[];
  readonly facts: Facts;
  readonly machine?: RecordedMachine | undefined;
  readonly route?: { readonly destination: string; readonly table?: string | undefined } | undefined;
}

/** The name of the cluster and of the volume. */
export const smokeName = ({ uid }: Pick<SmokeRecord, "uid">): string => `fairlead-smoke-${uid.slice(0, 8)}`;

/** UUIDs of Kubernetes have version 4. With version 8, no record can name the uid of a Service, even after it was edited. */
export const smokeUID = (uuid: string): string => `${uuid.slice(0, 14)}8${uuid.slice(15)}`;

export const ownerOf = ({ uid }: Pick<SmokeRecord, "uid">): ServiceUID => serviceUID(uid);

export const recordPath = (cloud: string): string => `fairlead-smoke-${cloud}.record.json`;

type RecordFiles = Pick<Files, "read" | "version" | "write">;

export class RecordFile {
  readonly #files: RecordFiles;
  #record: SmokeRecord;

  constructor(files: RecordFiles, record: SmokeRecord) {
    this.#files = files;
    this.#record = record;
  }

  get record(): SmokeRecord {
    return this.#record;
  }

  /** Throws if the file contains the record of another run that may have left objects. */
  async save(change: Partial<SmokeRecord> = {}): Promise<void> {
    this.#record = { ...this.#record, ...change };
    const { cloud, uid } = this.#record;
    const path = recordPath(cloud);
    const other = await readRecord(this.#files, cloud);
    if (other !== undefined && other.uid !== uid)
      throw new Error(
        `${path} has the record of another run, which is kept. Run smoke once at a time in a folder.`,
      );
    await this.#files.write(path, `${JSON.stringify(this.#record, undefined, 2)}\n`, 0o600);
  }
}

function isRecord(value: unknown, cloud: string): value is SmokeRecord {
  if (typeof value !== "object" || value === null) return false;
  const { format, uid, open, facts, machine, route, ...rest } = value as Partial<SmokeRecord>;
  const isKnown = (part: Part): boolean => parts.includes(part);
  return (
    format === 1 &&
    rest.cloud === cloud &&
    typeof facts === "object" &&
    /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/.test(uid ?? "") &&
    Array.isArray(open) &&
    open.every(isKnown) &&
    (machine === undefined || isMachine(machine)) &&
    (!open.includes("route") ||
      (machine !== undefined && parseCidr(String(route?.destination)) !== undefined))
  );
}

const isMachine = ({ node, machine, addresses, internalIPs }: Partial<RecordedMachine>): boolean =>
  typeof node === "string" &&
  typeof machine?.key === "string" &&
  Array.isArray(addresses) &&
  Array.isArray(internalIPs);

/**
 * The record of an earlier run that may have left objects; undefined if there is none. Throws for any other file with this name.
 */
export async function readRecord(
  files: Pick<Files, "read" | "version">,
  cloud: string,
): Promise<SmokeRecord | undefined> {
  const path = recordPath(cloud);
  if ((await files.version(path)) === undefined) return undefined;
  const text = await files.read(path);
  const value = parsed(text);
  if (!isRecord(value, cloud))
    throw new Error(
      `${path} is not a record of smoke for ${cloud}, so nothing was created. Move the file away, or run smoke in another folder.`,
    );
  return value.open.length === 0 ? undefined : value;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
