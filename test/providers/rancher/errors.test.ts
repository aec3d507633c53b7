// Errors of the Cattle API as messages for users.

import { expect, test } from "bun:test";
import { asTransport } from "#ccm/testing";
import { readError } from "../../../providers/rancher/resources.ts";
import { RancherCloud } from "../../../providers/rancher/simulator/index.ts";
import { VirtualClock } from "../../../src/testing/virtual-time/virtual-clock.ts";

interface Case {
  readonly fields: Readonly<Record<string, string>>;
  readonly text: string;
}

test.each<Case>([
  { fields: { code: "NotUnique", fieldName: "name" }, text: "the name is taken (field name) [NotUnique]" },
  { fields: { code: "MissingRequired" }, text: "a value is missing [MissingRequired]" },
  {
    fields: { code: "PortWrongFormat", message: "wrong", detail: "more" },
    text: "wrong: more [PortWrongFormat]",
  },
  { fields: { code: "Unheard" }, text: "no message [Unheard]" },
  { fields: {}, text: "no message [no code]" },
])("explains $fields as $text", ({ fields, text }) => {
  const body = { type: "error", message: null, detail: null, ...fields };
  expect(readError(body)?.message).toBe(text);
});

test("explains rejections of the simulated server that have no message", async () => {
  const cloud = new RancherCloud({ clock: new VirtualClock() });
  cloud.environment.addStack("taken");
  const headers = { authorization: `Basic ${btoa("a:b")}` };
  const url = "http://rancher.example/v2-beta/stacks";
  const body = JSON.stringify({ name: "taken" });
  const signal = new AbortController().signal;
  const response = await asTransport(cloud)({ method: "POST", url, headers, body }, signal);
  const { message, code } = readError(await response.json()) ?? {};
  expect([response.status, message, code]).toEqual([
    422,
    "the name is taken (field name) [NotUnique]",
    "NotUnique",
  ]);
});
