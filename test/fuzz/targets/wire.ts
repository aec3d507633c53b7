// Bytes from other programs: CSI messages, certificates and signing requests, and the stream of a watch.

import { generateKeyPairSync, sign, X509Certificate } from "node:crypto";
import { createAuthority } from "../../../src/pki/authority.ts";
import { InvalidDer } from "../../../src/pki/der-reader.ts";
import { parseSigningRequest } from "../../../src/pki/signing-request.ts";
import { seededRandom } from "../../../src/platform/random.ts";
import { userOf, verifyClient } from "../../../src/server/identity.ts";
import { VirtualClock } from "../../../src/testing/virtual-time/virtual-clock.ts";
import { csiSchema } from "../../../src/volumes/csi/spec.ts";
import { Codec, MalformedMessage } from "../../../src/volumes/grpc/messages.ts";
import { signingRequestBytes } from "../../support/create-signing-request.ts";
import type { FuzzTarget } from "../target.ts";
import { der, protobuf } from "../tree.ts";

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString("latin1");
const bytesOf = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, "latin1"));

const codec = new Codec(csiSchema);
const volume = codec.encode("CreateVolumeRequest", {
  name: "pvc-1",
  capacityRange: { requiredBytes: 2 ** 34, limitBytes: 2 ** 40 },
  volumeCapabilities: [
    { mount: { fsType: "ext4", mountFlags: ["noatime"] }, accessMode: { mode: "SINGLE_NODE_WRITER" } },
    { block: {} },
  ],
  parameters: { "csi.storage.k8s.io/pvc/name": "data", type: "ssd" },
  accessibilityRequirements: {
    requisite: [{ segments: { zone: "a" } }],
    preferred: [{ segments: { zone: "a" } }],
  },
});

const names = { dnsNames: ["worker-1"], addresses: ["10.0.0.7", "2001:db8::7"] };
const authority = createAuthority("clients", new VirtualClock(), seededRandom(1));
const client = new X509Certificate(
  authority.issueClient({ commonName: "a", organizations: ["b", "c"] }).cert,
);
const pem = (input: string): string =>
  `-----BEGIN CERTIFICATE REQUEST-----\n${Buffer.from(input, "latin1").toString("base64")}\n-----END CERTIFICATE REQUEST-----\n`;

/** The signed content, with a key whose private part is known. */
const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const ownKey = textOf(publicKey.export({ type: "spki", format: "der" }));
const contentOf = (request: Uint8Array): string => {
  const [whole] = der.parse(textOf(request));
  const info = whole?.children[0];
  const parts = info?.children.map((part, index) => (index === 2 ? (der.parse(ownKey)[0] ?? part) : part));
  return der.print([{ tag: "0", children: parts ?? [] }]);
};
const ecdsaWithSha256 = "0\x0a\x06\x08\x2a\x86\x48\xce\x3d\x04\x03\x02";
const signed = (content: string): string => {
  const signature = `\x00${textOf(sign("sha256", bytesOf(content), privateKey))}`;
  return der.print([
    {
      tag: "0",
      children: [...der.parse(content + ecdsaWithSha256), { tag: "\x03", value: signature, children: [] }],
    },
  ]);
};

export const wireTargets: readonly FuzzTarget[] = [
  {
    name: "csi-message",
    form: protobuf,
    corpus: [textOf(volume)],
    run: (input) =>
      ["CreateVolumeRequest", "NodePublishVolumeRequest", "ListSnapshotsRequest"].map((name) => {
        try {
          return codec.decode(name as "CreateVolumeRequest", bytesOf(input));
        } catch (error) {
          if (error instanceof MalformedMessage) return undefined;
          throw error;
        }
      }),
    // A list of empty messages, each of which has the defaults of its fields.
    growth: 150,
  },
  {
    name: "signing-request",
    form: der,
    corpus: [
      contentOf(signingRequestBytes({ commonName: "system:node:worker-1", ...names })),
      contentOf(
        signingRequestBytes({ commonName: "a", uris: ["spiffe://x"], attributes: { "2.5.4.6": "DE" } }),
      ),
    ],
    run: (input) => {
      try {
        return parseSigningRequest(pem(input.length < 4000 ? signed(input) : input));
      } catch (error) {
        if (error instanceof InvalidDer) return error.message;
        throw error;
      }
    },
    cost: 5,
  },
  {
    name: "client-certificate",
    form: der,
    corpus: [textOf(client.raw)],
    run: (input) => {
      const verified = verifyClient(
        { chain: [bytesOf(input), bytesOf(input)] },
        [new X509Certificate(authority.cert)],
        Date.parse(client.validFrom),
      );
      return verified.kind === "verified" ? userOf(verified.certificate) : verified.reason;
    },
    cost: 10,
  },
];
