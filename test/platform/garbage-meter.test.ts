import { expect, test } from "bun:test";
import { GarbageMeter } from "../../src/platform/memory.ts";

const mebibyte = 1_048_576;
/** What a reading of the resident memory needs to be counted before it. */
const step = 16_384;

const setUp = () => {
  const memory = { resident: 90 * mebibyte, collections: 0 };
  const meter = new GarbageMeter({
    collect: () => {
      memory.collections += 1;
    },
    resident: () => memory.resident,
  });
  meter.add(mebibyte);
  memory.collections = 0;
  return { memory, meter };
};

test("the garbage meter collects when the process has grown by a mebibyte, however little was counted", () => {
  const { memory, meter } = setUp();
  memory.resident += mebibyte;
  meter.add(step);
  expect(memory.collections).toBe(1);
});

test("the garbage meter collects once for each mebibyte of growth", () => {
  const { memory, meter } = setUp();
  for (let grown = 0; grown < 4; grown += 1) {
    memory.resident += mebibyte;
    for (let index = 0; index < 10; index += 1) meter.add(step);
  }
  expect(memory.collections).toBe(4);
});

test("the garbage meter does not collect when a process of any size does not grow", () => {
  const { memory, meter } = setUp();
  for (let index = 0; index < 63; index += 1) meter.add(step);
  expect(memory.collections).toBe(0);
});

test("the garbage meter measures growth from the lowest size since the last collection", () => {
  const { memory, meter } = setUp();
  memory.resident -= 2 * mebibyte;
  meter.add(step);
  memory.resident += 2 * mebibyte;
  meter.add(step);
  expect(memory.collections).toBe(1);
});

test("the garbage meter reads the resident memory once per 16 KiB counted", () => {
  let readings = 0;
  const meter = new GarbageMeter({
    collect: () => undefined,
    resident: () => {
      readings += 1;
      return 0;
    },
  });
  for (let index = 0; index < 80; index += 1) meter.add(2048);
  expect(readings).toBe(10);
});
