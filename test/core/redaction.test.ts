// Secrets are removed from texts, whole and in parts, in every common encoding, and ordinary words stay.

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { credentialTexts, Redaction, secretsIn } from "../../src/core/redaction.ts";
import { Secret } from "../../src/core/secret.ts";
import { runsAllTests } from "../../src/testing/breadth.ts";

const token = "aB3dE5fG7hI9+K1lM3nO5pQ7/S9tU1vW3xY5zA7bC9";
const { apply } = new Redaction([token]);

describe("redaction", () => {
  test.each([
    ["the whole secret", token],
    ["all but its last character", token.slice(0, -1)],
    ["its first 8 characters", token.slice(0, 8)],
    ["its last 8 characters", token.slice(-8)],
    ["8 characters in its middle", token.slice(13, 21)],
    ["the URL-encoded secret", encodeURIComponent(token)],
    [
      "the URL-encoded secret in lower case",
      encodeURIComponent(token).replace(/%../g, (code) => code.toLowerCase()),
    ],
    ["the hexadecimal form", Buffer.from(token).toString("hex")],
    ["the hexadecimal form in upper case", Buffer.from(token).toString("hex").toUpperCase()],
    ["the base64 form", btoa(token).replace(/=+$/, "")],
    ["the base64 form for URLs", btoa(token).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")],
  ])("removes %s", (_, text) => {
    expect(apply(`before ${text} after`)).toBe("before [secret] after");
    expect(apply(text)).toBe("[secret]");
  });

  test.each(["", "u:", "user:", "a-long-user-name:"])(
    "removes the secret from base64 text that begins with %j",
    (user) => {
      const clean = apply(`Basic ${btoa(`${user}${token}:rest`)}`);
      const encoded = btoa(`${user}${token}`);
      for (let at = Math.ceil((user.length * 4) / 3) + 1; at + 8 <= encoded.length - 4; at++)
        expect(clean).not.toContain(encoded.slice(at, at + 8));
    },
  );

  test("removes an escaped secret from JSON inside JSON", () => {
    const secret = 'quote"and\\slash-12345';
    const text = JSON.stringify({ inner: secret });
    expect(new Redaction([secret]).apply(text)).toBe('{"inner":"[secret]"}');
  });

  test("removes every line of a secret with several lines", () => {
    const clean = new Redaction(["-----BEGIN KEY-----\nMIIabc123def\nXYZ987uvw654\n"]).apply;
    expect(clean("got XYZ987uvw654 and MIIabc123def")).toBe("got [secret] and [secret]");
  });

  test("keeps secrets that are shorter than 6 characters, and short or ordinary parts of a secret", () => {
    expect(new Redaction(["fake", "true"]).apply("a fake cloud is true")).toBe("a fake cloud is true");
    expect(apply(`before ${token.slice(0, 7)} after`)).toBe(`before ${token.slice(0, 7)} after`);
    const words = new Redaction(["kubernetes-production-2024"]).apply;
    expect(words("cluster kubernetes in kubernetes-production")).toBe(
      "cluster kubernetes in kubernetes-production",
    );
    expect(words("kubernetes-production-2024 or production-202")).toBe("[secret] or [secret]");
  });

  test("removes no word of fewer than 12 letters, because it occurs in ordinary texts", () => {
    const words = new Redaction([
      "production",
      "Kubernetes",
      "CLUSTER",
      "correcthorsebattery",
      "prod2024",
      "pro-duction",
    ]);
    expect(words.apply("Kubernetes production CLUSTER")).toBe("Kubernetes production CLUSTER");
    expect(words.apply("correcthorsebattery prod2024 pro-duction")).toBe("[secret] [secret] [secret]");
  });

  test("leaves no part of 8 characters of any secret in a text that was truncated anywhere", () => {
    const secret = fc
      .stringMatching(/^[A-Za-z0-9+/=_.-]{16,80}$/)
      .filter((text) => /[a-z]\d|\d[a-z]/.test(text));
    fc.assert(
      fc.property(
        fc.array(secret, { minLength: 1, maxLength: 5 }),
        fc.nat(),
        fc.nat(),
        (secrets, from, to) => {
          const text = `got ${secrets.join(", ")} and more`;
          const cut = text.slice(from % text.length, Math.max(from % text.length, to % text.length));
          const clean = new Redaction(secrets).apply(cut).replaceAll("[secret]", "\0");
          for (const one of secrets) {
            for (let at = 0; at + 8 <= one.length; at++) {
              const part = one.slice(at, at + 8);
              if (/\d[A-Za-z]|[a-z][A-Z]|[a-z]\d/.test(part)) expect(clean).not.toContain(part);
            }
          }
        },
      ),
    );
  });

  test("forgets the oldest secret above its limit, and keeps a secret longer if it is added again", () => {
    const redaction = new Redaction(["first-secret-1", "second-secret-2"], { limit: 2 });
    redaction.add("first-secret-1");
    redaction.add("third-secret-3");
    expect(redaction.apply("first-secret-1 second-secret-2x third-secret-3")).toBe(
      "[secret] second-secret-2x [secret]",
    );
  });

  test.if(runsAllTests)("finds one of 2,000 secrets, and does not change a long text without secrets", () => {
    const secrets = Array.from({ length: 2000 }, (_, index) => `${index}-secret-${index}-of-many`);
    const redaction = new Redaction(secrets, { limit: 5000 });
    const text = "an ordinary line of a log, with nothing to hide\n".repeat(20_000);
    expect(redaction.apply(text)).toBe(text);
    expect(redaction.apply("1999-secret-1999-of-many")).toBe("[secret]");
  });

  test("cleans an error, its stack and its causes, even if a cause leads back to the error", () => {
    const cause = new Error(`cause ${token}`);
    const error = new Error(`error ${token.slice(0, 20)}`, { cause });
    cause.cause = error;
    expect(new Redaction([token]).clean(error)).toBe(error);
    expect([error.message, cause.message]).toEqual(["error [secret]", "cause [secret]"]);
    expect(`${error.stack}${cause.stack}`).not.toContain(token.slice(0, 8));
  });
});

test("a credential consists of its secrets, and of texts whose names indicate credentials", () => {
  const credential = {
    user: "admin-of-all",
    password: "pa55-word",
    key: new Secret("k3y-value"),
    region: "north",
  };
  expect(credentialTexts(credential)).toEqual(["k3y-value", "pa55-word"]);
  expect(credentialTexts("t0ken")).toEqual(["t0ken"]);
  expect(secretsIn({ a: [new Map([["b", new Secret("deep")]])], c: "plain" })).toEqual(["deep"]);
});
