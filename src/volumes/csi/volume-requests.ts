// The validated content of a CSI request about a volume: size, topology, parameters and capabilities. Pure.

import { messageIn, type Problem } from "../../core/problem.ts";
import { readSettings } from "../../core/read-settings.ts";
import type { Fields, Values } from "../../core/settings.ts";
import type { DesiredVolume, Segments, VolumeDriver, VolumeSource } from "../../provider/volumes.ts";
import type { Received } from "../grpc/messages.ts";
import { RpcError } from "../grpc/status.ts";
import type { CsiSchema } from "./spec.ts";

export type Message<N extends keyof CsiSchema["messages"]> = Received<CsiSchema, N>;

/** The size in bytes. Without an upper limit, `limit` is the cloud's maximum size. */
export interface SizeRange {
  readonly size: number;
  readonly limit: number;
}

const gibibyte = 2 ** 30;

/** A size for messages. */
export function sizeText(bytes: number): string {
  return bytes % gibibyte === 0 ? `${bytes / gibibyte}Gi` : `${bytes} bytes`;
}

/** The size to create or to expand to, and the maximum that satisfies the request. */
export function readSize(
  range: Message<"CapacityRange"> | undefined,
  { min, step, max }: VolumeDriver["sizes"],
): SizeRange {
  const { requiredBytes = 0, limitBytes = 0 } = range ?? {};
  const outOfRange = (text: string) => new RpcError("OUT_OF_RANGE", text);
  if (requiredBytes < 0 || limitBytes < 0) throw outOfRange("The capacity range has a negative size.");
  const size = Math.max(min, Math.ceil(requiredBytes / step) * step);
  const limit = limitBytes === 0 ? max : Math.min(max, limitBytes);
  if (size <= limit) return { size, limit };
  const asked =
    limitBytes === 0 ? sizeText(requiredBytes) : `${sizeText(requiredBytes)} to ${sizeText(limitBytes)}`;
  throw outOfRange(
    `No volume has a size of ${asked}: sizes are ${sizeText(min)} to ${sizeText(max)} in steps of ${sizeText(step)}. Change the request of the claim.`,
  );
}

/** The current key for a former key. */
export const topologyKeyOf = (key: string, { topologyAliases = {} }: VolumeDriver): string =>
  topologyAliases[key] ?? key;

/** Includes former keys, for the labels of the Node. */
export function withFormerKeys(segments: Segments, { topologyAliases = {} }: VolumeDriver): Segments {
  const former = Object.entries(topologyAliases).map(([key, current]) => [key, segments[current] ?? ""]);
  return { ...Object.fromEntries(former), ...segments };
}

/** Only keys of this driver count. */
function segmentsIn({ segments }: Message<"Topology">, driver: VolumeDriver): Segments | undefined {
  const found = new Map(
    Object.entries(segments).map(([key, value]) => [topologyKeyOf(key, driver), value] as const),
  );
  const { topologyKeys } = driver;
  if (!topologyKeys.every((key) => found.has(key))) return undefined;
  return Object.fromEntries(topologyKeys.map((key) => [key, found.get(key) ?? ""]));
}

/** Whether a volume with this topology can be used in the place. */
export function isUsableIn(place: Segments, topology: Segments): boolean {
  return Object.entries(topology).every(([key, value]) => place[key] === value);
}

/** Where the volume may be, the preferred place first. Empty if any place is allowed. */
export function readTopologies(
  requirement: Message<"TopologyRequirement"> | undefined,
  driver: VolumeDriver,
): readonly Segments[] {
  const all = [...(requirement?.preferred ?? []), ...(requirement?.requisite ?? [])];
  const places = all.map((topology) => segmentsIn(topology, driver)).filter((place) => place !== undefined);
  if (all.length === 0 || places.length > 0) return places;
  throw new RpcError(
    "INVALID_ARGUMENT",
    `No topology of the request has ${driver.topologyKeys.join(" and ")}, so the place of the volume is unknown and none is created. Check that the Node plugin of ${driver.name} runs on the selected Node.`,
  );
}

/** Set by external-provisioner with `--extra-create-metadata`. */
const metadataPrefix = "csi.storage.k8s.io/";

export interface ReadParameters<P extends Fields> {
  readonly values: Values<P>;
  readonly claim: DesiredVolume["claim"];
  /** Ignored parameters, which the Go driver ignores. */
  readonly warnings: readonly string[];
}

export function readParameters<P extends Fields>(
  raw: Readonly<Record<string, string>>,
  driver: VolumeDriver<P>,
): ReadParameters<P> {
  const isMetadata = (key: string): boolean => key.startsWith(metadataPrefix);
  const own = Object.fromEntries(Object.entries(raw).filter(([key]) => !isMetadata(key)));
  const spelled = driver.spellParameters?.(own) ?? own;
  const { values, problems } = readSettings(driver.parameters, spelled, { what: "parameter" });
  const isError = ({ severity, reason }: Problem): boolean =>
    severity === "error" || (driver.unknownParameters === "refused" && reason === "UnknownParameter");
  const errors = problems.filter(isError).map(messageIn);
  if (errors.length > 0)
    throw new RpcError(
      "INVALID_ARGUMENT",
      `The StorageClass is invalid, so no volume is created: ${errors.join("; ").replace(/[^?]$/, "$&.")} Create a StorageClass with correct parameters.`,
    );
  const metadata = (name: string): string => raw[`${metadataPrefix}${name}`] ?? "";
  const claim = {
    namespace: metadata("pvc/namespace"),
    name: metadata("pvc/name"),
    volume: metadata("pv/name"),
  };
  return {
    values,
    claim: claim.name === "" ? undefined : claim,
    warnings: problems.map(messageIn),
  };
}

const supportedModes: readonly string[] = [
  "SINGLE_NODE_WRITER",
  "SINGLE_NODE_SINGLE_WRITER",
  "SINGLE_NODE_MULTI_WRITER",
];

/** Why a volume cannot be used in this way; undefined if it can. */
export function refusedCapability(capability: Message<"VolumeCapability"> | undefined): string | undefined {
  if (capability === undefined) return "The volume capability is missing.";
  const { accessMode, block, mount } = capability;
  if (block === undefined && mount === undefined) return "The volume capability has no access type.";
  return refusedMode(accessMode?.mode ?? "UNKNOWN");
}

/** Why a volume cannot be used in this access mode of CSI; undefined if it can. */
export function refusedMode(mode: string): string | undefined {
  if (supportedModes.includes(mode)) return undefined;
  return `The access mode ${mode} is not supported: a volume is attached to one machine. Use ReadWriteOnce or ReadWriteOncePod.`;
}

export function requireCapabilities(
  capabilities: readonly (Message<"VolumeCapability"> | undefined)[],
): void {
  if (capabilities.length === 0)
    throw new RpcError("INVALID_ARGUMENT", "The volume capabilities are missing.");
  const [refused] = capabilities.flatMap((capability) => refusedCapability(capability) ?? []);
  if (refused !== undefined) throw new RpcError("INVALID_ARGUMENT", refused);
}

/** A total order in which new objects come last if a cloud numbers its ids. */
function compareIDs(one: string, other: string): number {
  return one.length - other.length || (one < other ? -1 : one > other ? 1 : 0);
}

const token = "after:";

/** The page after the object that the token names, which may be gone. */
export function pageOf<T extends { readonly id: string }>(
  all: readonly T[],
  { maxEntries, startingToken }: { readonly maxEntries: number; readonly startingToken: string },
): { readonly page: readonly T[]; readonly nextToken: string } {
  if (startingToken !== "" && !startingToken.startsWith(token))
    throw new RpcError(
      "ABORTED",
      `Unknown starting token ${JSON.stringify(startingToken)}. Begin without one.`,
    );
  if (maxEntries < 0) throw new RpcError("INVALID_ARGUMENT", "The number of entries is negative.");
  const after = startingToken.slice(token.length);
  const rest = all
    .filter(({ id }) => startingToken === "" || compareIDs(id, after) > 0)
    .toSorted((one, other) => compareIDs(one.id, other.id));
  const page = maxEntries === 0 ? rest : rest.slice(0, maxEntries);
  const last = page.at(-1);
  return { page, nextToken: last === undefined || page.length === rest.length ? "" : token + last.id };
}

/** The source of the volume. Throws if the cloud does not support it. */
export function readSource(
  source: Message<"VolumeContentSource"> | undefined,
  { name, sources = [] }: VolumeDriver,
): VolumeSource | undefined {
  if (source === undefined) return undefined;
  const { snapshot, volume } = source;
  if ((snapshot === undefined) === (volume === undefined))
    throw new RpcError("INVALID_ARGUMENT", "The content source is neither a snapshot nor a volume.");
  const kind = snapshot === undefined ? "volume" : "snapshot";
  const id = snapshot?.snapshotID ?? volume?.volumeID ?? "";
  if (id === "") throw new RpcError("INVALID_ARGUMENT", `The id of the source ${kind} is missing.`);
  if (sources.includes(kind)) return { kind, id };
  throw new RpcError("INVALID_ARGUMENT", cannotCreateFrom(kind, name));
}

export function cannotCreateFrom(kind: VolumeSource["kind"], driver: string): string {
  return `Volumes of ${driver} cannot be created from ${kind}s: the cloud cannot do that.`;
}
