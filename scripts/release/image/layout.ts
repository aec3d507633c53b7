// An OCI image layout as the files of a folder: blobs by checksum, and one index for all processors. Pure.

import { createHash } from "node:crypto";
import type { TarEntry } from "../tar.ts";
import type { Architecture } from "./lock.ts";

export interface Layer {
  readonly compressed: Uint8Array;
  readonly uncompressed: Uint8Array;
  /** The text for `history`, which users see. */
  readonly createdBy: string;
}

export interface Image {
  readonly architecture: Architecture;
  readonly layers: readonly Layer[];
}

export interface LayoutOptions {
  readonly tag: string;
  /** The time in the form of RFC 3339. */
  readonly created: string;
  readonly entrypoint: readonly string[];
  readonly environment: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
}

interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

const mediaType = (name: string): string => `application/vnd.oci.image.${name}`;
const digestOf = (content: Uint8Array): string =>
  `sha256:${createHash("sha256").update(content).digest("hex")}`;
const json = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value));

/** The blobs of a layout, each once. */
class Blobs {
  readonly #contents = new Map<string, Uint8Array>();

  add(type: string, content: Uint8Array): Descriptor {
    const digest = digestOf(content);
    this.#contents.set(digest, content);
    return { mediaType: mediaType(type), digest, size: content.length };
  }

  entries(): readonly TarEntry[] {
    return [...this.#contents]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([digest, content]) => ({ path: `blobs/${digest.replace(":", "/")}`, mode: 0o644, content }));
  }
}

function configOf(
  { architecture, layers }: Image,
  { created, entrypoint, environment, labels }: LayoutOptions,
) {
  return {
    created,
    architecture,
    os: "linux",
    config: {
      User: "65532:65532",
      Env: environment,
      Entrypoint: entrypoint,
      WorkingDir: "/",
      Labels: labels,
    },
    rootfs: { type: "layers", diff_ids: layers.map(({ uncompressed }) => digestOf(uncompressed)) },
    history: layers.map(({ createdBy }) => ({ created, created_by: createdBy })),
  };
}

function addImage(blobs: Blobs, image: Image, options: LayoutOptions): Descriptor {
  const manifest = {
    schemaVersion: 2,
    mediaType: mediaType("manifest.v1+json"),
    config: blobs.add("config.v1+json", json(configOf(image, options))),
    layers: image.layers.map(({ compressed }) => blobs.add("layer.v1.tar+gzip", compressed)),
    annotations: options.labels,
  };
  return blobs.add("manifest.v1+json", json(manifest));
}

/** The tag is that of the index; a tag per processor, for example 1.0.0-amd64, is for tools that do not support an index. */
export function ociLayout(images: readonly Image[], options: LayoutOptions): readonly TarEntry[] {
  const blobs = new Blobs();
  const manifests = images.map((image) => ({
    ...addImage(blobs, image, options),
    platform: { architecture: image.architecture, os: "linux" },
  }));
  const index = {
    schemaVersion: 2,
    mediaType: mediaType("index.v1+json"),
    manifests,
    annotations: options.labels,
  };
  const tagged = (descriptor: Descriptor, tag: string) => ({
    ...descriptor,
    annotations: { "org.opencontainers.image.ref.name": tag },
  });
  const top = {
    schemaVersion: 2,
    mediaType: mediaType("index.v1+json"),
    manifests: [
      tagged(blobs.add("index.v1+json", json(index)), options.tag),
      ...manifests.map((each) => tagged(each, `${options.tag}-${each.platform.architecture}`)),
    ],
  };
  return [
    { path: "blobs/", mode: 0o755 },
    { path: "blobs/sha256/", mode: 0o755 },
    ...blobs.entries(),
    { path: "index.json", mode: 0o644, content: json(top) },
    { path: "oci-layout", mode: 0o644, content: json({ imageLayoutVersion: "1.0.0" }) },
  ];
}
