// The addresses that cloud-init configures in a machine, from its `guestinfo.metadata`. A guest can
// write the metadata, so its length is limited. Pure.

import { gunzipSync } from "node:zlib";
import { parseIp } from "#ccm";

/** A guest cannot set more, and the configuration of a network needs much less. */
const maxLength = 64 * 1024;
const maxAddresses = 256;

function decoded(text: string): Uint8Array | undefined {
  const bytes = Buffer.from(text, "base64");
  return bytes.length === 0 ? undefined : bytes;
}

const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

function parsed(text: string): Readonly<Record<string, unknown>> {
  return Object(Bun.YAML.parse(text)) as Readonly<Record<string, unknown>>;
}

/** The configuration of the network: encoded as a separate document, or as a part of the metadata. */
function networkIn(metadata: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { network } = metadata;
  const encoding = metadata["network.encoding"];
  if (typeof network !== "string") return Object(network) as Readonly<Record<string, unknown>>;
  const bytes = decoded(network);
  if (bytes === undefined) return {};
  if (encoding === "base64" || encoding === "b64") return parsed(textOf(bytes));
  if (encoding === "gzip+base64" || encoding === "gz+b64")
    return parsed(textOf(gunzipSync(bytes, { maxOutputLength: maxLength })));
  return {};
}

/** The addresses in the order of the configuration. Empty if there is no metadata, or if it cannot be read. */
export function staticAddresses(
  metadata: string | undefined,
  encoding: string | undefined,
): readonly string[] {
  if (metadata === undefined || encoding !== "base64" || metadata.length > maxLength) return [];
  try {
    const bytes = decoded(metadata);
    const { ethernets } = bytes === undefined ? {} : networkIn(parsed(textOf(bytes)));
    return Object.values(Object(ethernets) as object)
      .flatMap((one: unknown) => {
        const { addresses } = Object(one) as { readonly addresses?: unknown };
        return Array.isArray(addresses) ? addresses.slice(0, maxAddresses) : [];
      })
      .flatMap((address: unknown) => parseIp(String(address).split("/")[0] ?? "") ?? [])
      .slice(0, maxAddresses);
  } catch {
    // Another tool wrote the metadata. The addresses keep the order in which VMware Tools report them.
    return [];
  }
}
