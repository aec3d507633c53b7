// EBS volumes in Kubernetes, compatible with the CSI driver ebs.csi.aws.com: parameters, topology, devices, and limits. Pure.

import { type Field, flag, integer, oneOf, text, type VolumeDriver } from "#ccm";
import { instanceIDOf } from "../instances.ts";
import { isReservedTag } from "../settings.ts";
import { volumeLimit } from "./volume-limits.ts";

export const gibibyte = 2 ** 30;
export const driverName = "ebs.csi.aws.com";
export const zoneKey = "topology.kubernetes.io/zone";

/** The claim data that a tag may contain, as in the Go driver's templates. */
export const placeholder = /\{\{\s*\.(PVCName|PVCNamespace|PVName)\s*\}\}/g;

/** The Go driver names them `tagSpecification_1` and so on. `spellParameters` combines them into lines. */
const tagSpecification: Field<ReadonlyMap<string, string>> = {
  text: "Further tags of the volume, one in each of tagSpecification_1, tagSpecification_2 and so on: key=value. A value may have {{ .PVCName }}, {{ .PVCNamespace }} and {{ .PVName }}.",
  expects:
    "key=value, without another template, and without a reserved key (CSIVolumeName, kubernetes.io…, ebs.csi.aws.com/…)",
  parse: (raw) => {
    const all = raw.split("\n").map((line) => /^([^=]*)=(.*)$/s.exec(line) ?? [line]);
    const wrong = all.find(
      ([, key = "", value = ""]) => isReservedTag(key) || value.replaceAll(placeholder, "").includes("{{"),
    );
    if (wrong !== undefined) return { wrong: JSON.stringify(wrong[0]) };
    return { value: new Map(all.map(([, key = "", value = ""]) => [key, value])) };
  },
};

const forFormat = (what: string): Field<string> => ({
  text: what,
  expects: "letters and digits",
  parse: (raw) =>
    /^[0-9A-Za-z]+$/.test(raw.trim()) ? { value: raw.trim() } : { wrong: JSON.stringify(raw) },
});

const no = { fallback: false };
const count = { min: 1, max: 2 ** 31 - 1 };

/** Options for mkfs.ext4, and for mkfs.xfs where supported. The context keys are those of the Go driver, in lower case. */
const formats = {
  blockSize: { field: forFormat("Block size of the file system."), ext: "-b ", xfs: "-b size=" },
  inodeSize: { field: forFormat("Inode size of the file system."), ext: "-I ", xfs: "-i size=" },
  bytesPerInode: { field: forFormat("Bytes for each inode of ext4."), ext: "-i " },
  numberOfInodes: { field: forFormat("Number of ext4 inodes."), ext: "-N " },
  ext4ClusterSize: { field: forFormat("Cluster size of ext4 with ext4BigAlloc."), ext: "-C " },
} as const;
const features = { ext4bigalloc: "bigalloc", ext4encryptionsupport: "encrypt" } as const;

const parameters = {
  type: oneOf("Type of the volume.", ["gp2", "gp3", "io1", "io2", "sc1", "st1", "standard"], {
    fallback: "gp3",
  }),
  iops: integer("I/O operations a second, of gp3, io1 and io2.", count),
  iopsPerGB: integer("I/O operations a second for each GiB, instead of iops.", count),
  allowAutoIOPSPerGBIncrease: flag("Whether to raise IOPS that are too few for the type.", no),
  allowAutoIOPSIncreaseOnModify: flag("Whether the IOPS follow iopsPerGB when the volume is expanded."),
  throughput: integer("MiB a second, of gp3.", count),
  encrypted: flag("Whether the volume is encrypted.", no),
  kmsKeyId: text("ARN of the key for an encrypted volume. Default: the account's key."),
  blockSize: formats.blockSize.field,
  inodeSize: formats.inodeSize.field,
  bytesPerInode: formats.bytesPerInode.field,
  numberOfInodes: formats.numberOfInodes.field,
  ext4BigAlloc: flag("Whether ext4 allocates in clusters.", no),
  ext4ClusterSize: formats.ext4ClusterSize.field,
  ext4EncryptionSupport: flag("Whether ext4 can encrypt folders.", no),
  tagSpecification,
  blockExpress: text("All volumes of the type io2 are Block Express.", { ineffective: true }),
  volumeInitializationRate: integer("MiB a second at which a volume gets the data of its snapshot.", count),
  blockAttachUntilInitialized: text("A volume is attached while it still gets the data of its snapshot.", {
    ineffective: true,
  }),
  fstype: text("The provisioner reads it.", { ineffective: true }),
};
export type VolumeParameters = typeof parameters;

const names = new Map(Object.keys(parameters).map((name) => [name.toLowerCase(), name]));

export const volumeDriver: VolumeDriver<VolumeParameters> = {
  name: driverName,
  parameters,
  /** The case of the names does not matter, as in the Go driver. */
  spellParameters: (raw) => {
    const isTag = ([key]: readonly [string, string]) => key.startsWith("tagSpecification");
    const all = Object.entries(raw);
    const tags = all.filter(isTag).map(([, value]) => value);
    const others = all.filter((one) => !isTag(one));
    return {
      ...Object.fromEntries(others.map(([key, value]) => [names.get(key.toLowerCase()) ?? key, value])),
      ...(tags.length > 0 && { tagSpecification: tags.join("\n") }),
    };
  },
  unknownParameters: "refused",
  sources: ["snapshot"],
  sizes: { min: gibibyte, step: gibibyte, max: 65_536 * gibibyte },
  topologyKeys: [zoneKey],
  topologyAliases: { [`topology.${driverName}/zone`]: zoneKey },
  nodeIDOf: instanceIDOf,
  providerIDOf: (nodeID) => `aws:///${nodeID}`,
  topologyOf: ({ zone }) => (zone === undefined ? undefined : { [zoneKey]: zone }),
  limitOf: ({ type }) => volumeLimit(type),
  contextOf: (values) => {
    const set = Object.keys(formats).map((name) => [name, values[name as keyof typeof formats]] as const);
    const switches = [
      ["ext4BigAlloc", values.ext4BigAlloc],
      ["ext4EncryptionSupport", values.ext4EncryptionSupport],
    ] as const;
    return Object.fromEntries(
      [...set, ...switches].flatMap(([name, value]) => (value ? [[name.toLowerCase(), String(value)]] : [])),
    );
  },
  publishContextOf: ({ device }) => ({ devicePath: device }),
  /** The paths of NVMe volumes, for which the device name is meaningless. */
  devicePathsOf: (_, volumeID) => [
    `/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_${volumeID.replaceAll("-", "")}`,
  ],
  deviceNameOf: ({ devicePath }) => devicePath,
  formatOptionsOf: (context, fileSystem) => {
    const set = Object.entries<{ readonly ext: string; readonly xfs?: string }>(formats);
    return [
      ...set.flatMap(([name, { ext, xfs = ext }]) => {
        const value = context[name.toLowerCase()];
        return value ? [`${fileSystem === "xfs" ? xfs : ext}${value}`] : [];
      }),
      ...Object.entries(features).flatMap(([key, name]) => (context[key] === "true" ? [`-O ${name}`] : [])),
    ].join(" ");
  },
};
