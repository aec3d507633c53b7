import { expect, test } from "bun:test";
import { GarbageMeter, garbageThreshold, reconcilesPerLook } from "../../src/platform/memory.ts";

const setUp = () => {
  const memory = { resident: 60 * garbageThreshold, collections: 0 };
  const meter = new GarbageMeter({
    collect: () => {
      memory.collections += 1;
    },
    resident: () => memory.resident,
  });
  meter.add(garbageThreshold);
  memory.collections = 0;
  const look = () => {
    for (let index = 0; index < reconcilesPerLook; index += 1) meter.collectIfGrown();
  };
  return { memory, meter, look };
};

test("the garbage meter collects when the process has grown by the threshold", () => {
  const { memory, look } = setUp();
  memory.resident += garbageThreshold;
  look();
  expect(memory.collections).toBe(1);
});

test("the garbage meter collects once for each growth by the threshold", () => {
  const { memory, look } = setUp();
  for (let grown = 0; grown < 4; grown += 1) {
    memory.resident += garbageThreshold;
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
  memory.resident -= 2 * garbageThreshold;
  look();
  memory.resident += 2 * garbageThreshold;
  look();
  expect(memory.collections).toBe(1);
});

test("the garbage meter ignores the growth of the process when bytes are counted", () => {
  const { memory, meter } = setUp();
  memory.resident += 10 * garbageThreshold;
  meter.add(2048);
  expect(memory.collections).toBe(0);
});

test("the garbage meter collects less often in a large process", () => {
  const { memory, meter } = setUp();
  memory.resident = 1000 * garbageThreshold;
  meter.add(garbageThreshold);
  memory.collections = 0;
  for (let count = 0; count < 9; count += 1) meter.add(garbageThreshold);
  expect(memory.collections).toBe(0);
  meter.add(garbageThreshold);
  expect(memory.collections).toBe(1);
});
