import { expect, test } from "bun:test";
import { declareReasons, type ProviderProblem } from "../../src/provider/reasons.ts";

const reasons = declareReasons({ CertificateExpired: "The certificate has expired. Renew it." });

test.each(["certificateExpired", "Certificate expired", "PortConflict", ""])(
  "declareReasons rejects the reason %p",
  (name) => {
    expect(() => declareReasons({ [name]: "Why." })).toThrow(name);
  },
);

test("the compiler rejects a reason that is neither common nor declared", () => {
  // @ts-expect-error: the literal is not declared.
  const wrong: ProviderProblem = { severity: "error", reason: "CertificateExpird", text: "why" };
  // @ts-expect-error: the table has no such name.
  const missing: unknown = reasons.CertificateExpird;
  expect([wrong.reason as string, missing]).toEqual(["CertificateExpird", undefined]);
});
