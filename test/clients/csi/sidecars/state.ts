// The compared state: one line for each member of an object, without the values that each control plane chooses at random.

import type {
  Event,
  PersistentVolume,
  PersistentVolumeClaim,
  VolumeAttachment,
} from "../../../../src/kube/objects.ts";
import type { State } from "../../../differential/rig/compared-state.ts";
import { contentLines, snapshotLines } from "./snapshots.ts";
import type { Stage } from "./stage.ts";

type Line = readonly [member: string, value: unknown];
type Named = { readonly metadata: { readonly deletionTimestamp?: string | undefined } };

const map = (kind: string, entries: Readonly<Record<string, unknown>> = {}): readonly Line[] =>
  Object.entries(entries).map(([key, value]) => [`${kind} ${key}`, value]);

const exists = ({ metadata }: Named): Line => [
  "exists",
  metadata.deletionTimestamp === undefined ? "yes" : "until its finalizers are removed",
];

const claimLines = ({ metadata, spec, status }: PersistentVolumeClaim): readonly Line[] => [
  exists({ metadata }),
  ["phase", status?.phase],
  ["volumeName", spec?.volumeName],
  ["finalizers", metadata.finalizers?.toSorted()],
  ...map("annotation", metadata.annotations),
  ["capacity", status?.capacity?.["storage"]],
  ["allocated", status?.allocatedResources?.["storage"]],
  ["expansion", status?.allocatedResourceStatuses?.["storage"]],
  ...(status?.conditions ?? []).map(
    ({ type, status: value, reason, message }): Line => [
      `condition ${type}`,
      [value, reason, message].filter((part) => part !== undefined).join(" "),
    ],
  ),
];

/** Members that the API server defaults are compared too. */
function volumeLines({ metadata, spec, status }: PersistentVolume): readonly Line[] {
  const { csi, claimRef, ...rest } = spec ?? {};
  const { volumeAttributes, ...source } = csi ?? {};
  const { name, namespace, kind, apiVersion } = claimRef ?? {};
  return [
    exists({ metadata }),
    ["phase", status?.phase],
    ["finalizers", metadata.finalizers?.toSorted()],
    ...map("annotation", metadata.annotations),
    ...map("label", metadata.labels),
    ...Object.entries(rest),
    // A volume may also have the id "v1".
    ["claimRef", claimRef && { name, namespace, kind, apiVersion: apiVersion?.replace(/^v1$/, "core") }],
    ["source", source],
    ...map("attribute", volumeAttributes),
  ];
}

const attachmentLines = ({ metadata, status }: VolumeAttachment): readonly Line[] => [
  exists({ metadata }),
  ["finalizers", metadata.finalizers?.toSorted()],
  ...map("annotation", metadata.annotations),
  ["attached", status?.attached],
  ...map("attribute", status?.attachmentMetadata),
  ["attachError", status?.attachError?.message],
  ["detachError", status?.detachError?.message],
];

/** The timing of Kubernetes' events depends on when it sees the PersistentVolume. */
const ofKubernetes = /^(persistentvolume-controller|attachdetach-controller)$/;
const kinds = [
  ...["PersistentVolumeClaim", "PersistentVolume", "VolumeAttachment"],
  ...["VolumeSnapshot", "VolumeSnapshotContent"],
];

/** The prefixes that sidecars add to a message of the driver: V1. */
const prefixes =
  /Volume provisioning failed with infeasible error\. Retries will be delayed\. |resize volume "[^"]*" by resizer "[^"]*" failed: |rpc error: code = \w+ desc = /g;

/** The messages by type and reason, without their number. */
function eventLines(all: readonly Event[]): ReadonlyMap<string, string> {
  const own = all.filter(
    ({ source, reportingComponent, involvedObject }) =>
      kinds.includes(involvedObject.kind ?? "") &&
      // The snapshot-controller records one event about an object without a name.
      involvedObject.name !== undefined &&
      !ofKubernetes.test(source?.component ?? reportingComponent ?? ""),
  );
  const found = Map.groupBy(
    own,
    ({ involvedObject: { kind, name }, type, reason }) => `${kind} ${name}: event ${type} ${reason}`,
  );
  return new Map(
    [...found].map(([at, each]) => [
      at,
      [...new Set(each.map(({ message = "" }) => message))].toSorted().join("\n"),
    ]),
  );
}

/** Rejected calls are repeated at any time, so they are not counted. */
function callLines({ calls }: Stage): ReadonlyMap<string, string> {
  const found = Map.groupBy(calls, ({ kind, name, what }) => `cloud ${kind} ${name}: call ${what}`);
  return new Map([...found].map(([line, all]) => [line, line.endsWith(")") ? "some" : String(all.length)]));
}

/** Translates the names and ids of one side, including those of deleted objects. */
const meanings = new WeakMap<Stage, Map<string, string>>();

export function stateOf(stage: Stage): State {
  const { claims, volumes, attachments, events } = stage.seen;
  const known = meanings.get(stage) ?? new Map<string, string>();
  meanings.set(stage, known);
  for (const { metadata } of claims) {
    known.set(`pvc-${metadata.uid}`, `volume-of-${metadata.name}`);
    known.set(metadata.uid, `uid-of-${metadata.name}`);
  }
  for (const { id, name } of stage.cloud.volumes.list()) {
    known.set(id, `id-of-${known.get(name) ?? name}`);
    known.set(`fake-${id}`, `device-of-${known.get(name) ?? name}`);
  }
  for (const { metadata } of stage.snapshots.snapshots) {
    known.set(`snapcontent-${metadata.uid}`, `content-of-${metadata.name}`);
    known.set(`snapshot-${metadata.uid}`, `snapshot-of-${metadata.name}`);
    known.set(metadata.uid, `uid-of-${metadata.name}`);
  }
  for (const { id, name } of stage.cloud.snapshots.list()) known.set(id, `id-of-${known.get(name) ?? name}`);
  for (const { metadata, spec } of attachments) {
    // The attach/detach controller hashes names; names of the scenarios stay unchanged.
    if (!metadata.name.startsWith("csi-")) continue;
    const volume = spec.source.persistentVolumeName ?? "";
    known.set(metadata.name, `${known.get(volume) ?? volume}-on-${spec.nodeName}`);
  }
  const meant = (text: string): string =>
    text
      .replace(/[\w.:-]*\w/g, (word) => known.get(word) ?? word)
      .replaceAll(prefixes, "")
      .replace(/\d+-\d+-csi\.fake\.example/g, "identity-of-the-provisioner");
  const state = new Map<string, string>();
  const add = (object: string, lines: readonly Line[]): void => {
    for (const [member, value] of lines) {
      if (value === undefined || (Array.isArray(value) && value.length === 0)) continue;
      const text = typeof value === "string" ? value : JSON.stringify(value);
      state.set(meant(`${object}: ${member}`), meant(text));
    }
  };
  for (const claim of claims) add(`PersistentVolumeClaim ${claim.metadata.name}`, claimLines(claim));
  for (const volume of volumes) add(`PersistentVolume ${volume.metadata.name}`, volumeLines(volume));
  for (const one of attachments) add(`VolumeAttachment ${one.metadata.name}`, attachmentLines(one));
  const { snapshots, contents } = stage.snapshots;
  for (const one of snapshots) add(`VolumeSnapshot ${one.metadata.name}`, snapshotLines(one));
  for (const one of contents) add(`VolumeSnapshotContent ${one.metadata.name}`, contentLines(one));
  for (const [at, messages] of eventLines(events)) state.set(meant(at), meant(messages));
  for (const { name, machine, status: _, id: __, labels: ___, ...rest } of stage.cloud.volumes.list()) {
    const node = machine === null ? "none" : stage.cloud.machines.find(machine)[0]?.name;
    add(`cloud volume ${name}`, [["exists", "yes"], ["machine", node], ...Object.entries(rest)]);
  }
  for (const { name, status: _, id: __, created_at: ___, ...rest } of stage.cloud.snapshots.list())
    add(`cloud snapshot ${name}`, [["exists", "yes"], ...Object.entries(rest)]);
  for (const [line, count] of callLines(stage)) state.set(meant(line), count);
  return state;
}
