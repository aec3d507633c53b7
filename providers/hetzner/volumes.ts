// Volumes of Hetzner Cloud, with the names, ids, labels and parameters of the CSI driver of
// Hetzner, so that its PersistentVolumes remain usable.

import {
  type Call,
  CloudError,
  codeOf,
  collect,
  deleted,
  ifFound,
  mapEntries,
  type ObservedVolume,
  requestTo,
  text,
  type VolumeDriver,
  type Volumes,
} from "#ccm";
import { type HetznerApi, outcomeOf } from "./api.ts";
import type { ApiVolume } from "./resources.ts";
import type { Settings } from "./settings.ts";
import { labelValue, volumeLabels } from "./volume-labels.ts";

const gibibyte = 2 ** 30;
const locationKey = "csi.hetzner.cloud/location";

const parameters = {
  labels: volumeLabels("Further labels of the volume."),
  fsFormatOptions: text("Options for mkfs, as in a shell."),
};

export const volumeDriver: VolumeDriver<typeof parameters> = {
  name: "csi.hetzner.cloud",
  parameters,
  sizes: { min: 10 * gibibyte, step: gibibyte, max: 10_240 * gibibyte },
  topologyKeys: [locationKey],
  nodeIDOf: (providerID) => /^hcloud:\/\/(\d+)$/.exec(providerID)?.[1],
  providerIDOf: (nodeID) => `hcloud://${nodeID}`,
  topologyOf: ({ region }) => (region === undefined ? undefined : { [locationKey]: region }),
  limitOf: () => 16,
  contextOf: ({ fsFormatOptions = "" }) => ({ fsFormatOptions }),
  publishContextOf: ({ device }) => ({ devicePath: device }),
  devicePathsOf: ({ devicePath }, volumeID) => (devicePath?.endsWith(`_${volumeID}`) ? [devicePath] : []),
  formatOptionsOf: ({ fsFormatOptions = "" }) => fsFormatOptions,
};

function toObserved(volume: ApiVolume): ObservedVolume {
  const { id, name, size, server, location, linux_device, status, protection } = volume;
  return {
    id: String(id),
    name,
    size: size * gibibyte,
    topology: { [locationKey]: location.name },
    attachedTo: server === null ? [] : [String(server)],
    device: linux_device,
    state: status === "available" ? "ready" : "changing",
    ...(protection.delete && { isProtected: true }),
  };
}

const isID = (text: string): boolean => /^[1-9]\d{0,15}$/.test(text);

function noServer(machine: string, operation: string): CloudError {
  return new CloudError("not-found", `Server ${machine} does not exist.`, { operation });
}

/** Another volume has the name; a later listing shows it. */
function takenName(error: unknown): unknown {
  const isTaken = CloudError.is(error) && codeOf(error) === "uniqueness_error";
  return isTaken ? new CloudError("conflict", error.message, error.detail) : error;
}

export function hetznerVolumes(api: HetznerApi, settings: Settings): Volumes<typeof parameters> {
  const act = async (
    action: "attach" | "detach" | "resize",
    { id, name }: ObservedVolume,
    body: object | undefined,
    call: Call,
  ) => {
    const response = await api.change(requestTo(`POST /volumes/{id}/actions/${action}`, { id }, body), call);
    return outcomeOf(response.action, `volume ${name}`);
  };
  return {
    list: (call) => mapEntries(api.volumes(call), toObserved),
    get: async (id, call) => {
      const found = isID(id) ? await ifFound(api.volume(id, call)) : undefined;
      const volume = found && toObserved(found);
      if (volume === undefined || volume.attachedTo.length > 0) return volume;
      // The volume shows an attachment only after its action has ended.
      const actions = (await ifFound(collect(api.volumeActions(id, call)))) ?? [];
      const isChanging = actions.some((action) => action.status === "running");
      return isChanging ? { ...volume, state: "changing" } : volume;
    },
    create: async ({ name, size, topology, parameters, claim }, call) => {
      const operation = "POST /volumes";
      const location = topology?.[locationKey] ?? settings["volumes-default-location"];
      if (location === undefined)
        throw new CloudError(
          "invalid",
          `No location is known for volume ${name}. Use volumeBindingMode: WaitForFirstConsumer in the StorageClass, or set HCLOUD_VOLUME_DEFAULT_LOCATION.`,
          { operation },
        );
      const owner = claim && {
        "pvc-name": labelValue(claim.name),
        "pvc-namespace": labelValue(claim.namespace),
        "pv-name": labelValue(claim.volume),
      };
      const extra = Object.fromEntries(settings["volumes-extra-labels"] ?? []);
      const own = Object.fromEntries(parameters.labels ?? []);
      const all = { "managed-by": "csi-driver", ...extra, ...owner, ...own };
      const body = { name, size: size / gibibyte, location, labels: all };
      const created = await api
        .change<{ volume: ApiVolume }>({ ...requestTo(operation, {}, body), expects: ["volume"] }, call)
        .catch((error: unknown) => {
          throw takenName(error);
        });
      return { ...outcomeOf(created.action, `volume ${name}`), id: String(created.volume.id) };
    },
    remove: ({ id }, call) => deleted(api.change(requestTo("DELETE /volumes/{id}", { id }), call)),
    attach: async (volume, machine, call) => {
      const operation = "POST /volumes/{id}/actions/attach";
      if (!isID(machine)) throw noServer(machine, operation);
      try {
        return await act("attach", volume, { server: Number(machine), automount: false }, call);
      } catch (error) {
        // The API does not report which of the two is missing.
        const isUnclear = CloudError.is(error) && ["not-found", "invalid"].includes(error.kind);
        if (isUnclear && (await ifFound(api.server(machine, call))) === undefined)
          throw noServer(machine, operation);
        throw error;
      }
    },
    detach: (volume, _machine, call) => act("detach", volume, undefined, call),
    expand: (volume, size, call) => act("resize", volume, { size: size / gibibyte }, call),
  };
}
