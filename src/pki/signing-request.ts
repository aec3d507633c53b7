// Reads certificate signing requests (PKCS#10) from untrusted sources, and verifies their signature. Pure.

import { createPublicKey, type KeyObject, verify } from "node:crypto";
import { messageOf } from "../core/error-message.ts";
import { parseIp } from "../core/ip.ts";
import { type DerElement, elementsIn, InvalidDer, objectIDOf, onlyElement, withTag } from "./der-reader.ts";

export interface SigningRequest {
  readonly commonNames: readonly string[];
  readonly organizations: readonly string[];
  readonly dnsNames: readonly string[];
  /** In canonical form. */
  readonly addresses: readonly string[];
  /** The additional content as text: other parts of the subject, other kinds of names, other extensions. */
  readonly others: readonly string[];
}

/** Longer requests are not parsed. A kubelet's request has less than 1 kB. */
const maxBytes = 16_384;

const sequence = 0x30;
const set = 0x31;
const printable = 0x13;
const utf8 = 0x0c;
const label = "CERTIFICATE REQUEST";

function bytesOf(pem: string): Uint8Array {
  if (pem.length > maxBytes * 2) throw new InvalidDer(`it has more than ${maxBytes} bytes`);
  const match = /^\s*-----BEGIN ([A-Z ]+)-----\r?\n([A-Za-z0-9+/=\r\n]+?)-----END ([A-Z ]+)-----\s*$/.exec(
    pem,
  );
  if (match?.[1] !== label || match[3] !== label)
    throw new InvalidDer(`it is not one PEM block with the label ${label}`);
  const bytes = Uint8Array.from(Buffer.from(match[2] ?? "", "base64"));
  if (bytes.length > maxBytes) throw new InvalidDer(`it has more than ${maxBytes} bytes`);
  return bytes;
}

function textOf({ tag, content }: DerElement): string {
  if (tag !== printable && tag !== utf8) throw new InvalidDer("a name has a different type than text");
  try {
    // A decoder that drops a byte order mark would return a different name than the signer reads.
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(content);
  } catch (cause) {
    throw new InvalidDer("a name is not valid UTF-8", { cause });
  }
}

function asciiOf({ content }: DerElement): string {
  if (content.some((byte) => byte < 0x21 || byte > 0x7e)) throw new InvalidDer("a name is not ASCII");
  return String.fromCharCode(...content);
}

function addressOf({ content }: DerElement): string {
  const parts =
    content.length === 4
      ? [...content].join(".")
      : content.length === 16
        ? Buffer.from(content).toString("hex").match(/.{4}/g)?.join(":")
        : undefined;
  const address = parts === undefined ? undefined : parseIp(parts);
  if (address === undefined) throw new InvalidDer(`an IP address has ${content.length} bytes`);
  return address;
}

interface Attribute {
  readonly type: string;
  readonly value: DerElement;
}

function attributeIn(element: DerElement): Attribute {
  const [type, value, ...rest] = elementsIn(withTag(element, sequence, "an attribute").content);
  if (value === undefined || rest.length > 0) throw new InvalidDer("an attribute is malformed");
  return { type: objectIDOf(withTag(type, 0x06, "the type of an attribute")), value };
}

function subjectOf(name: DerElement): Pick<SigningRequest, "commonNames" | "organizations" | "others"> {
  const attributes = elementsIn(name.content).flatMap((relative) =>
    elementsIn(withTag(relative, set, "a part of the subject").content).map(attributeIn),
  );
  const valuesOf = (type: string): readonly string[] =>
    attributes.flatMap((attribute) => (attribute.type === type ? [textOf(attribute.value)] : []));
  const known = ["2.5.4.3", "2.5.4.10"];
  return {
    commonNames: valuesOf("2.5.4.3"),
    organizations: valuesOf("2.5.4.10"),
    others: attributes.flatMap(({ type }) => (known.includes(type) ? [] : [`subject attribute ${type}`])),
  };
}

type Names = Pick<SigningRequest, "dnsNames" | "addresses" | "others">;

const otherNames: Readonly<Record<number, string>> = { 129: "an email address", 134: "a URI" };

function alternativeNames(value: DerElement): Names {
  const names = elementsIn(onlyElement(value.content, sequence, "the list of names").content);
  return {
    dnsNames: names.filter(({ tag }) => tag === 0x82).map(asciiOf),
    addresses: names.filter(({ tag }) => tag === 0x87).map(addressOf),
    others: names
      .filter(({ tag }) => tag !== 0x82 && tag !== 0x87)
      .map(({ tag }) => otherNames[tag] ?? "a name of another kind"),
  };
}

const noNames: Names = { dnsNames: [], addresses: [], others: [] };

function extensionIn(element: DerElement): Attribute {
  const [type, ...rest] = elementsIn(withTag(element, sequence, "an extension").content);
  // The optional second element marks the extension as critical. Signers ignore what follows the value.
  const [value, ...more] = rest[0]?.tag === 0x01 ? rest.slice(1) : rest;
  if (more.length > 0) throw new InvalidDer("an extension has several values");
  return {
    type: objectIDOf(withTag(type, 0x06, "the type of an extension")),
    value: withTag(value, 0x04, "the value of an extension"),
  };
}

/** The requested extensions. Only alternative names are expected. */
function extensionsIn(attributes: DerElement): Names {
  const [attribute, ...more] = elementsIn(attributes.content).map(attributeIn);
  if (attribute === undefined) return noNames;
  if (more.length > 0 || attribute.type !== "1.2.840.113549.1.9.14")
    return { ...noNames, others: ["an attribute that is not a request for extensions"] };
  const list = onlyElement(
    withTag(attribute.value, set, "the value of an attribute").content,
    sequence,
    "the list of extensions",
  );
  const extensions = elementsIn(list.content).map(extensionIn);
  const isNames = ({ type }: { readonly type: string }): boolean => type === "2.5.29.17";
  const [names, ...repeated] = extensions.filter(isNames);
  if (repeated.length > 0) throw new InvalidDer("it has several lists of names");
  const found = names === undefined ? noNames : alternativeNames(names.value);
  const others = extensions.filter((each) => !isNames(each)).map(({ type }) => `extension ${type}`);
  return { ...found, others: [...found.others, ...others] };
}

/** By the object id of the signature algorithm. */
const hashes: Readonly<Record<string, string | null>> = {
  "1.2.840.10045.4.3.2": "sha256",
  "1.2.840.10045.4.3.3": "sha384",
  "1.2.840.10045.4.3.4": "sha512",
  "1.2.840.113549.1.1.11": "sha256",
  "1.2.840.113549.1.1.12": "sha384",
  "1.2.840.113549.1.1.13": "sha512",
  // Ed25519 has no separate hash.
  "1.3.101.112": null,
};

function checkSignature(
  info: DerElement,
  algorithm: DerElement,
  signature: DerElement,
  key: DerElement,
): void {
  const [type] = elementsIn(algorithm.content);
  const hash = hashes[objectIDOf(withTag(type, 0x06, "the signature algorithm"))];
  if (hash === undefined) throw new InvalidDer("it has an unknown signature algorithm");
  let publicKey: KeyObject;
  let isValid: boolean;
  try {
    publicKey = createPublicKey({ key: Buffer.from(key.whole), format: "der", type: "spki" });
    isValid = verify(hash, info.whole, publicKey, signature.content.subarray(1));
  } catch (cause) {
    throw new InvalidDer(`its key is unusable: ${messageOf(cause)}`, { cause });
  }
  if (!isValid) throw new InvalidDer("its signature does not fit its key");
}

/** Throws InvalidDer for any input that is not a well-formed request signed with its own key. */
export function parseSigningRequest(pem: string): SigningRequest {
  const request = onlyElement(bytesOf(pem), sequence, "the request");
  const [info, algorithm, signature, ...rest] = elementsIn(request.content);
  if (signature === undefined || rest.length > 0) throw new InvalidDer("it has not three parts");
  const [version, subject, key, attributes, ...more] = elementsIn(
    withTag(info, sequence, "the request").content,
  );
  if (more.length > 0 || withTag(version, 0x02, "the version").content.join() !== "0")
    throw new InvalidDer("it has a different version or more parts");
  const names =
    attributes === undefined ? noNames : extensionsIn(withTag(attributes, 0xa0, "the attributes"));
  checkSignature(
    withTag(info, sequence, "the request"),
    withTag(algorithm, sequence, "the signature algorithm"),
    withTag(signature, 0x03, "the signature"),
    withTag(key, sequence, "the key"),
  );
  const name = subjectOf(withTag(subject, sequence, "the subject"));
  return { ...name, ...names, others: [...name.others, ...names.others] };
}
