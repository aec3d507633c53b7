// The issue forms as GitHub parses them: a form that it cannot parse is not shown.

import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { localClouds } from "../../scripts/clouds/registry.ts";

interface Item {
  readonly type: string;
  readonly id?: string;
  readonly attributes: {
    readonly label?: string;
    readonly value?: string;
    readonly options?: readonly unknown[];
  };
}
interface Form {
  readonly name: string;
  readonly description: string;
  readonly body: readonly Item[];
}

const folder = join(import.meta.dir, "../../.github/ISSUE_TEMPLATE");
const forms = readdirSync(folder).filter((name) => name !== "config.yml");
const formIn = (name: string) => parse(readFileSync(join(folder, name), "utf8")) as Form;

test.each(forms)("%s has a name, a description, and a label and a unique id for each question", (name) => {
  const form = formIn(name);
  expect([form.name, form.description].every((text) => text.length > 2)).toBe(true);
  const questions = form.body.filter(({ type }) => type !== "markdown");
  const known = ["checkboxes", "dropdown", "input", "textarea"];
  expect(questions.filter(({ type, attributes }) => !known.includes(type) || !attributes.label)).toEqual([]);
  const ids = questions.map(({ id }) => id);
  expect(ids.filter((id) => id === undefined || !/^[\w-]+$/.test(id))).toEqual([]);
  expect(new Set(ids).size).toBe(ids.length);
  for (const { type, attributes } of form.body) {
    if (type === "markdown") expect(attributes.value).toBeString();
    if (type === "dropdown") expect(attributes.options?.filter((one) => typeof one !== "string")).toEqual([]);
  }
});

test("the bug form offers every cloud, and requests the support bundle", () => {
  const { body } = formIn("bug.yml");
  const options =
    body
      .find(({ id }) => id === "cloud")
      ?.attributes.options?.join(" ")
      .toLowerCase() ?? "";
  expect(localClouds.map(({ name }) => name).filter((name) => !options.includes(name))).toEqual([]);
  expect(body.map(({ id }) => id)).toContain("bundle");
});
