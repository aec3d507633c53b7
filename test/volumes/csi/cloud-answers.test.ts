import { expect, test } from "bun:test";
import { oneNamed } from "../../../src/volumes/csi/cloud-answers.ts";

test("an object that a shifted listing repeats counts once, in its last state", () => {
  const [first, last] = [
    { id: "1", name: "data", state: "changing" },
    { id: "1", name: "data", state: "ready" },
  ];
  expect(oneNamed("volumes", "data", [first, { ...first, id: "2", name: "logs" }, last])).toBe(last);
  expect(() => oneNamed("volumes", "data", [first, { ...last, id: "2" }])).toThrow("2 volumes have the name");
});
