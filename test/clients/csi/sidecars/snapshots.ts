// What users and the cloud do with snapshots on one side of the comparison, and the related lines of the compared state.

import type { Draft } from "../../../../src/kube/client/api.ts";
import type { KubeObject } from "../../../../src/kube/objects.ts";
import type { Resource } from "../../../../src/kube/resources.ts";
import {
  type VolumeSnapshot,
  type VolumeSnapshotContent,
  volumeSnapshotClasses,
  volumeSnapshotContents,
  volumeSnapshots,
} from "../../../../src/kube/volume-snapshots.ts";
import { until } from "../../../cluster/rig/until.ts";
import type { OfficialClient } from "../../../support/official-client.ts";

const namespace = "default";
const definitions: Resource<KubeObject> = {
  group: "apiextensions.k8s.io",
  version: "v1",
  namespaced: false,
  slim: (object) => object,
  plural: "customresourcedefinitions",
  kind: "CustomResourceDefinition",
};

/** The CRDs of external-snapshotter. */
export async function installDefinitions(api: OfficialClient, files: readonly string[]): Promise<void> {
  for (const file of files) {
    const definition = Bun.YAML.parse(await Bun.file(file).text()) as Draft<KubeObject>;
    await api.create(definitions, definition);
  }
  const lists = () =>
    [volumeSnapshots, volumeSnapshotContents, volumeSnapshotClasses].map((resource) =>
      api.list<KubeObject>(resource),
    );
  await until("the API server to have snapshots", async () =>
    (await Promise.allSettled(lists())).every(({ status }) => status === "fulfilled"),
  );
}

export interface SnapshotDraft {
  /** By default, the claim with the snapshot's name. */
  readonly claim?: string;
  /** A VolumeSnapshotContent instead of a claim. */
  readonly content?: string;
  readonly class?: string;
}

export class SnapshotObjects {
  readonly #api: OfficialClient;
  readonly #driver: string;
  /** The snapshots at the last `read`. */
  snapshots: readonly VolumeSnapshot[] = [];
  contents: readonly VolumeSnapshotContent[] = [];

  constructor(api: OfficialClient, driver: string) {
    this.#api = api;
    this.#driver = driver;
  }

  async read(): Promise<void> {
    const [snapshots, contents] = await Promise.all([
      this.#api.list(volumeSnapshots),
      this.#api.list(volumeSnapshotContents),
    ]);
    [this.snapshots, this.contents] = [snapshots, contents];
  }

  find(name: string): VolumeSnapshot | undefined {
    return this.snapshots.find(({ metadata }) => metadata.name === name);
  }

  contentOf(snapshot: string): VolumeSnapshotContent | undefined {
    return this.contents.find(({ spec }) => spec.volumeSnapshotRef.name === snapshot);
  }

  async createClass(name: string, deletionPolicy = "Delete", annotations = {}): Promise<void> {
    const draft = { metadata: { name, annotations }, driver: this.#driver, deletionPolicy };
    await this.#api.create(volumeSnapshotClasses, draft as never);
  }

  async create(name: string, { claim = name, content, ...options }: SnapshotDraft): Promise<void> {
    const source =
      content === undefined ? { persistentVolumeClaimName: claim } : { volumeSnapshotContentName: content };
    const spec = { source, ...(options.class && { volumeSnapshotClassName: options.class }) };
    await this.#api.create(volumeSnapshots, { metadata: { name, namespace }, spec } as never);
  }

  /** For a snapshot that exists in the cloud. */
  async createContent(name: string, snapshot: string, snapshotHandle: string): Promise<void> {
    const spec = {
      driver: this.#driver,
      deletionPolicy: "Delete",
      source: { snapshotHandle },
      volumeSnapshotRef: { name: snapshot, namespace },
    };
    await this.#api.create(volumeSnapshotContents, { metadata: { name }, spec } as never);
  }

  async delete(name: string): Promise<void> {
    await this.#api.delete(volumeSnapshots, { name, namespace });
  }

  async deleteContent(name: string): Promise<void> {
    await this.#api.delete(volumeSnapshotContents, { name });
  }
}

type Line = readonly [member: string, value: unknown];

const shared = ({ metadata }: KubeObject): readonly Line[] => [
  ["exists", metadata.deletionTimestamp === undefined ? "yes" : "until its finalizers are removed"],
  ["finalizers", metadata.finalizers?.toSorted()],
  ...Object.entries(metadata.annotations ?? {}).map(([key, value]): Line => [`annotation ${key}`, value]),
  ...Object.entries(metadata.labels ?? {}).map(([key, value]): Line => [`label ${key}`, value]),
];

/** Replaces times, which differ. */
const isSet = (value: unknown): unknown => value !== undefined && "set";

export const snapshotLines = (snapshot: VolumeSnapshot): readonly Line[] => {
  const { error, creationTime, ...status } = snapshot.status ?? {};
  return [
    ...shared(snapshot),
    ["class", snapshot.spec.volumeSnapshotClassName],
    ...Object.entries(status),
    ["creationTime", isSet(creationTime)],
    ["error", error?.message],
  ];
};

export const contentLines = (content: VolumeSnapshotContent): readonly Line[] => {
  const { volumeSnapshotRef, ...spec } = content.spec;
  const { error, creationTime, ...status } = content.status ?? {};
  return [
    ...shared(content),
    ["of", `${volumeSnapshotRef.namespace}/${volumeSnapshotRef.name}`],
    ["uid", isSet(volumeSnapshotRef.uid)],
    ...Object.entries(spec).map(([key, value]): Line => [`spec ${key}`, value]),
    ...Object.entries(status),
    ["creationTime", isSet(creationTime)],
    ["error", error?.message],
  ];
};
