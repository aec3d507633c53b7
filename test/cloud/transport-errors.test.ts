import { expect, test } from "bun:test";
import { describeTruncated, describeUnreachable } from "../../src/cloud/governed-transport.ts";

const coded = (code: string) => Object.assign(new Error("message of the runtime"), { code });

test.each([
  ["https://cloud.example/v1?key=x", "cloud.example:443"],
  ["http://someone:word@cloud.example/", "cloud.example:80"],
  ["https://[2001:db8::1]:8443/x", "[2001:db8::1]:8443"],
])("shows %s as host and port only", (url, at) => {
  const text = describeUnreachable(coded("ConnectionRefused"), url);
  expect(text).toStartWith(`The cloud API at ${at} cannot be reached (ConnectionRefused). `);
});

test("certificate errors, network errors and truncated responses have different messages", () => {
  const url = "https://cloud.example/";
  expect(describeUnreachable(coded("DEPTH_ZERO_SELF_SIGNED_CERT"), url)).toStartWith(
    "TLS connection to the cloud API at cloud.example:443 failed (DEPTH_ZERO_SELF_SIGNED_CERT).",
  );
  expect(describeUnreachable(coded("EPROTO"), url)).toStartWith(
    "The TLS handshake with the cloud API at cloud.example:443 failed (EPROTO). The port probably does not speak TLS",
  );
  const other = Object.assign(new Error("The certificate of cloud.example has the fingerprint AB:CD."), {
    code: "CERT_FINGERPRINT_DIFFERS",
  });
  expect(describeUnreachable(other, url)).toContain(
    "has the fingerprint AB:CD. The settings contain a different one. If the certificate was renewed, correct the setting",
  );
  expect(describeTruncated(coded("ECONNRESET"), url)).toBe(
    "The response from the cloud API at cloud.example:443 ended early (ECONNRESET).",
  );
  expect(describeUnreachable(new Error("no code"), url)).toContain("(no code)");
});
