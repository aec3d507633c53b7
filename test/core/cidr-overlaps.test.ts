import { expect, test } from "bun:test";
import fc from "fast-check";
import { cidr, cidrContains } from "../../src/core/cidr.ts";
import { overlaps } from "../../src/core/cidr-overlaps.ts";

test("overlaps finds exactly the overlapping ranges", () => {
  const range = fc
    .tuple(fc.integer({ min: 0, max: 15 }), fc.integer({ min: 20, max: 32 }), fc.boolean())
    .map(([part, bits, isIPv4]) =>
      cidr(isIPv4 ? `10.0.${part}.${part}/${bits}` : `fd00::${part}:0/${bits + 80}`),
    );
  fc.assert(
    fc.property(fc.array(range), fc.array(range), (ranges, others) => {
      const found = overlaps(ranges, others);
      for (const each of ranges) {
        const expected = others.filter((other) => cidrContains(each, other) || cidrContains(other, each));
        expect(new Set(found.get(each) ?? [])).toEqual(new Set(expected));
      }
    }),
  );
});
