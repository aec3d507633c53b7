import { expect, test } from "bun:test";
import { ineffectiveAnnotations } from "../../../../src/controllers/service/annotations/without-effect.ts";
import { flag, oneOf, text } from "../../../../src/core/fields.ts";
import { readSettings } from "../../../../src/core/read-settings.ts";

const fields = {
  type: oneOf("The type.", ["plain", "rich"], { defaultFrom: "default-type", whenChanged: "reject" }),
  mode: oneOf("The mode.", ["a", "b", "c"], { fallback: "a" }),
  check: text("Activates others."),
  redirect: flag("Redirects.", { fallback: false, onlyWith: { type: ["rich"] } }),
  cookie: text("The cookie.", { onlyWith: { mode: ["b", "c"] } }),
  path: text("The path.", { onlyWith: { check: [] } }),
  name: text("The name.", { overriddenBy: "check" }),
  old: text("The API ignores it.", { ineffective: true }),
};
const prefix = "lb.example/";

function textsOf(annotations: Readonly<Record<string, string>>): readonly string[] {
  const { values } = readSettings(fields, annotations, { what: "annotation" });
  return ineffectiveAnnotations({ prefix, fields }, new Set(Object.keys(annotations)), values).map(
    ({ severity, reason, key, text: found }) => {
      expect([severity, reason]).toEqual(["warning", "AnnotationIgnored"]);
      expect(found).toStartWith(`${key} has no effect`);
      return found;
    },
  );
}

test.each<readonly [Readonly<Record<string, string>>, string]>([
  [
    { redirect: "true", type: "plain" },
    "lb.example/redirect has no effect, because lb.example/type is plain. Set that to rich and recreate the Service, or remove the annotation.",
  ],
  [
    { cookie: "c" },
    "lb.example/cookie has no effect, because lb.example/mode is a by default. Set that to b or c, or remove the annotation.",
  ],
  [
    { path: "/x" },
    "lb.example/path has no effect, because lb.example/check is not set. Set that, or remove the annotation.",
  ],
  [
    { name: "n", check: "x".repeat(5000) },
    `lb.example/name has no effect, because lb.example/check is ${"x".repeat(80)} and takes precedence. Remove one of them.`,
  ],
  [{ old: "o" }, "lb.example/old has no effect. The API ignores it. Remove it."],
])(
  "reports an annotation that needs another annotation, as its field declares: %p [F48]",
  (annotations, expected) => {
    expect(textsOf(annotations)).toEqual([expected]);
  },
);

test.each([
  [{ redirect: "true", type: "rich" }],
  // The operator's default is unknown here.
  [{ redirect: "true" }],
  // This value requests nothing.
  [{ redirect: "false", type: "plain" }],
  [{ cookie: "c", mode: "c" }],
  [{ path: "/x", check: "y" }],
])("reports no annotation that takes effect or requests nothing: %p", (annotations) => {
  expect(textsOf(annotations as Readonly<Record<string, string>>)).toEqual([]);
});
