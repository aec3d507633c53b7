import { expect, test } from "bun:test";
import { GarbageMeter, reconcilesPerLook } from "../../src/platform/memory.ts";

const mebibyte = 1_048_576;

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
  const look = () => {
    for (let index = 0; index < reconcilesPerLook; index += 1) meter.collectIfGrown();
  };
  return { memory, meter, look };
};

test("the garbage meter collects when the process has grown by a mebibyte", () => {
  const { memory, look } = setUp();
  memory.resident += mebibyte;
  look();
  expect(memory.collections).toBe(1);
});

test("the garbage meter collects once for each mebibyte of growth", () => {
  const { memory, look } = setUp();
  for (let grown = 0; grown < 4; grown += 1) {
    memory.resident += mebibyte;
    for (let index = 0; index < 10; index += 1) look();
  }
  expect(memory.collections).toBe(4);
});

test("the garbage meter does not collect while the process does not grow", () => {
  const { memory, meter } = setUp();
  for (let index = 0; index < 500; index += 1) meter.collectIfGrown();
  expect(memory.collections).toBe(0);
});

test("the garbage meter measures growth from the lowest size since the last collection", () => {
  const { memory, look } = setUp();
  memory.resident -= 2 * mebibyte;
  look();
  memory.resident += 2 * mebibyte;
  look();
  expect(memory.collections).toBe(1);
});

test("the garbage meter does not look at the growth of the process when bytes are counted", () => {
  const { memory, meter } = setUp();
  memory.resident += 10 * mebibyte;
  meter.add(2048);
  expect(memory.collections).toBe(0);
});

test("the garbage meter collects less often in a large process", () => {
  const { memory, meter } = setUp();
  memory.resident = 1000 * mebibyte;
  meter.add(mebibyte);
  memory.collections = 0;
  for (let count = 0; count < 9; count += 1) meter.add(mebibyte);
  expect(memory.collections).toBe(0);
  meter.add(mebibyte);
  expect(memory.collections).toBe(1);
});
