// Patches by tables and properties, without a server. How servers answer them is tested in cases/.

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { isSame, type Json, type JsonObject } from "../../../src/testing/apiserver/objects/json.ts";
import { applyJsonPatch, applyMergePatch } from "../../../src/testing/apiserver/patch/json-patch.ts";
import { applyStrategicMergePatch } from "../../../src/testing/apiserver/patch/strategic-merge-patch.ts";

describe("a JSON patch", () => {
  const start: JsonObject = { a: { "b/c": 1, "d~e": 2 }, list: [1, 2, 3] };
  const rows: readonly [string, Json, JsonObject | undefined][] = [
    ["adds into a list", [{ op: "add", path: "/list/1", value: 9 }], { ...start, list: [1, 9, 2, 3] }],
    ["appends to a list", [{ op: "add", path: "/list/-", value: 9 }], { ...start, list: [1, 2, 3, 9] }],
    ["removes from a list", [{ op: "remove", path: "/list/0" }], { ...start, list: [2, 3] }],
    [
      "reads escaped keys",
      [{ op: "replace", path: "/a/b~1c", value: 5 }],
      { ...start, a: { "b/c": 5, "d~e": 2 } },
    ],
    ["moves", [{ op: "move", from: "/a/d~0e", path: "/x" }], { ...start, a: { "b/c": 1 }, x: 2 }],
    ["copies", [{ op: "copy", from: "/list/2", path: "/x" }], { ...start, x: 3 }],
    ["rejects a failed test", [{ op: "test", path: "/list/0", value: 2 }], undefined],
    ["rejects the removal of a missing key", [{ op: "remove", path: "/zzz" }], undefined],
    ["rejects an index beyond the end", [{ op: "replace", path: "/list/3", value: 0 }], undefined],
    ["rejects a path through a scalar", [{ op: "add", path: "/list/0/x", value: 0 }], undefined],
    ["rejects an unknown operation", [{ op: "frob", path: "/list" }], undefined],
  ];
  test.each(rows)("%s", (_, patch, wanted) => {
    if (wanted === undefined) expect(() => applyJsonPatch(start, patch)).toThrow("rejected our request");
    else expect(applyJsonPatch(start, patch)).toEqual(wanted);
  });

  test("a JSON patch does not change its input, and shares unchanged parts", () => {
    const document = Object.freeze({ a: Object.freeze({ b: 1 }), c: Object.freeze([1]) });
    const patched = applyJsonPatch(document, [{ op: "add", path: "/a/x", value: 2 }]);
    expect(patched["c"]).toBe(document.c);
    expect(document.a).toEqual({ b: 1 });
  });
});

const json = fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<Json>;
const object = fc.dictionary(fc.string({ minLength: 1, maxLength: 3 }), json) as fc.Arbitrary<JsonObject>;

describe("a merge patch", () => {
  test("a merge patch gives the same result when applied twice", () => {
    fc.assert(
      fc.property(object, object, (target, patch) => {
        const once = applyMergePatch(target, patch);
        expect(isSame(applyMergePatch(once, patch), once)).toBe(true);
      }),
      { numRuns: 200 },
    );
  });

  test("a merge patch returns the same object when nothing changes", () => {
    const target = { a: { b: [1] } };
    expect(applyMergePatch(target, { a: { b: [1], c: null } })).toBe(target);
  });
});

describe("a strategic merge patch", () => {
  const service: JsonObject = {
    metadata: { finalizers: ["a/a", "b/b"] },
    spec: {
      ports: [
        { port: 80, name: "a" },
        { port: 81, name: "b" },
      ],
      selector: { app: "x" },
    },
  };
  const rows: readonly [string, JsonObject, JsonObject][] = [
    [
      "adds to and deletes from a list of scalars",
      { metadata: { finalizers: ["c/c"], "$deleteFromPrimitiveList/finalizers": ["a/a"] } },
      { ...service, metadata: { finalizers: ["b/b", "c/c"] } },
    ],
    [
      "sorts items by $setElementOrder",
      { spec: { "$setElementOrder/ports": [{ port: 81 }, { port: 80 }] } },
      {
        ...service,
        spec: {
          ...(service["spec"] as JsonObject),
          ports: [
            { port: 81, name: "b" },
            { port: 80, name: "a" },
          ],
        },
      },
    ],
    [
      "deletes an item by its key",
      { spec: { ports: [{ port: 80, $patch: "delete" }] } },
      { ...service, spec: { ports: [{ port: 81, name: "b" }], selector: { app: "x" } } },
    ],
    [
      "replaces a map",
      { spec: { selector: { $patch: "replace", other: "y" } } },
      { ...service, spec: { ...(service["spec"] as JsonObject), selector: { other: "y" } } },
    ],
    [
      "keeps only the keys in $retainKeys",
      { spec: { $retainKeys: ["selector"], selector: { more: "z" } } },
      { ...service, spec: { selector: { app: "x", more: "z" } } },
    ],
  ];
  test.each(rows)("%s", (_, patch, wanted) => {
    expect(applyStrategicMergePatch(service, patch, "Service")).toEqual(wanted);
  });
});
