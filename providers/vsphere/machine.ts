// A virtual machine as vCenter describes it, with the properties in use. Pure.

import { many, textIn } from "#ccm";
import { type ManagedObject, membersOf, type Reference, referenceIn } from "./api/vim.ts";

/** A network interface, as VMware Tools report it. */
export interface Nic {
  readonly network: string;
  /** Whether the interface is a device of the machine. Other interfaces, such as bridges, were created in the guest. */
  readonly isDevice: boolean;
  readonly addresses: readonly string[];
}

export interface VirtualMachine {
  readonly ref: Reference;
  readonly name: string;
  /** The UUID in lower case. Undefined while vCenter cannot read the configuration of the machine. */
  readonly uuid: string | undefined;
  readonly isTemplate: boolean;
  readonly power: string | undefined;
  /** `connected`, `disconnected`, `orphaned`, `inaccessible` or `invalid`. */
  readonly connection: string | undefined;
  readonly guestID: string | undefined;
  readonly cpus: number;
  readonly memoryMB: number;
  /** Undefined while VMware Tools report no host name. */
  readonly hostName: string | undefined;
  readonly nics: readonly Nic[];
  /** The extra configuration `guestinfo.metadata`, and its encoding. */
  readonly metadata: string | undefined;
  readonly metadataEncoding: string | undefined;
  readonly host: Reference | undefined;
  readonly pool: Reference | undefined;
  /** The folder or vApp of the machine. */
  readonly parent: Reference | undefined;
}

const nonEmpty = (text: string | undefined): string | undefined =>
  text?.trim() === "" ? undefined : text?.trim();

export function toMachine({ ref, properties }: ManagedObject): VirtualMachine {
  const text = (path: string) => nonEmpty(textIn(properties[path]));
  const option = (key: string) =>
    nonEmpty(textIn(membersOf(properties[`config.extraConfig["${key}"]`])["value"]));
  const nics = many(membersOf(properties["guest.net"])["GuestNicInfo"]).map((each): Nic => {
    const { network, deviceConfigId, ipAddress } = membersOf(each);
    return {
      network: textIn(network) ?? "",
      isDevice: textIn(deviceConfigId) !== "-1",
      addresses: many(ipAddress).flatMap((one) => nonEmpty(textIn(one)) ?? []),
    };
  });
  return {
    ref,
    name: text("name") ?? ref.value,
    uuid: text("summary.config.uuid")?.toLowerCase(),
    isTemplate: text("summary.config.template") === "true",
    power: text("runtime.powerState"),
    connection: text("runtime.connectionState"),
    guestID: text("summary.config.guestId"),
    cpus: Number(text("summary.config.numCpu") ?? 0),
    memoryMB: Number(text("summary.config.memorySizeMB") ?? 0),
    hostName: text("guest.hostName"),
    nics,
    metadata: option("guestinfo.metadata"),
    metadataEncoding: option("guestinfo.metadata.encoding"),
    host: referenceIn(properties["runtime.host"]),
    pool: referenceIn(properties["resourcePool"]),
    parent: referenceIn(properties["parent"]) ?? referenceIn(properties["parentVApp"]),
  };
}
