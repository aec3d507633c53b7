import { expect, test } from "bun:test";
import { brokenOff, unreachable } from "../../src/cloud/unanswered.ts";

const coded = (code: string) => Object.assign(new Error("what the runtime says"), { code });

test.each([
  ["https://cloud.example/v1?key=x", "cloud.example:443"],
  ["http://someone:word@cloud.example/", "cloud.example:80"],
  ["https://[2001:db8::1]:8443/x", "[2001:db8::1]:8443"],
])("%s is named by host and port only", (url, at) => {
  const text = unreachable(coded("ConnectionRefused"), url);
  expect(text).toStartWith(`The cloud at ${at} cannot be reached (ConnectionRefused). `);
});

test("a certificate is told apart from a network, and a broken answer from both", () => {
  const url = "https://cloud.example/";
  expect(unreachable(coded("DEPTH_ZERO_SELF_SIGNED_CERT"), url)).toStartWith(
    "No TLS connection to the cloud at cloud.example:443 could be made (DEPTH_ZERO_SELF_SIGNED_CERT).",
  );
  expect(brokenOff(coded("ECONNRESET"), url)).toBe(
    "The answer of the cloud at cloud.example:443 broke off (ECONNRESET). It is asked again.",
  );
  expect(unreachable(new Error("no code"), url)).toContain("(no code)");
});
