import { expect, test } from "bun:test";
import fc from "fast-check";
import { LineDecoder } from "../../../src/kube/watch/line-decoder.ts";

test("LineDecoder returns the same lines for any chunk sizes", () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: "grapheme", minLength: 1 }).map((text) => JSON.stringify(text))),
      fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1 }),
      (texts, sizes) => {
        const bytes = new TextEncoder().encode(texts.map((text) => `${text}\n`).join(""));
        const decoder = new LineDecoder();
        const lines: string[] = [];
        for (let at = 0, chunk = 0; at < bytes.length; chunk++) {
          const size = sizes[chunk % sizes.length] ?? 1;
          lines.push(...decoder.push(bytes.subarray(at, at + size)));
          at += size;
        }
        expect(lines).toEqual(texts);
        expect(decoder.isCut).toBe(false);
      },
    ),
  );
});

test("LineDecoder skips empty lines and reports an incomplete last line", () => {
  const decoder = new LineDecoder();
  expect([...decoder.push(new TextEncoder().encode("\n{}\n\n{"))]).toEqual(["{}"]);
  expect(decoder.isCut).toBe(true);
});

test("LineDecoder rejects a line that never ends before memory fills", () => {
  const decoder = new LineDecoder();
  const chunk = new Uint8Array(8 * 1024 * 1024).fill(97);
  const pushAll = () => {
    for (let n = 0; n < 5; n++) for (const _ of decoder.push(chunk));
  };
  expect(pushAll).toThrow(/Expected one JSON object per line/);
});
